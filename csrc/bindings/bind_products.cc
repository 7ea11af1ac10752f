#include "bindings/bindings.h"
#include "core/blas.h"

namespace semproj::bindings {
namespace {

template <class T>
void product(const py::array& a, const py::array& b, const py::array& out, bool transpose_a, bool transpose_b,
             bool add) {
  const auto left = matrix_view<const T>(a, "a"), right = matrix_view<const T>(b, "b");
  const auto result = matrix_view<T>(out, "out");
  const int64_t m = transpose_a ? left.cols : left.rows, depth = transpose_a ? left.rows : left.cols,
                n = transpose_b ? right.rows : right.cols;
  if (depth != (transpose_b ? right.cols : right.rows)) throw py::value_error("b: does not go with a");
  if (result.rows != m || result.cols != n) throw py::value_error("out: wrong shape");
  for (const int64_t size : {m, n, depth, left.stride, right.stride, result.stride}) {
    if (size < 1 || size > int64_t{1} << 30) throw py::value_error("a: expected sizes from 1 to 2^30");
  }
  const ReleaseGil release;
  gemm(transpose_a, transpose_b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(depth), T{1},
       left.data, static_cast<int>(left.stride), right.data, static_cast<int>(right.stride),
       add ? T{1} : T{0}, result.data, static_cast<int>(result.stride));
}

}  // namespace

void register_products(py::module_& m) {
  m.def("product", by_dtype(&product<float>, &product<double>), py::arg("a"), py::arg("b"), py::arg("out"),
        py::arg("transpose_a"), py::arg("transpose_b"), py::arg("add"));
}

}  // namespace semproj::bindings
