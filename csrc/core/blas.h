#pragma once
// BLAS through the function pointers that scipy exports: nothing is bundled and there is one library in the
// process. The pointers are handed over once, before the first kernel that needs them.

namespace semproj {

struct BlasTable {
  using Sgemm = void (*)(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                         const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                         const float* beta, float* c, const int* ldc);
  using Dgemm = void (*)(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                         const double* alpha, const double* a, const int* lda, const double* b,
                         const int* ldb, const double* beta, double* c, const int* ldc);
  Sgemm sgemm = nullptr;
  Dgemm dgemm = nullptr;
};

void set_blas(const BlasTable& table);
bool has_blas();

// Row-major C (m x n) = alpha op(A) op(B) + beta C, on the calling thread's BLAS.
void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float* a, int lda,
          const float* b, int ldb, float beta, float* c, int ldc);
void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, double alpha, const double* a, int lda,
          const double* b, int ldb, double beta, double* c, int ldc);

}  // namespace semproj
