// The blocked Cholesky factor and its solves against their definitions, at and around the borders of blocks.

#include "kernels/cholesky.h"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "core/blas.h"
#include "plain_blas.h"

using namespace semproj;
using plain::Dense;

namespace {

constexpr int64_t kSizes[] = {0, 1, 2, 255, 256, 257, 512, 513, 700};

// Dominated by its diagonal, so positive definite and well conditioned. The upper triangle and the space
// between rows hold other numbers.
template <class T>
Dense<T> positive_definite(int64_t n, uint64_t seed) {
  Dense<T> a(n, n, 3, seed);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) a.at(i, j) *= T{0.25};
    a.at(i, i) = static_cast<T>(n) / 2 + 1 + static_cast<T>(i % 7);
  }
  return a;
}

template <class T>
void check_factor(int64_t n, double tolerance) {
  const Dense<T> a = positive_definite<T>(n, 1);
  Dense<T> first = a;
  CHECK_EQUAL(cholesky<T>(first.mutable_view(), 1), n);
  for (const int n_threads : {2, 5}) {
    Dense<T> other = a;
    CHECK_EQUAL(cholesky<T>(other.mutable_view(), n_threads), n);
    CHECK(other.data == first.data);
  }
  const int64_t step = n > 60 ? 17 : 1;
  for (int64_t i = 0; i < n; i += step) {
    for (int64_t j = 0; j <= i; j += (j + step > i && j < i ? i - j : step)) {
      double sum = 0;
      for (int64_t p = 0; p <= j; ++p) sum += static_cast<double>(first.at(i, p)) * first.at(j, p);
      CHECK_NEAR(sum, a.at(i, j), tolerance * static_cast<double>(n));
    }
    CHECK(first.at(i, i) > 0);
  }
  // Of the upper triangle, only what lies in the blocks of 256 on the diagonal may change, and never matters.
  Dense<T> spoiled = a;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = (i / 256 + 1) * 256; j < a.stride; ++j) CHECK_EQUAL(first.at(i, j), a.at(i, j));
    for (int64_t j = n; j < a.stride; ++j) CHECK_EQUAL(first.at(i, j), a.at(i, j));
    for (int64_t j = i + 1; j < a.stride; ++j) spoiled.at(i, j) = static_cast<T>(std::nan(""));
  }
  CHECK_EQUAL(cholesky<T>(spoiled.mutable_view(), 2), n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) CHECK_EQUAL(spoiled.at(i, j), first.at(i, j));
  }
}

template <class T>
void check_solve(int64_t n, int64_t columns, bool transpose, double tolerance) {
  const Dense<T> l = positive_definite<T>(n, 2);  // its lower triangle
  const Dense<T> b(n, columns, 2, 3);
  Dense<T> first = b;
  solve_lower<T>(l.view(), transpose, first.mutable_view(), 1);
  for (const int n_threads : {2, 5}) {
    Dense<T> other = b;
    solve_lower<T>(l.view(), transpose, other.mutable_view(), n_threads);
    CHECK(other.data == first.data);
  }
  for (int64_t i = 0; i < n; i += (n > 60 ? 5 : 1)) {
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      const int64_t begin = transpose ? i : 0, end = transpose ? n : i + 1;
      for (int64_t p = begin; p < end; ++p) {
        sum += static_cast<double>(transpose ? l.at(p, i) : l.at(i, p)) * first.at(p, c);
      }
      CHECK_NEAR(sum, b.at(i, c), tolerance);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = columns; c < b.stride; ++c) CHECK_EQUAL(first.at(i, c), b.at(i, c));
  }
}

}  // namespace

TEST(needs_blas) {
  double one = 1;
  CHECK_THROWS(std::logic_error, "BLAS pointers were not set", factor_triangle(1, &one, 1));
  plain::set_blas();
  CHECK_EQUAL(factor_triangle(1, &one, 1), 1);
}

