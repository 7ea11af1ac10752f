#include <pybind11/stl.h>

#include <optional>

#include "bindings/csr_argument.h"
#include "kernels/rowsolve.h"

namespace semproj::bindings {
namespace {

// What all rows share (see SharedSystem). Holds references to the arrays.
struct SharedSystemArgument {
  py::array factors;
  std::optional<py::array> whitened, inverse;
  py::array matrix;
  double least_eigenvalue, missing_weight;
};

// Rows of K numbers and zeros up to the padded length.
template <class T>
const T* padded_rows(const py::array& a, int64_t rows, int64_t k, const char* name) {
  const auto view = matrix_view<const T>(a, name);
  if (view.rows != rows || view.cols != padded(k) || (rows > 0 && view.stride != view.cols)) {
    throw py::value_error(std::string(name) + ": expected contiguous rows of the padded length");
  }
  return view.data;
}

template <class T>
SharedSystem<T> system_of(const SharedSystemArgument& given) {
  SharedSystem<T> shared{matrix_view<const T>(given.factors, "factors"),
                         nullptr,
                         nullptr,
                         nullptr,
                         given.least_eigenvalue,
                         given.missing_weight};
  const int64_t k = shared.factors.cols;
  const auto matrix = matrix_view<const double>(given.matrix, "matrix");
  if (matrix.rows != k || matrix.cols != k || matrix.stride != k) {
    throw py::value_error("matrix: expected K x K, contiguous");
  }
  shared.matrix = matrix.data;
  if (given.whitened.has_value() != given.inverse.has_value()) {
    throw py::value_error("inverse: expected with whitened, or neither");
  }
  if (given.whitened.has_value()) {
    shared.whitened = padded_rows<T>(*given.whitened, shared.factors.rows, k, "whitened");
    shared.inverse = padded_rows<T>(*given.inverse, padded(k), k, "inverse");
  }
  return shared;
}

template <class T>
double solve(const CsrArgument& x, const std::optional<py::array>& weights, const SharedSystemArgument& given,
             const py::array& out, int64_t longest_short, int n_threads) {
  const SharedSystem<T> shared = system_of<T>(given);
  const auto result = matrix_view<T>(out, "out");
  const RowSolveOptions options{longest_short, n_threads, active_isa()};
  double value = 0;
  x.visit([&]<class Index, class Value>(const CsrView<Index, Value>& rows) {
    if constexpr (std::is_same_v<Value, T>) {
      if (rows.n_cols != shared.factors.rows) throw py::value_error("X: expected a column for each factor");
      if (result.rows != rows.n_rows || result.cols != shared.factors.cols) {
        throw py::value_error("out: wrong shape");
      }
      const T* c = weights ? vector_data<T>(*weights, rows.indptr[rows.n_rows], "weights") : nullptr;
      const ReleaseGil release;
      check_columns(rows);
      value = solve_rows<T>(rows, c, shared, result, options);
    } else {
      throw py::type_error("X: expected values of the dtype of factors");
    }
  });
  return value;
}

template <class T>
py::array_t<double> gram(const py::array& factors, int n_threads) {
  const auto view = matrix_view<const T>(factors, "factors");
  py::array_t<double> out({view.cols, view.cols});
  double* data = out.mutable_data();
  const ReleaseGil release;
  table_gram<T>(view, data, n_threads, active_isa());
  return out;
}

}  // namespace

void register_rowsolve(py::module_& m) {
  py::register_local_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const SingularSystem& e) {
      // The row's number as the only argument: Python says the rest, in terms of its own parameters.
      py::set_error(PyExc_ArithmeticError, py::int_(e.row()));
    }
  });
  m.def("padded", &padded, py::arg("n_components"));
  py::class_<SharedSystemArgument>(m, "SharedSystem")
      .def(py::init<py::array, std::optional<py::array>, std::optional<py::array>, py::array, double,
                    double>(),
           py::arg("factors"), py::arg("whitened"), py::arg("inverse"), py::arg("matrix"),
           py::arg("least_eigenvalue"), py::arg("missing_weight"));
  m.def(
      "solve_rows",
      [](const CsrArgument& x, const std::optional<py::array>& weights, const SharedSystemArgument& shared,
         const py::array& out, int64_t longest_short, int n_threads) {
        const auto chosen = has_dtype<double>(shared.factors) ? &solve<double> : &solve<float>;
        return chosen(x, weights, shared, out, longest_short, n_threads);
      },
      py::arg("x"), py::arg("weights"), py::arg("shared"), py::arg("out"), py::arg("longest_short"),
      py::arg("n_threads"));
  m.def("table_gram", by_dtype(&gram<float>, &gram<double>), py::arg("factors"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
