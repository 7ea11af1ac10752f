#pragma once
// Small symmetric positive definite systems, A = U'U with U upper triangular, compiled once per instruction
// set.

#include <cstdint>

namespace semproj::simd {

// So many systems are solved side by side, one in each lane.
constexpr int64_t kSystems = 16;

template <class T>
struct SystemTable {
  // Solves (I + A) x = b for kSystems systems of n equations: a[(i * stride + j) * kSystems + lane], j >= i,
  // and b[i * kSystems + lane], which becomes x. The diagonal of A must not be negative. Overwrites A.
  // n^3 / 6 + n^2 multiply-adds a lane.
  void (*solve_side_by_side)(T* a, int n, int64_t stride, T* b);

  // The upper triangle of A (rows `stride` apart) becomes U, with the reciprocals of its diagonal. Returns n,
  // or the first row whose pivot is not above least[row]. n^3 / 6 multiply-adds. Rows have room for a
  // multiple of 16 elements; what is there behind column n and left of the diagonal does not matter and is
  // overwritten.
  int64_t (*factor)(T* a, int64_t n, int64_t stride, const T* least);
  // x = (U'U)^-1 x.
  void (*solve)(const T* u, int64_t n, int64_t stride, T* x);
  // x = U'^-1 x.
  void (*solve_forward)(const T* u, int64_t n, int64_t stride, T* x);
  // x = U^-1 x.
  void (*solve_backward)(const T* u, int64_t n, int64_t stride, T* x);
  // About the norm of (U'U)^-1, seldom less than a third of it: that of its product with a vector of signs
  // which are chosen, one by one, so that the solution grows. Scratch of n elements.
  T (*inverse_norm)(const T* u, int64_t n, int64_t stride, T* scratch);
  // r -= A x, from the upper triangle of A.
  void (*subtract_product)(const T* a, int64_t n, int64_t stride, const T* x, T* r);
};

}  // namespace semproj::simd
