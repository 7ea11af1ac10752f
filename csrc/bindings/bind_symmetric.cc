#include "bindings/csr_argument.h"
#include "kernels/cholesky.h"
#include "kernels/gram.h"

// Dense symmetric matrices: the Gram matrix of a sparse one, its Cholesky factor, and solves.

namespace semproj::bindings {
namespace {

template <class T>
void check_square(const MatrixView<T>& a, const char* name) {
  if (a.rows != a.cols) throw py::value_error(std::string(name) + ": expected a square matrix");
  if (a.stride > INT32_MAX) throw py::value_error(std::string(name) + ": too large for BLAS");
}

template <class Index, class Value>
void check_indices(const CsrView<Index, Value>& x, const char* name) {
  for (int64_t r = 0; r < x.n_rows; ++r) {
    Index previous = -1;
    for (int64_t e = x.indptr[r]; e < x.indptr[r + 1]; ++e) {
      if (x.indices[e] <= previous || x.indices[e] >= x.n_cols) {
        throw py::value_error(std::string(name) + ": indices must be sorted, unique and in range");
      }
      previous = x.indices[e];
    }
  }
}

void gram(const CsrArgument& rows, const CsrArgument& columns, double alpha, const py::array& out,
          int n_threads) {
  rows.visit([&]<class Index, class Value>(const CsrView<Index, Value>& by_row) {
    if constexpr (std::is_floating_point_v<Value>) {
      const auto view = matrix_view<Value>(out, "out");
      if (view.rows != by_row.n_cols || view.cols != by_row.n_cols) throw py::value_error("out: wrong shape");
      columns.visit([&]<class Index2, class Value2>(const CsrView<Index2, Value2>& by_column) {
        if constexpr (std::is_same_v<Index, Index2> && std::is_same_v<Value, Value2>) {
          if (by_column.n_rows != by_row.n_cols || by_column.n_cols != by_row.n_rows) {
            throw py::value_error("columns: expected the transpose of rows");
          }
          const ReleaseGil release;
          check_indices(by_row, "rows");
          check_indices(by_column, "columns");
          sparse_gram<Index, Value>(by_row, by_column, alpha, view, n_threads);
        } else {
          throw py::type_error("columns: expected the dtypes of rows");
        }
      });
    } else {
      throw py::type_error("rows: expected floating-point numbers");
    }
  });
}

template <class T>
int64_t factor(const py::array& a, int n_threads) {
  const auto view = matrix_view<T>(a, "a");
  check_square(view, "a");
  const ReleaseGil release;
  return cholesky<T>(view, n_threads);
}

template <class T>
void solve(const py::array& l, bool transpose, const py::array& b, int n_threads) {
  const auto left = matrix_view<const T>(l, "l");
  const auto right = matrix_view<T>(b, "b");
  check_square(left, "l");
  if (right.rows != left.rows) throw py::value_error("b: expected as many rows as l");
  const ReleaseGil release;
  solve_lower<T>(left, transpose, right, n_threads);
}

template <class T>
void mirror(const py::array& a, int n_threads) {
  const auto view = matrix_view<T>(a, "a");
  check_square(view, "a");
  const ReleaseGil release;
  mirror_lower<T>(view, n_threads);
}

}  // namespace

void register_symmetric(py::module_& m) {
  m.def("sparse_gram", &gram, py::arg("rows"), py::arg("columns"), py::arg("alpha"), py::arg("out"),
        py::arg("n_threads"));
  m.def("cholesky", by_dtype(&factor<float>, &factor<double>), py::arg("a"), py::arg("n_threads"));
  m.def("solve_lower", by_dtype(&solve<float>, &solve<double>), py::arg("l"), py::arg("transpose"),
        py::arg("b"), py::arg("n_threads"));
  m.def("mirror_lower", by_dtype(&mirror<float>, &mirror<double>), py::arg("a"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
