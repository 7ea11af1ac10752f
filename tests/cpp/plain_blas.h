#pragma once
// BLAS and LAPACK as plain loops, so that tests see the cutting into blocks and not the BLAS of the machine.
// Column-major, as BLAS says. Only what the kernels ask for; anything else throws.

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/blas.h"
#include "core/philox.h"
#include "core/views.h"

namespace plain {

// C (m x n) = alpha op(A) op(B) + beta C.
template <class T>
void gemm(const char* transa, const char* transb, const int* m, const int* n, const int* k, const T* alpha,
          const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc) {
  const bool ta = *transa == 'T', tb = *transb == 'T';
  const int64_t a_row = ta ? *lda : 1, a_step = ta ? 1 : *lda, b_col = tb ? 1 : *ldb, b_step = tb ? *ldb : 1;
  for (int64_t j = 0; j < *n; ++j) {
    for (int64_t i = 0; i < *m; ++i) {
      T sum = 0;
      for (int64_t p = 0; p < *k; ++p) sum += a[i * a_row + p * a_step] * b[j * b_col + p * b_step];
      T& out = c[i + j * *ldc];
      out = *alpha * sum + (*beta == 0 ? T{0} : *beta * out);
    }
  }
}

// The lower triangle of C (n x n) = alpha A A' + beta C.
template <class T>
void syrk(const char* uplo, const char* trans, const int* n, const int* k, const T* alpha, const T* a,
          const int* lda, const T* beta, T* c, const int* ldc) {
  if (*uplo != 'L' || *trans != 'N') throw std::logic_error("syrk: expected A A' in a lower triangle");
  for (int64_t j = 0; j < *n; ++j) {
    for (int64_t i = j; i < *n; ++i) {
      T sum = 0;
      for (int64_t p = 0; p < *k; ++p) sum += a[i + p * *lda] * a[j + p * *lda];
      T& out = c[i + j * *ldc];
      out = *alpha * sum + (*beta == 0 ? T{0} : *beta * out);
    }
  }
}

// op(U) X = alpha B (side L) or X op(U) = alpha B (side R) for upper triangular U; X in place of B (m x n).
template <class T>
void trsm(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,
          const int* n, const T* alpha, const T* a, const int* lda, T* b, const int* ldb) {
  if (*uplo != 'U' || *diag != 'N') throw std::logic_error("trsm: expected an upper triangle");
  const bool left = *side == 'L', transposed = *transa == 'T';
  const int64_t order = left ? *m : *n, others = left ? *n : *m;
  const int64_t step = left ? 1 : *ldb, across = left ? *ldb : 1;
  // x U = b runs forward over the columns of U, as U' x = b does; the other two run backward.
  const bool forward = left == transposed;
  for (int64_t o = 0; o < others; ++o) {
    T* x = b + o * across;
    for (int64_t s = 0; s < order; ++s) {
      const int64_t i = forward ? s : order - 1 - s;
      T sum = *alpha * x[i * step];
      const int64_t begin = forward ? 0 : i + 1, end = forward ? i : order;
      for (int64_t p = begin; p < end; ++p) {
        sum -= x[p * step] * (forward ? a[p + i * *lda] : a[i + p * *lda]);
      }
      x[i * step] = sum / a[i + i * *lda];
    }
  }
}

// A = U'U, U in place of the upper triangle; info is the first minor that is not positive, from 1.
template <class T>
void potrf(const char* uplo, const int* n, T* a, const int* lda, int* info) {
  if (*uplo != 'U') throw std::logic_error("potrf: expected an upper triangle");
  *info = 0;
  for (int64_t j = 0; j < *n; ++j) {
    for (int64_t i = 0; i <= j; ++i) {
      T sum = a[i + j * *lda];
      for (int64_t p = 0; p < i; ++p) sum -= a[p + i * *lda] * a[p + j * *lda];
      if (i < j) {
        a[i + j * *lda] = sum / a[i + i * *lda];
      } else if (sum > 0) {
        a[j + j * *lda] = std::sqrt(sum);
      } else {
        *info = static_cast<int>(j + 1);
        return;
      }
    }
  }
}

template <class T>
semproj::BlasFunctions<T> functions() {
  return {&gemm<T>, &syrk<T>, &trsm<T>, &potrf<T>};
}

inline void set_blas() {
  semproj::set_blas({functions<float>(), functions<double>()});
}

// A matrix of normal numbers; rows are `extra` elements further apart than they are long.
template <class T>
struct Dense {
  int64_t rows, cols, stride;
  std::vector<T> data;

  Dense(int64_t r, int64_t c, int64_t extra, uint64_t seed)
      : rows(r), cols(c), stride(c + extra), data(static_cast<size_t>(r * stride)) {
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<T>(semproj::philox_normals(seed, {static_cast<uint32_t>(i), 0, 0, 0})[0]);
    }
  }
  T at(int64_t i, int64_t j) const { return data[static_cast<size_t>(i * stride + j)]; }
  T& at(int64_t i, int64_t j) { return data[static_cast<size_t>(i * stride + j)]; }
  semproj::MatrixView<const T> view() const { return {data.data(), rows, cols, stride}; }
  semproj::MatrixView<T> mutable_view() { return {data.data(), rows, cols, stride}; }
};

}  // namespace plain
