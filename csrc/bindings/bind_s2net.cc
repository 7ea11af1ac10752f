#include <pybind11/stl.h>

#include <optional>

#include "bindings/bindings.h"
#include "bindings/csr_argument.h"
#include "models/s2net.h"

namespace semproj::bindings {
namespace {

// Numbers of rows, all below n.
const int64_t* row_numbers(const py::array& a, int64_t size, int64_t n, const char* name) {
  const int64_t* numbers = vector_data<int64_t>(a, size, name);
  for (int64_t i = 0; i < size; ++i) {
    if (numbers[i] < 0 || numbers[i] >= n) throw py::value_error(std::string(name) + ": out of range");
  }
  return numbers;
}

// Of pairs of which a query may have several.
struct PartnersArgument {
  py::array queries, documents;
  CsrArgument listed;

  Partners view(int64_t n_pairs) const {
    const auto rows = listed.view<int32_t, int32_t>("listed");
    check_columns(rows, "listed");
    return {row_numbers(queries, n_pairs, rows.n_rows, "queries"),
            row_numbers(documents, n_pairs, rows.n_cols, "documents"), rows};
  }
};

template <class T>
py::array dots_of(const py::array& u, const py::array& v, const py::array& rows, const py::array& columns,
                  int n_threads) {
  const auto left = matrix_view<const T>(u, "u"), right = matrix_view<const T>(v, "v");
  if (left.cols != right.cols) throw py::value_error("u: expected as many columns as v has");
  const int64_t n = rows.size();
  const int64_t *i = row_numbers(rows, n, left.rows, "rows"),
                *j = row_numbers(columns, n, right.rows, "columns");
  py::array_t<double> dots(n);
  double* out = dots.mutable_data();
  const ReleaseGil release;
  edge_dots<T>(left, right, i, j, n, out, n_threads);
  return dots;
}

template <class T>
double contrast(const py::array& u, const py::array& v, const std::string& loss, double scale, double forward,
                double backward, const py::array& u_gradient, const py::array& v_gradient, int n_threads,
                const std::optional<PartnersArgument>& partners) {
  const auto left = matrix_view<const T>(u, "u"), right = matrix_view<const T>(v, "v");
  const auto of_left = matrix_view<T>(u_gradient, "u_gradient"),
             of_right = matrix_view<T>(v_gradient, "v_gradient");
  for (const auto& [rows, columns] :
       {std::pair{right.rows, right.cols}, {of_left.rows, of_left.cols}, {of_right.rows, of_right.cols}}) {
    if (rows != left.rows || columns != left.cols) throw py::value_error("u: expected all to have one shape");
  }
  if (loss != "softmax" && loss != "logistic") throw py::value_error("loss: unknown " + loss);
  const Contrast what{loss == "softmax" ? ContrastLoss::softmax : ContrastLoss::logistic, scale, forward,
                      backward, partners ? partners->view(left.rows) : Partners{}};
  const ReleaseGil release;
  return contrast_gradient<T>(left, right, what, of_left, of_right, active_isa(), n_threads);
}

template <class T>
py::array smooth_units(const py::array& rows, double floor, int n_threads) {
  const auto view = matrix_view<T>(rows, "rows");
  py::array_t<T> inverses(view.rows);
  T* data = inverses.mutable_data();
  const ReleaseGil release;
  smooth_unit_rows<T>(view, floor, data, n_threads);
  return inverses;
}

template <class T>
void through_units(const py::array& units, const py::array& inverses, const py::array& gradient,
                   int n_threads) {
  const auto rows = matrix_view<const T>(units, "units");
  const auto changed = matrix_view<T>(gradient, "gradient");
  const T* lengths = vector_data<T>(inverses, rows.rows, "inverses");
  if (changed.rows != rows.rows || changed.cols != rows.cols) throw py::value_error("gradient: wrong shape");
  const ReleaseGil release;
  through_unit_rows<T>(rows, lengths, changed, n_threads);
}

template <class T>
void adam(const py::array& projection, const py::array& first, const py::array& second, const py::array& rows,
          const py::array& gradient, double rate, double first_decay, double second_decay, int64_t step,
          int n_threads) {
  const auto changed = matrix_view<T>(projection, "projection");
  const auto means = matrix_view<T>(first, "first"), squares = matrix_view<T>(second, "second");
  const auto by = matrix_view<const T>(gradient, "gradient");
  const int64_t* which = vector_data<int64_t>(rows, by.rows, "rows");
  for (const auto& each : {means, squares}) {
    if (each.rows != changed.rows || each.cols != changed.cols) throw py::value_error("first: wrong shape");
  }
  if (by.cols != changed.cols) throw py::value_error("gradient: wrong shape");
  // Rows that rise are different ones: no two tasks write to the same.
  for (int64_t i = 0; i < by.rows; ++i) {
    if (which[i] < 0 || which[i] >= changed.rows || (i > 0 && which[i] <= which[i - 1])) {
      throw py::value_error("rows: expected rising numbers of rows");
    }
  }
  const ReleaseGil release;
  adam_rows<T>(changed, means, squares, which, by, {rate, first_decay, second_decay, step}, n_threads);
}

}  // namespace

void register_s2net(py::module_& m) {
  py::class_<PartnersArgument>(m, "PairPartners")
      .def(py::init<py::array, py::array, CsrArgument>(), py::arg("queries"), py::arg("documents"),
           py::arg("listed"));
  m.def("contrast_gradient", by_dtype(&contrast<float>, &contrast<double>), py::arg("u"), py::arg("v"),
        py::arg("loss"), py::arg("scale"), py::arg("forward"), py::arg("backward"), py::arg("u_gradient"),
        py::arg("v_gradient"), py::arg("n_threads"), py::arg("partners") = py::none());
  m.def("edge_dots", by_dtype(&dots_of<float>, &dots_of<double>), py::arg("u"), py::arg("v"), py::arg("rows"),
        py::arg("columns"), py::arg("n_threads"));
  m.def("smooth_unit_rows", by_dtype(&smooth_units<float>, &smooth_units<double>), py::arg("rows"),
        py::arg("floor"), py::arg("n_threads"));
  m.def("through_unit_rows", by_dtype(&through_units<float>, &through_units<double>), py::arg("units"),
        py::arg("inverses"), py::arg("gradient"), py::arg("n_threads"));
  m.def("adam_rows", by_dtype(&adam<float>, &adam<double>), py::arg("projection"), py::arg("first"),
        py::arg("second"), py::arg("rows"), py::arg("gradient"), py::arg("rate"), py::arg("first_decay"),
        py::arg("second_decay"), py::arg("step"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
