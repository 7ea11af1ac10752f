#include "core/blas.h"

#include <stdexcept>
#include <type_traits>

namespace semproj {
namespace {

BlasTable& table() {
  static BlasTable instance;
  return instance;
}

template <class T>
const BlasFunctions<T>& functions() {
  if (!has_blas()) throw std::logic_error("BLAS pointers were not set");
  if constexpr (std::is_same_v<T, float>) {
    return table().single_precision;
  } else {
    return table().double_precision;
  }
}

constexpr char kLeft = 'L', kRight = 'R', kLower = 'L', kUpper = 'U', kNot = 'N', kTransposed = 'T';

}  // namespace

void set_blas(const BlasTable& given) {
  table() = given;
}
bool has_blas() {
  return table().single_precision.gemm != nullptr;
}

// BLAS is column-major and so sees every matrix transposed: a product is the product of the transposes in the
// other order, and a lower triangle is an upper one.

template <class T>
void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
          int ldb, T beta, T* c, int ldc) {
  const char ta = transpose_a ? 'T' : 'N', tb = transpose_b ? 'T' : 'N';
  functions<T>().gemm(&tb, &ta, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc);
}

template <class T>
void gram_triangle(int n, int k, T alpha, const T* a, int lda, T beta, T* c, int ldc) {
  functions<T>().syrk(&kLower, &kNot, &n, &k, &alpha, a, &lda, &beta, c, &ldc);
}

template <class T>
void solve_triangle(bool transpose, int n, int columns, const T* l, int ldl, T* b, int ldb) {
  const T one{1};
  functions<T>().trsm(&kRight, &kUpper, transpose ? &kTransposed : &kNot, &kNot, &columns, &n, &one, l, &ldl,
                      b, &ldb);
}

template <class T>
void solve_triangle_right(int n, int rows, const T* l, int ldl, T* b, int ldb) {
  const T one{1};
  functions<T>().trsm(&kLeft, &kUpper, &kTransposed, &kNot, &n, &rows, &one, l, &ldl, b, &ldb);
}

template <class T>
int factor_triangle(int n, T* a, int lda) {
  int info = 0;
  functions<T>().potrf(&kUpper, &n, a, &lda, &info);
  if (info < 0) throw std::logic_error("potrf: bad argument");
  return info == 0 ? n : info - 1;
}

template void gemm(bool, bool, int, int, int, float, const float*, int, const float*, int, float, float*,
                   int);
template void gemm(bool, bool, int, int, int, double, const double*, int, const double*, int, double, double*,
                   int);
template void gram_triangle(int, int, float, const float*, int, float, float*, int);
template void gram_triangle(int, int, double, const double*, int, double, double*, int);
template void solve_triangle(bool, int, int, const float*, int, float*, int);
template void solve_triangle(bool, int, int, const double*, int, double*, int);
template void solve_triangle_right(int, int, const float*, int, float*, int);
template void solve_triangle_right(int, int, const double*, int, double*, int);
template int factor_triangle(int, float*, int);
template int factor_triangle(int, double*, int);

}  // namespace semproj
