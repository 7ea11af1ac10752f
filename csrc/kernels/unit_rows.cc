// Cost. Each row is read twice, the second time from a near cache, and written once.
//
// Precision: squares in double. A row whose squares, or whose factor, could leave the range of their type is
// first scaled by a power of two, which is exact.

#include "kernels/unit_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/parallel.h"

namespace semproj {
namespace {

// Eight partial sums in a fixed order, so that the compiler may use wide registers.
template <class T>
double sum_of_squares(const T* row, int64_t n) {
  double part[8] = {};
  int64_t c = 0;
  for (; c + 8 <= n; c += 8) {
    for (int k = 0; k < 8; ++k) part[k] += static_cast<double>(row[c + k]) * row[c + k];
  }
  for (int k = 0; c < n; ++c, ++k) part[k] += static_cast<double>(row[c]) * row[c];
  double total = 0;
  for (const double p : part) total += p;
  return total;
}

// Scales a row so that its largest magnitude is about one. Returns false if it is zero or not finite.
template <class T>
bool bring_near_one(T* row, int64_t n) {
  T largest = 0;
  for (int64_t c = 0; c < n; ++c) {
    if (!std::isfinite(row[c])) return false;
    largest = std::max(largest, std::abs(row[c]));
  }
  if (largest == 0) return false;
  const int exponent = std::ilogb(largest);
  for (int64_t c = 0; c < n; ++c) row[c] = std::ldexp(row[c], -exponent);
  return true;
}

}  // namespace

template <class T>
void unit_rows(const MatrixView<T>& rows, int n_threads) {
  constexpr int64_t kGrain = 64;
  constexpr double kFar = std::is_same_v<T, float> ? 1e70 : 1e280;  // squares: of lengths far within range
  parallel_for(block_count(rows.rows, kGrain), n_threads, [&](int64_t task, int) {
    const Block block = block_at(rows.rows, kGrain, task);
    for (int64_t r = block.begin; r < block.end; ++r) {
      T* row = rows.row(r);
      double total = sum_of_squares(row, rows.cols);
      if (!(total > 1 / kFar && total < kFar)) {
        if (!bring_near_one(row, rows.cols)) continue;
        total = sum_of_squares(row, rows.cols);
      }
      const T inverse = static_cast<T>(1 / std::sqrt(total));
      for (int64_t c = 0; c < rows.cols; ++c) row[c] *= inverse;
    }
  });
}

template void unit_rows(const MatrixView<float>&, int);
template void unit_rows(const MatrixView<double>&, int);

}  // namespace semproj