// [4 . .; 2 5 .; 6 7 14] = L L' with L = [2 . .; 1 2 .; 3 2 1].
TEST(triangles_are_lower_and_row_major) {
  double a[] = {4, -1, -2, 2, 5, -3, 6, 7, 14};
  CHECK_EQUAL(factor_triangle(3, a, 3), 3);
  const double factor[] = {2, -1, -2, 1, 2, -3, 3, 2, 1};
  for (int i = 0; i < 9; ++i) CHECK_EQUAL(a[i], factor[i]);
  double b[] = {2, 4, 5, 6, 11, 14};  // L (1 2; 2 2; 4 4)
  solve_triangle(false, 3, 2, a, 3, b, 2);
  const double forward[] = {1, 2, 2, 2, 4, 4};
  for (int i = 0; i < 6; ++i) CHECK_EQUAL(b[i], forward[i]);
  double c[] = {16, 18, 12, 12, 4, 4};  // L' (1 2; 2 2; 4 4)
  solve_triangle(true, 3, 2, a, 3, c, 2);
  for (int i = 0; i < 6; ++i) CHECK_EQUAL(c[i], forward[i]);
  double r[] = {2, 5, 11, 4, 6, 14};  // (1 2 4; 2 2 4) L'
  solve_triangle_right(3, 2, a, 3, r, 3);
  const double right[] = {1, 2, 4, 2, 2, 4};
  for (int i = 0; i < 6; ++i) CHECK_EQUAL(r[i], right[i]);
}

TEST(factor_triangle_counts_the_rows_that_are_done) {
  double a[] = {4, 0, 0, 2, 1, 0, 6, 7, 14};  // the second pivot is 1 - 1 = 0
  CHECK_EQUAL(factor_triangle(3, a, 3), 1);
  double b[] = {-1.0};
  CHECK_EQUAL(factor_triangle(1, b, 1), 0);
}

TEST(factor_of_every_size) {
  for (const int64_t n : kSizes) check_factor<double>(n, 1e-14);
  for (const int64_t n : {1, 256, 257, 513}) check_factor<float>(n, 1e-5);
}

TEST(not_positive_definite) {
  for (const int64_t n : {1, 255, 256, 257, 700}) {
    for (const int64_t row : {int64_t{0}, int64_t{1}, int64_t{254}, int64_t{255}, int64_t{256}, int64_t{257},
                              int64_t{511}, int64_t{512}, n - 1}) {
      if (row >= n) continue;
      for (const int n_threads : {1, 2, 5}) {
        Dense<double> a = positive_definite<double>(n, 1);
        a.at(row, row) = -1;
        if (row + 3 < n) a.at(row + 3, row + 3) = -1;  // the first one counts
        CHECK_EQUAL(cholesky<double>(a.mutable_view(), n_threads), row);
      }
    }
  }
  Dense<double> a = positive_definite<double>(300, 1);
  a.at(280, 280) = std::nan("");
  CHECK_EQUAL(cholesky<double>(a.mutable_view(), 2), 280);
}

TEST(singular) {
  Dense<double> ones(300, 300, 0, 1);
  for (double& x : ones.data) x = 1;
  CHECK_EQUAL(cholesky<double>(ones.mutable_view(), 2), 1);
}

TEST(solves_of_every_size) {
  for (const bool transpose : {false, true}) {
    for (const int64_t n : kSizes) check_solve<double>(n, 3, transpose, 1e-12);
    check_solve<double>(257, 0, transpose, 0);
    check_solve<double>(257, 1, transpose, 1e-12);
    check_solve<double>(1300, 2, transpose, 1e-12);  // more rows below a block than one task takes
    check_solve<float>(513, 5, transpose, 1e-4);
  }
}

TEST(mirror) {
  for (const int64_t n : {0, 1, 63, 64, 65, 200}) {
    const Dense<float> a(n, n, 2, 1);
    for (const int n_threads : {1, 2, 5}) {
      Dense<float> b = a;
      mirror_lower<float>(b.mutable_view(), n_threads);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) CHECK_EQUAL(b.at(i, j), i >= j ? a.at(i, j) : a.at(j, i));
        for (int64_t j = n; j < a.stride; ++j) CHECK_EQUAL(b.at(i, j), a.at(i, j));
      }
    }
  }
}
