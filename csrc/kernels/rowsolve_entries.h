#pragma once
// What solvers of long and of short rows share: the entries of a row, and the loops of the instruction set.

#include <cstdint>

#include "core/views.h"
#include "kernels/dispatch.h"
#include "kernels/rowsolve.h"

namespace semproj {

constexpr int64_t kSummedRows = 64;           // of factors, summed in T before going to double
constexpr double kTrustedCondition = 100.0;   // up to which float32 is enough
constexpr double kTrustedCancelling = 300.0;  // squares of terms over the square of their sum, likewise
constexpr double kRefinedCondition = 1e5;     // up to which its steps of refinement become smaller
constexpr double kFarFromFitted = 0.99;  // part of c x^2 that b . q is, up to which they may be subtracted

inline int64_t rounded_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

template <class T>
void prefetch_row(const T* row, int64_t n) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t c = 0; c < n; c += kLine) __builtin_prefetch(row + c);
}

// The entries of one row of X.
template <class T, class Index>
struct RowEntries {
  const Index* index;
  const T* value;
  const T* weight;  // null: 1
  int64_t n;

  double c(int64_t i) const { return weight == nullptr ? 1.0 : static_cast<double>(weight[i]); }
  double x(int64_t i) const { return static_cast<double>(value[i]); }
};

template <class T, class Index>
RowEntries<T, Index> entries_of(const CsrView<Index, T>& x, const T* weights, int64_t row) {
  const int64_t begin = x.indptr[row];
  return {x.indices + begin, x.data + begin, weights == nullptr ? nullptr : weights + begin,
          x.indptr[row + 1] - begin};
}

// Rounds the solution q of a row's system, also in place, and returns the row's minimum: c x^2 - b . q, or
// where that cancels, as it does for large c, the sum of its terms, q' S q + c (x - y . q)^2 - w0 (y . q)^2.
template <class T, class Index>
double store_solution(const SharedSystem<T>& shared, const RowEntries<T, Index>& row, const double* right,
                      const simd::DenseTable<T>& tables, const simd::DenseTable<double>& wide, double* q,
                      T* out) {
  const int64_t k = shared.factors.cols;
  double squares = 0, product = 0;
  for (int64_t i = 0; i < row.n; ++i) squares += row.c(i) * row.x(i) * row.x(i);
  for (int64_t i = 0; i < k; ++i) {
    product += right[i] * q[i];
    out[i] = static_cast<T>(q[i]);
    q[i] = static_cast<double>(out[i]);
  }
  if (product <= kFarFromFitted * squares) return squares - product;
  double value = 0;
  for (int64_t i = 0; i < k; ++i) value += q[i] * wide.rows.dot_wide(shared.matrix + i * k, q, k);
  for (int64_t i = 0; i < row.n; ++i) {
    const double fit = tables.rows.dot_wide(shared.factors.row(row.index[i]), q, k), rest = row.x(i) - fit;
    value += row.c(i) * rest * rest - shared.missing_weight * fit * fit;
  }
  return value;
}

}  // namespace semproj
