#pragma once
// Cholesky factor of a large dense matrix, and solves with it for a block of right-hand sides.
//
// Cut into fixed blocks that parallel_for spreads and BLAS multiplies on one thread each, so the bits do not
// depend on the number of threads. Matrices are row-major; only the lower triangle is read, and of the upper
// one only the diagonal blocks may be written.

#include <cstdint>

#include "core/views.h"

namespace semproj {

// A = L L' in place. n^3 / 3 flops in T. Returns n, or the first row at which A is not positive definite.
template <class T>
int64_t cholesky(const MatrixView<T>& a, int n_threads);

// B = L^-1 B, or L^-T B. n^2 flops for each column of B, L is read once.
template <class T>
void solve_lower(const MatrixView<const T>& l, bool transpose, const MatrixView<T>& b, int n_threads);

// The upper triangle becomes the mirror image of the lower one.
template <class T>
void mirror_lower(const MatrixView<T>& a, int n_threads);

}  // namespace semproj
