#include "models/bptf_graph.h"

#include <pybind11/stl.h>

#include "bindings/bptf_arguments.h"

namespace semproj::bindings {
namespace {

// Cells of one slice, and the lists that their rows and their columns have them in.
struct CellsArgument {
  py::array rows, cols, values;
  int64_t row_list, col_list;
  std::optional<py::array> roots;
};

struct PairArrays {
  py::array_t<int32_t> rows, cols;
};

template <class T>
ListsArgument lists(const std::vector<CellsArgument>& slices, int64_t n_words, int64_t n_lists,
                    int n_threads) {
  std::vector<Cells<T>> cells;
  for (const CellsArgument& slice : slices) {
    const auto n = static_cast<int64_t>(slice.rows.size());
    if (std::min(slice.row_list, slice.col_list) < 0 || std::max(slice.row_list, slice.col_list) >= n_lists) {
      throw py::value_error("slices: list out of range");
    }
    cells.push_back({words_of(slice.rows, n, n_words, "rows"), words_of(slice.cols, n, n_words, "cols"),
                     vector_data<T>(slice.values, n, "values"), n, slice.row_list, slice.col_list,
                     roots_of<T>(slice.roots, n)});
  }
  NeighborLists<T> found;
  {
    const ReleaseGil release;
    found = neighbor_lists<T>(cells, n_words, n_lists, n_threads);
  }
  return {array_of(std::move(found.indptr)), array_of(std::move(found.words)),
          array_of(std::move(found.values)), array_of(std::move(found.roots)), n_lists};
}

ListsArgument lists_by_dtype(const std::vector<CellsArgument>& slices, int64_t n_words, int64_t n_lists,
                             int n_threads) {
  if (n_words < 0) throw py::value_error("n_words: expected at least 0");
  if (n_lists < 1) throw py::value_error("n_lists: expected at least 1");
  const bool wide = !slices.empty() && has_dtype<double>(slices[0].values);
  return (wide ? &lists<double> : &lists<float>)(slices, n_words, n_lists, n_threads);
}

ClassesArgument classes(const py::array& indptr, const py::array& words) {
  const int64_t n_words = indptr.size() - 1;
  const int64_t* bounds = bounds_of(indptr, indptr.size(), words.size());
  const int32_t* neighbors = words_of(words, words.size(), n_words, "words");
  WordClasses found;
  {
    const ReleaseGil release;
    found = color_classes(bounds, neighbors, n_words);
  }
  return {array_of(std::move(found.words)), array_of(std::move(found.bounds))};
}

PairArrays pairs(const py::array& candidates, int64_t n_words, int64_t n, bool ordered,
                 const py::array& excluded, uint64_t seed, uint32_t sweep, uint32_t slice, int n_threads) {
  const auto n_candidates = static_cast<int64_t>(candidates.size());
  const auto n_excluded = static_cast<int64_t>(excluded.size());
  const PairDraw draw{.candidates = words_of(candidates, n_candidates, n_words, "candidates"),
                      .n_candidates = n_candidates,
                      .n_words = n_words,
                      .ordered = ordered,
                      .excluded = vector_data<int64_t>(excluded, n_excluded, "excluded"),
                      .n_excluded = n_excluded,
                      .seed = seed,
                      .sweep = sweep,
                      .slice = slice};
  if (n < 0 || n > UINT32_MAX) throw py::value_error("n: out of range");
  WordPairs found;
  {
    const ReleaseGil release;
    found = draw_pairs(draw, n, n_threads);
  }
  return {array_of(std::move(found.rows)), array_of(std::move(found.cols))};
}

}  // namespace

void register_bptf_graph(py::module_& m) {
  py::class_<CellsArgument>(m, "SliceCells")
      .def(py::init<py::array, py::array, py::array, int64_t, int64_t, std::optional<py::array>>(),
           py::arg("rows"), py::arg("cols"), py::arg("values"), py::arg("row_list"), py::arg("col_list"),
           py::arg("roots") = py::none());
  py::class_<ListsArgument>(m, "NeighborLists")
      .def_readonly("indptr", &ListsArgument::indptr)
      .def_readonly("words", &ListsArgument::words)
      .def_readonly("values", &ListsArgument::values)
      .def_readonly("roots", &ListsArgument::roots)
      .def_readonly("n_lists", &ListsArgument::n_lists);
  py::class_<ClassesArgument>(m, "WordClasses")
      .def(py::init<py::array, py::array>(), py::arg("words"), py::arg("bounds"))
      .def_readonly("words", &ClassesArgument::words)
      .def_readonly("bounds", &ClassesArgument::bounds);
  py::class_<PairArrays>(m, "WordPairs")
      .def_readonly("rows", &PairArrays::rows)
      .def_readonly("cols", &PairArrays::cols);
  m.def("neighbor_lists", &lists_by_dtype, py::arg("slices"), py::arg("n_words"), py::arg("n_lists"),
        py::arg("n_threads"));
  m.def("color_classes", &classes, py::arg("indptr"), py::arg("words"));
  m.def("draw_pairs", &pairs, py::arg("candidates"), py::arg("n_words"), py::arg("n"), py::arg("ordered"),
        py::arg("excluded"), py::arg("seed"), py::arg("sweep"), py::arg("slice"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
