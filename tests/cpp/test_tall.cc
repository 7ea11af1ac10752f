// Dense products with tall matrices against three plain loops.

#include "kernels/tall.h"

#include <cstdint>
#include <vector>

#include "check.h"
#include "core/blas.h"
#include "core/philox.h"
#include "plain_blas.h"

using namespace semproj;
using plain::Dense;

namespace {

template <class T>
void check_cross(int64_t n, int64_t p, int64_t q, double tolerance) {
  const Dense<T> a(n, p, 3, 1), b(n, q, 0, 2);
  for (const int n_threads : {1, 2, 5}) {
    std::vector<double> out(p * q, -7), gram(p * p, -7);
    tall_cross<T>(a.view(), b.view(), out.data(), n_threads);
    tall_cross<T>(a.view(), a.view(), gram.data(), n_threads);
    const auto dot = [n](const Dense<T>& x, int64_t i, const Dense<T>& y, int64_t j) {
      double sum = 0;
      for (int64_t r = 0; r < n; ++r) sum += static_cast<double>(x.at(r, i)) * y.at(r, j);
      return sum;
    };
    for (int64_t i = 0; i < p; i += (p > 50 ? 37 : 1)) {
      for (int64_t j = 0; j < q; j += (q > 50 ? 41 : 1))
        CHECK_NEAR(out[i * q + j], dot(a, i, b, j), tolerance);
      for (int64_t j = 0; j < p; j += (p > 50 ? 41 : 1))
        CHECK_NEAR(gram[i * p + j], dot(a, i, a, j), tolerance);
    }
    for (int64_t i = 0; i < p; ++i) {
      for (int64_t j = 0; j < i; ++j) CHECK_EQUAL(gram[i * p + j], gram[j * p + i]);
    }
  }
}

}  // namespace

TEST(needs_blas) {
  CHECK(!has_blas());
  plain::set_blas();
  CHECK(has_blas());
}

TEST(gemm_is_row_major) {
  const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1};  // 2 x 3 and 3 x 2
  double c[] = {100, 100, 100, 100};
  gemm(false, false, 2, 2, 3, 2.0, a, 3, b, 2, 1.0, c, 2);
  const double expected[] = {108, 110, 120, 122};
  for (int i = 0; i < 4; ++i) CHECK_EQUAL(c[i], expected[i]);
  double g[9];
  gemm(true, false, 3, 3, 2, 1.0, a, 3, a, 3, 0.0, g, 3);
  CHECK_EQUAL(g[1], 1 * 2 + 4 * 5);
  CHECK_EQUAL(g[5], 2 * 3 + 5 * 6);
  double upper[9] = {1, 1, 1, -1, 1, 1, -1, -1, 1};
  gram_triangle(3, 2, 2.0, a, 3, 10.0, upper, 3);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) CHECK_EQUAL(upper[3 * i + j], i <= j ? 10 + 2 * g[3 * i + j] : -1.0);
  }
}

TEST(cross_of_every_shape) {
  for (const int64_t n : {0, 1, 1023, 1024, 1025, 5000}) {
    check_cross<double>(n, 3, 5, 1e-9);
    check_cross<float>(n, 3, 5, 2e-3);
  }
  check_cross<double>(600, 300, 270, 1e-9);
  check_cross<float>(40, 1100, 1300, 1e-3);  // more than one panel of columns
  check_cross<double>(40, 513, 1281, 1e-9);
  check_cross<float>(600, 300, 1, 1e-3);
  check_cross<double>(100, 1, 1, 1e-9);
}

TEST(cross_has_the_same_bits_for_any_number_of_threads) {
  const Dense<float> a(5000, 20, 0, 1), b(5000, 30, 2, 2);
  std::vector<double> first(600), other(600);
  tall_cross<float>(a.view(), b.view(), first.data(), 1);
  for (const int n_threads : {2, 5}) {
    tall_cross<float>(a.view(), b.view(), other.data(), n_threads);
    CHECK(first == other);
  }
}

TEST(cross_sums_in_double) {
  // Beside 2^26 a float32 sum would lose every quarter; only those of the first block of rows may be lost.
  const int64_t n = 1 << 15;
  Dense<float> a(n, 1, 0, 1);
  for (int64_t i = 0; i < n; ++i) a.data[i] = i == 0 ? 8192.0f : 0.5f;
  double out = 0;
  tall_cross<float>(a.view(), a.view(), &out, 2);
  CHECK_NEAR(out, 8192.0 * 8192.0 + 0.25 * (n - 1), 0.25 * 1024);
  a.data[0] = 0.5f;
  tall_cross<float>(a.view(), a.view(), &out, 2);
  CHECK_EQUAL(out, 0.25 * n);
}

TEST(multiply_with_alpha_and_beta) {
  const Dense<double> a(1300, 7, 2, 1), c(7, 4, 1, 2);
  for (const int n_threads : {1, 3}) {
    Dense<double> out(1300, 4, 3, 3);
    const Dense<double> before = out;
    tall_multiply<double>(a.view(), c.view(), -2.0, 0.5, out.mutable_view(), n_threads);
    for (const int64_t r : {0, 1, 511, 512, 1023, 1024, 1299}) {
      for (int64_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 7; ++k) sum += a.at(r, k) * c.at(k, j);
        CHECK_NEAR(out.at(r, j), 0.5 * before.at(r, j) - 2 * sum, 1e-12);
      }
      for (int64_t j = 4; j < 7; ++j) CHECK_EQUAL(out.data[r * 7 + j], before.data[r * 7 + j]);
    }
  }
}

TEST(normals_are_a_function_of_place) {
  Dense<double> whole(1000, 7, 0, 0), wide(1000, 9, 4, 0);
  fill_normal<double>(whole.mutable_view(), 5, 2, 1);
  fill_normal<double>(wide.mutable_view(), 5, 2, 3);
  for (int64_t r = 0; r < 1000; ++r) {
    for (int64_t c = 0; c < 7; ++c) CHECK_EQUAL(whole.at(r, c), wide.at(r, c));
  }
  CHECK_EQUAL(whole.at(3, 4), philox_normals(5, {2, 3, 0, 2})[0]);
  CHECK_EQUAL(whole.at(3, 5), philox_normals(5, {2, 3, 0, 2})[1]);
  Dense<double> other(1000, 7, 0, 0);
  fill_normal<double>(other.mutable_view(), 5, 3, 1);
  CHECK(other.data != whole.data);
}
