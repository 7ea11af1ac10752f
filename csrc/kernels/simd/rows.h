#pragma once
// Products with a few dozen short rows, too small for a BLAS call, compiled once per instruction set.

#include <cstdint>

namespace semproj::simd {

// Rows have `stride` elements, a multiple of kRowLanes; they need no alignment and do not overlap.
constexpr int64_t kRowLanes = 16;

struct RowTable {
  // out = sum over i of coefficients[i] * row i. Sums of even and of odd i, in order, then both.
  void (*combine)(const float* coefficients, const float* rows, int64_t n, int64_t stride, float* out);
  // row i += coefficients[i] * x
  void (*add_outer)(const float* coefficients, const float* x, int64_t n, int64_t stride, float* rows);
};

namespace baseline {
RowTable row_table();
}
namespace avx2 {
RowTable row_table();
}
namespace avx512 {
RowTable row_table();
}

}  // namespace semproj::simd
