#include <algorithm>

#include "bindings/csr_argument.h"
#include "kernels/rowsolve.h"

namespace semproj::bindings {
namespace {

template <class Index, class Value>
void check_range(const CsrView<Index, Value>& x) {
  const int64_t n = x.indptr[x.n_rows];
  for (int64_t e = 0; e < n; ++e) {
    if (x.indices[e] < 0 || x.indices[e] >= x.n_cols) throw py::value_error("X: column indices out of range");
  }
}

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
double solve(const CsrArgument& x, const py::object& weights, const py::array& factors,
             const py::object& whitened, const py::object& inverse, const py::array& matrix,
             double least_eigenvalue, double missing_weight, const py::array& out, int64_t longest_short,
             int n_threads) {
  SharedSystem<T> shared{
      matrix_view<const T>(factors, "factors"), nullptr, nullptr, nullptr, least_eigenvalue, missing_weight};
  const int64_t k = shared.factors.cols;
  const auto s = matrix_view<const double>(matrix, "matrix");
  if (s.rows != k || s.cols != k || s.stride != k)
    throw py::value_error("matrix: expected K x K, contiguous");
  shared.matrix = s.data;
  if (!whitened.is_none()) {
    shared.whitened = padded_rows<T>(whitened.cast<py::array>(), shared.factors.rows, k, "whitened");
    shared.inverse = padded_rows<T>(inverse.cast<py::array>(), padded(k), k, "inverse");
  }
  const auto result = matrix_view<T>(out, "out");
  const RowSolveOptions options{longest_short, n_threads, active_isa()};
  double value = 0;
  x.visit([&]<class Index, class Value>(const CsrView<Index, Value>& rows) {
    if constexpr (std::is_same_v<Value, T>) {
      if (rows.n_cols != shared.factors.rows) throw py::value_error("X: expected a column for each factor");
      if (result.rows != rows.n_rows || result.cols != k) throw py::value_error("out: wrong shape");
      const T* c = nullptr;
      if (!weights.is_none())
        c = vector_data<T>(weights.cast<py::array>(), rows.indptr[rows.n_rows], "weights");
      const py::gil_scoped_release release;
      check_range(rows);
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
  const py::gil_scoped_release release;
  table_gram<T>(view, data, n_threads, active_isa());
  return out;
}

bool is_double(const py::array& a) {
  return py::isinstance<py::array_t<double>>(a);
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
  m.def(
      "solve_rows",
      [](const CsrArgument& x, const py::object& weights, const py::array& factors,
         const py::object& whitened, const py::object& inverse, const py::array& matrix,
         double least_eigenvalue, double missing_weight, const py::array& out, int64_t longest_short,
         int n_threads) {
        const auto run = is_double(factors) ? &solve<double> : &solve<float>;
        return run(x, weights, factors, whitened, inverse, matrix, least_eigenvalue, missing_weight, out,
                   longest_short, n_threads);
      },
      py::arg("x"), py::arg("weights"), py::arg("factors"), py::arg("whitened"), py::arg("inverse"),
      py::arg("matrix"), py::arg("least_eigenvalue"), py::arg("missing_weight"), py::arg("out"),
      py::arg("longest_short"), py::arg("n_threads"));
  m.def(
      "table_gram",
      [](const py::array& factors, int n_threads) {
        return is_double(factors) ? gram<double>(factors, n_threads) : gram<float>(factors, n_threads);
      },
      py::arg("factors"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
