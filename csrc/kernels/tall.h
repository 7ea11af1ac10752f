#pragma once
// Dense products with tall matrices (many rows, a few hundred columns), for block solvers.
//
// BLAS is called on fixed blocks of rows from parallel_for, never with threads of its own, so the bits do not
// depend on the number of threads. The caller sees to it that BLAS runs single-threaded meanwhile.

#include <cstdint>

#include "core/views.h"

namespace semproj {

// out (a.cols x b.cols, contiguous) = A' B. Blocks of rows are multiplied in T and summed in double.
// 2 n a b flops, half of that when A and B are the same matrix. Scratch: at most 8 a b doubles.
template <class T>
void tall_cross(const MatrixView<const T>& a, const MatrixView<const T>& b, double* out, int n_threads);

// out = beta out + alpha A C, C small (a.cols x out.cols). `out` must not overlap A.
template <class T>
void tall_multiply(const MatrixView<const T>& a, const MatrixView<const T>& c, T alpha, T beta,
                   const MatrixView<T>& out, int n_threads);

// Standard normal numbers as a function of (key, stream, row, column).
template <class T>
void fill_normal(const MatrixView<T>& out, uint64_t key, uint32_t stream, int n_threads);

}  // namespace semproj
