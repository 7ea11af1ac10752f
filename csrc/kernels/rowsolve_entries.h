#pragma once
// What solvers of long and of short rows share: the entries of a row, and the loops of the instruction set.

#include <cstdint>

#include "core/views.h"
#include "kernels/dispatch.h"

namespace semproj {

constexpr int64_t kSummedRows = 64;           // of factors, summed in T before going to double
constexpr double kTrustedCondition = 100.0;   // up to which float32 is enough
constexpr double kTrustedCancelling = 300.0;  // squares of terms over the square of their sum, likewise
constexpr double kRefinedCondition = 1e5;     // up to which its steps of refinement become smaller

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

// Rounds the solution of a row's system. Returns its product with the right side.
template <class T>
double store_solution(const double* solution, const double* right, int64_t k, T* out) {
  double product = 0;
  for (int64_t i = 0; i < k; ++i) {
    out[i] = static_cast<T>(solution[i]);
    product += right[i] * solution[i];
  }
  return product;
}

}  // namespace semproj
