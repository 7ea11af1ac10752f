#pragma once
// BLAS and LAPACK through the function pointers that scipy exports: nothing is bundled and there is one
// library in the process. The pointers are handed over once, before the first kernel that needs them.

namespace semproj {

// The functions of one precision.
template <class T>
struct BlasFunctions {
  void (*gemm)(const char* transa, const char* transb, const int* m, const int* n, const int* k,
               const T* alpha, const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c,
               const int* ldc) = nullptr;
  void (*syrk)(const char* uplo, const char* trans, const int* n, const int* k, const T* alpha, const T* a,
               const int* lda, const T* beta, T* c, const int* ldc) = nullptr;
  void (*trsm)(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,
               const int* n, const T* alpha, const T* a, const int* lda, T* b, const int* ldb) = nullptr;
  void (*potrf)(const char* uplo, const int* n, T* a, const int* lda, int* info) = nullptr;
};

struct BlasTable {
  BlasFunctions<float> single_precision;
  BlasFunctions<double> double_precision;
};

void set_blas(const BlasTable& table);
bool has_blas();

// All matrices are row-major and all work is done on the calling thread. T is float or double.

// C (m x n) = alpha op(A) op(B) + beta C.
template <class T>
void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
          int ldb, T beta, T* c, int ldc);

// The upper triangle of C (n x n) = alpha A'A + beta C, for A (k x n).
template <class T>
void gram_triangle(int n, int k, T alpha, const T* a, int lda, T beta, T* c, int ldc);

// B (n x columns) = op(L)^-1 B for lower triangular L (n x n).
template <class T>
void solve_triangle(bool transpose, int n, int columns, const T* l, int ldl, T* b, int ldb);

// B (rows x n) = B L^-T for lower triangular L (n x n).
template <class T>
void solve_triangle_right(int n, int rows, const T* l, int ldl, T* b, int ldb);

// A (n x n) = L L', L in place of the lower triangle. Returns the number of rows done: n unless row [that
// number] shows that A is not positive definite.
template <class T>
int factor_triangle(int n, T* a, int lda);

}  // namespace semproj
