#include "models/bptf.h"

#include <pybind11/stl.h>

#include "bindings/bptf_arguments.h"
#include "kernels/rowsolve.h"

namespace semproj::bindings {
namespace {

struct CellSums {
  py::array_t<double> gram, sum;
};

// Rows of n_components numbers and zeros up to the padded length; the view's width is the components'.
template <class T>
MatrixView<T> padded_vectors(const py::array& a, int64_t n_components, const char* name) {
  auto view = matrix_view<T>(a, name);
  if (n_components < 1 || view.cols != padded(n_components) || view.stride != view.cols) {
    throw py::value_error(std::string(name) + ": expected contiguous rows of the padded length");
  }
  view.cols = n_components;
  return view;
}

template <class T>
int64_t draw(const py::array& vectors, int64_t n_components, const ListsArgument& lists,
             const ConditionalArgument& conditional, const ClassesArgument& classes, uint64_t seed,
             uint32_t sweep, int n_threads) {
  const auto v = padded_vectors<T>(vectors, n_components, "vectors");
  const WordLists<T> neighbors = lists.view<T>(v.rows);
  const WordConditional shared = conditional.view(n_components, lists.n_lists);
  const int32_t* words = words_of(classes.words, classes.words.size(), v.rows, "classes");
  const int64_t n_bounds = classes.bounds.size();
  const auto* bounds = vector_data<int64_t>(classes.bounds, n_bounds, "bounds");
  if (!rise_from_zero(bounds, n_bounds) || bounds[n_bounds - 1] > classes.words.size()) {
    throw py::value_error("bounds: must rise from 0 to at most the number of words");
  }
  const ReleaseGil release;
  return draw_words<T>(v, neighbors, shared, words, bounds, n_bounds - 1,
                       {seed, sweep, n_threads, active_isa()});
}

template <class T>
void grams(const py::array& vectors, int64_t n_components, const ListsArgument& lists, int64_t list,
           int64_t begin, const py::array& grams, const py::array& sums, int n_threads) {
  const auto v = padded_vectors<const T>(vectors, n_components, "vectors");
  const WordLists<T> neighbors = lists.view<T>(v.rows);
  const auto g = matrix_view<double>(grams, "grams"), s = matrix_view<double>(sums, "sums");
  const int64_t d = n_components;
  if (list < 0 || list >= lists.n_lists || begin < 0 || begin + g.rows > v.rows || s.rows != g.rows ||
      s.cols != d || g.cols != d * (d + 1) / 2) {
    throw py::value_error("grams: wrong shape");
  }
  const ReleaseGil release;
  list_grams<T>(v, neighbors, list, begin, g, s, n_threads, active_isa());
}

template <class T>
CellSums sums(const py::array& vectors, int64_t n_components, const py::array& rows, const py::array& cols,
              const py::array& values, int n_threads, const std::optional<py::array>& roots) {
  const auto v = padded_vectors<const T>(vectors, n_components, "vectors");
  const auto n = static_cast<int64_t>(rows.size());
  const int32_t *i = words_of(rows, n, v.rows, "rows"), *j = words_of(cols, n, v.rows, "cols");
  const T *r = vector_data<T>(values, n, "values"), *w = roots_of<T>(roots, n);
  CellSums found{py::array_t<double>({n_components, n_components}), py::array_t<double>(n_components)};
  double *gram = found.gram.mutable_data(), *sum = found.sum.mutable_data();
  const ReleaseGil release;
  cell_sums<T>(v, i, j, r, w, n, gram, sum, n_threads, active_isa());
  return found;
}

// Two tables of padded rows, and pairs of rows of them.
template <class T>
struct PairArguments {
  MatrixView<const T> left, right;
  int64_t n;
  const int32_t *rows, *cols;

  PairArguments(const py::array& l, const py::array& r, const py::array& i, const py::array& j)
      : left(matrix_view<const T>(l, "left")),
        right(matrix_view<const T>(r, "right")),
        n(static_cast<int64_t>(i.size())),
        rows(words_of(i, n, left.rows, "rows")),
        cols(words_of(j, n, right.rows, "cols")) {
    if (left.cols != right.cols || left.cols != padded(left.cols)) {
      throw py::value_error("right: expected rows of the same padded length as left");
    }
  }
};

template <class T>
py::array products(const py::array& left, const py::array& right, const py::array& rows,
                   const py::array& cols, int n_threads) {
  const PairArguments<T> pairs(left, right, rows, cols);
  py::array_t<T> out(pairs.n);
  T* into = out.mutable_data();
  {
    const ReleaseGil release;
    pair_products<T>(pairs.left, pairs.right, pairs.rows, pairs.cols, pairs.n, into, n_threads, active_isa());
  }
  return out;
}

template <class T>
Residuals residuals(const py::array& left, const py::array& right, const py::array& rows,
                    const py::array& cols, const py::array& values, int n_threads,
                    const std::optional<py::array>& roots) {
  const PairArguments<T> pairs(left, right, rows, cols);
  const T *observed = vector_data<T>(values, pairs.n, "values"), *w = roots_of<T>(roots, pairs.n);
  const ReleaseGil release;
  return residual_sums<T>(pairs.left, pairs.right, pairs.rows, pairs.cols, observed, w, pairs.n, n_threads,
                          active_isa());
}

}  // namespace

void register_bptf(py::module_& m) {
  py::class_<ConditionalArgument>(m, "WordConditional")
      .def(py::init<py::array, py::array, py::array, py::array, double>(), py::arg("precision"),
           py::arg("precision_mean"), py::arg("maps"), py::arg("diagonal"), py::arg("alpha"));
  py::class_<CellSums>(m, "CellSums")
      .def_readonly("gram", &CellSums::gram)
      .def_readonly("sum", &CellSums::sum);
  py::class_<Residuals>(m, "Residuals")
      .def_readonly("squares", &Residuals::squares)
      .def_readonly("sizes", &Residuals::sizes);
  m.def("draw_words", by_dtype(&draw<float>, &draw<double>), py::arg("vectors"), py::arg("n_components"),
        py::arg("lists"), py::arg("conditional"), py::arg("classes"), py::arg("seed"), py::arg("sweep"),
        py::arg("n_threads"));
  m.def("list_grams", by_dtype(&grams<float>, &grams<double>), py::arg("vectors"), py::arg("n_components"),
        py::arg("lists"), py::arg("list"), py::arg("begin"), py::arg("grams"), py::arg("sums"),
        py::arg("n_threads"));
  m.def("cell_sums", by_dtype(&sums<float>, &sums<double>), py::arg("vectors"), py::arg("n_components"),
        py::arg("rows"), py::arg("cols"), py::arg("values"), py::arg("n_threads"),
        py::arg("roots") = py::none());
  m.def("pair_products", by_dtype(&products<float>, &products<double>), py::arg("left"), py::arg("right"),
        py::arg("rows"), py::arg("cols"), py::arg("n_threads"));
  m.def("residual_sums", by_dtype(&residuals<float>, &residuals<double>), py::arg("left"), py::arg("right"),
        py::arg("rows"), py::arg("cols"), py::arg("values"), py::arg("n_threads"),
        py::arg("roots") = py::none());
}

}  // namespace semproj::bindings
