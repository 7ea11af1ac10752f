#include "bindings/bindings.h"
#include "kernels/tall.h"

namespace semproj::bindings {
namespace {

template <class T>
py::array_t<double> cross(const py::array& a, const py::array& b, int n_threads) {
  const auto left = matrix_view<const T>(a, "a"), right = matrix_view<const T>(b, "b");
  if (left.rows != right.rows) throw py::value_error("b: expected as many rows as a");
  py::array_t<double> out({left.cols, right.cols});
  double* data = out.mutable_data();
  const ReleaseGil release;
  tall_cross<T>(left, right, data, n_threads);
  return out;
}

template <class T>
void multiply(const py::array& a, const py::array& c, double alpha, double beta, const py::array& out,
              int n_threads) {
  const auto left = matrix_view<const T>(a, "a"), right = matrix_view<const T>(c, "c");
  const auto result = matrix_view<T>(out, "out");
  if (left.cols != right.rows) throw py::value_error("c: expected as many rows as a has columns");
  if (result.rows != left.rows || result.cols != right.cols) throw py::value_error("out: wrong shape");
  const ReleaseGil release;
  tall_multiply<T>(left, right, static_cast<T>(alpha), static_cast<T>(beta), result, n_threads);
}

template <class T>
void normal(const py::array& out, uint64_t key, uint32_t stream, int n_threads) {
  const auto view = matrix_view<T>(out, "out");
  const ReleaseGil release;
  fill_normal<T>(view, key, stream, n_threads);
}

}  // namespace

void register_tall(py::module_& m) {
  m.def("tall_cross", by_dtype(&cross<float>, &cross<double>), py::arg("a"), py::arg("b"),
        py::arg("n_threads"));
  m.def("tall_multiply", by_dtype(&multiply<float>, &multiply<double>), py::arg("a"), py::arg("c"),
        py::arg("alpha"), py::arg("beta"), py::arg("out"), py::arg("n_threads"));
  m.def("fill_normal", by_dtype(&normal<float>, &normal<double>), py::arg("out"), py::arg("key"),
        py::arg("stream"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
