#include "core/blas.h"

#include <stdexcept>

namespace semproj {
namespace {

BlasTable& table() {
  static BlasTable instance;
  return instance;
}

// BLAS is column-major: a row-major product is the product of the transposes in the other order.
template <class T, class Function>
void gemm_with(Function function, bool transpose_a, bool transpose_b, int m, int n, int k, T alpha,
               const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) {
  if (function == nullptr) throw std::logic_error("BLAS pointers were not set");
  const char ta = transpose_a ? 'T' : 'N', tb = transpose_b ? 'T' : 'N';
  function(&tb, &ta, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc);
}

}  // namespace

void set_blas(const BlasTable& given) {
  table() = given;
}
bool has_blas() {
  return table().sgemm != nullptr;
}

void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float* a, int lda,
          const float* b, int ldb, float beta, float* c, int ldc) {
  gemm_with(table().sgemm, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, double alpha, const double* a, int lda,
          const double* b, int ldb, double beta, double* c, int ldc) {
  gemm_with(table().dgemm, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace semproj
