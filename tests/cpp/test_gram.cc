// The dense Gram matrix of a sparse one against its definition.

#include "kernels/gram.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"
#include "plain_blas.h"

using namespace semproj;
using plain::Dense;

namespace {

template <class Index, class T>
struct Sparse {
  int64_t n_cols = 0;
  std::vector<int64_t> indptr{0};
  std::vector<Index> indices;
  std::vector<T> data;

  CsrView<Index, T> view() const {
    return {static_cast<int64_t>(indptr.size()) - 1, n_cols, indptr.data(), indices.data(), data.data()};
  }
};

// The entries of x above `level`, by rows or by columns.
template <class Index, class T>
Sparse<Index, T> thin(const Dense<T>& x, double level, bool by_column) {
  Sparse<Index, T> result;
  result.n_cols = by_column ? x.rows : x.cols;
  const int64_t major = by_column ? x.cols : x.rows;
  for (int64_t i = 0; i < major; ++i) {
    for (int64_t j = 0; j < result.n_cols; ++j) {
      const T value = by_column ? x.at(j, i) : x.at(i, j);
      if (value <= level) continue;
      result.indices.push_back(static_cast<Index>(j));
      result.data.push_back(value);
    }
    result.indptr.push_back(static_cast<int64_t>(result.data.size()));
  }
  return result;
}

template <class Index, class T>
void check_gram(int64_t n, int64_t p, double level, double tolerance) {
  const Dense<T> x(n, p, 0, 1);
  const auto rows = thin<Index>(x, level, false), columns = thin<Index>(x, level, true);
  const Dense<T> before(p, p, 3, 2);
  Dense<T> first = before;
  const double alpha = -0.5;
  sparse_gram<Index, T>(rows.view(), columns.view(), alpha, first.mutable_view(), 1);
  for (const int n_threads : {2, 5}) {
    Dense<T> other = before;
    sparse_gram<Index, T>(rows.view(), columns.view(), alpha, other.mutable_view(), n_threads);
    CHECK(other.data == first.data);
  }
  const int64_t step = p > 60 ? 13 : 1;
  for (int64_t i = 0; i < p; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      if (i % step != 0 && j % step != 0 && i != j) continue;
      double sum = 0;
      for (int64_t r = 0; r < n; ++r) {
        if (x.at(r, i) > level && x.at(r, j) > level) sum += static_cast<double>(x.at(r, i)) * x.at(r, j);
      }
      CHECK_NEAR(first.at(i, j), before.at(i, j) + alpha * sum, tolerance);
    }
    for (int64_t j = i + 1; j < before.stride; ++j) CHECK_EQUAL(first.at(i, j), before.at(i, j));
  }
}

}  // namespace

// X = [1 0 2; 0 3 0; 4 0 5].
TEST(by_hand) {
  const Sparse<int32_t, double> rows{3, {0, 2, 3, 5}, {0, 2, 1, 0, 2}, {1, 2, 3, 4, 5}};
  const Sparse<int32_t, double> columns{3, {0, 2, 3, 5}, {0, 2, 1, 0, 2}, {1, 4, 3, 2, 5}};
  std::vector<double> out(9, 100);
  sparse_gram<int32_t, double>(rows.view(), columns.view(), 2.0, {out.data(), 3, 3, 3}, 2);
  const std::vector<double> expected{134, 100, 100, 100, 118, 100, 144, 100, 158};
  CHECK(out == expected);
}

TEST(every_size) {
  for (const int64_t p : {0, 1, 15, 16, 17, 255, 256, 257}) {
    check_gram<int32_t, double>(40, p, 0.5, 1e-12);
    check_gram<int64_t, float>(40, p, 0.5, 1e-4);
  }
  check_gram<int64_t, double>(20, 700, 1.0, 1e-12);
  check_gram<int32_t, float>(700, 20, -9.0, 1e-3);  // no zeros
  check_gram<int32_t, double>(0, 5, 0.0, 0);
  check_gram<int32_t, double>(30, 33, 9.0, 0);  // nothing but zeros
}

TEST(sums_in_double) {
  // Beside 2^26 a float32 sum would lose every quarter.
  const int64_t n = 4097;
  Dense<float> x(n, 1, 0, 1);
  for (int64_t i = 0; i < n; ++i) x.at(i, 0) = i == 0 ? 8192.0f : 0.5f;
  const auto rows = thin<int32_t>(x, 0, false), columns = thin<int32_t>(x, 0, true);
  float out = 0;
  sparse_gram<int32_t, float>(rows.view(), columns.view(), 1.0, {&out, 1, 1, 1}, 1);
  CHECK_EQUAL(out, 8192.0f * 8192.0f + 1024.0f);
}
