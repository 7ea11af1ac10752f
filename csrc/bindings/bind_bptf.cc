#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "kernels/rowsolve.h"
#include "models/bptf.h"
#include "models/bptf_graph.h"

namespace semproj::bindings {
namespace {

// Takes the memory along.
template <class T>
py::array_t<T> array_of(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const py::capsule owner(kept, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array_t<T>(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
}

const int32_t* words_of(const py::array& a, int64_t size, int64_t n_words, const char* name) {
  const auto* words = vector_data<int32_t>(a, size, name);
  if (std::any_of(words, words + size, [&](int32_t w) { return w < 0 || w >= n_words; })) {
    throw py::value_error(std::string(name) + ": words out of range");
  }
  return words;
}

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
WordLists<T> lists_of(const py::array& indptr, const py::array& words, const py::array& values,
                      int64_t n_words, int64_t n_lists) {
  if (n_lists < 1) throw py::value_error("n_lists: expected at least 1");
  const auto* bounds = vector_data<int64_t>(indptr, n_words * n_lists + 1, "indptr");
  if (bounds[0] != 0 || !std::is_sorted(bounds, bounds + indptr.size()) ||
      bounds[indptr.size() - 1] != words.size()) {
    throw py::value_error("indptr: must rise from 0 to the number of neighbours");
  }
  return {bounds, words_of(words, words.size(), n_words, "words"),
          vector_data<T>(values, words.size(), "values"), n_lists};
}

using SliceTuple = std::tuple<py::array, py::array, py::array, int64_t, int64_t>;

template <class T>
py::tuple lists(const std::vector<SliceTuple>& slices, int64_t n_words, int64_t n_lists, int n_threads) {
  std::vector<Cells<T>> cells;
  for (const auto& [rows, cols, values, row_list, col_list] : slices) {
    const auto n = static_cast<int64_t>(rows.size());
    if (std::min(row_list, col_list) < 0 || std::max(row_list, col_list) >= n_lists) {
      throw py::value_error("slices: list out of range");
    }
    cells.push_back({words_of(rows, n, n_words, "rows"), words_of(cols, n, n_words, "cols"),
                     vector_data<T>(values, n, "values"), n, row_list, col_list});
  }
  Neighbours<T> found;
  {
    const py::gil_scoped_release release;
    found = neighbour_lists<T>(cells, n_words, n_lists, n_threads);
  }
  return py::make_tuple(array_of(std::move(found.indptr)), array_of(std::move(found.words)),
                        array_of(std::move(found.values)));
}

py::tuple classes(const py::array& indptr, const py::array& words) {
  const int64_t n_words = indptr.size() - 1;
  const auto checked = lists_of<int32_t>(indptr, words, words, n_words, 1);
  Classes found;
  {
    const py::gil_scoped_release release;
    found = colour_classes(checked.indptr, checked.words, n_words);
  }
  return py::make_tuple(array_of(std::move(found.words)), array_of(std::move(found.bounds)));
}

py::tuple pairs(const py::array& words, int64_t n_words, int64_t n, bool ordered, const py::array& excluded,
                uint64_t seed, uint32_t sweep, uint32_t slice, int n_threads) {
  const auto n_known = static_cast<int64_t>(words.size()), n_excluded = static_cast<int64_t>(excluded.size());
  const PairDraw draw{words_of(words, n_known, n_words, "words"),
                      n_known,
                      n_words,
                      ordered,
                      vector_data<int64_t>(excluded, n_excluded, "excluded"),
                      n_excluded,
                      seed,
                      sweep,
                      slice};
  if (n < 0 || n > UINT32_MAX) throw py::value_error("n: out of range");
  std::pair<std::vector<int32_t>, std::vector<int32_t>> found;
  {
    const py::gil_scoped_release release;
    found = draw_pairs(draw, n, n_threads);
  }
  return py::make_tuple(array_of(std::move(found.first)), array_of(std::move(found.second)));
}

template <class T>
int64_t draw(const py::array& vectors, int64_t n_components, const py::tuple& lists, int64_t n_lists,
             const py::tuple& prior, const py::tuple& classes, uint64_t seed, uint32_t sweep, int n_threads) {
  const auto v = padded_vectors<T>(vectors, n_components, "vectors");
  const auto checked = lists_of<T>(lists[0], lists[1], lists[2], v.rows, n_lists);
  const int64_t d = n_components;
  const WordPrior known{vector_data<double>(prior[0], d * d, "precision"),
                        vector_data<double>(prior[1], d, "precision_mean"),
                        vector_data<double>(prior[2], n_lists * d * d, "maps"),
                        vector_data<unsigned char>(prior[3], n_lists, "diagonal"), prior[4].cast<double>()};
  const auto order = classes[0].cast<py::array>(), ends = classes[1].cast<py::array>();
  const int32_t* words = words_of(order, order.size(), v.rows, "classes");
  const auto* bounds = vector_data<int64_t>(ends, ends.size(), "bounds");
  if (ends.size() < 1 || bounds[0] != 0 || !std::is_sorted(bounds, bounds + ends.size()) ||
      bounds[ends.size() - 1] > order.size()) {
    throw py::value_error("bounds: must rise from 0 to at most the number of words");
  }
  const py::gil_scoped_release release;
  return draw_words<T>(v, checked, known, words, bounds, ends.size() - 1,
                       {seed, sweep, n_threads, active_isa()});
}

template <class T>
void grams(const py::array& vectors, int64_t n_components, const py::tuple& lists, int64_t n_lists,
           int64_t list, int64_t begin, const py::array& grams, const py::array& sums, int n_threads) {
  const auto v = padded_vectors<const T>(vectors, n_components, "vectors");
  const auto checked = lists_of<T>(lists[0], lists[1], lists[2], v.rows, n_lists);
  const auto g = matrix_view<double>(grams, "grams"), s = matrix_view<double>(sums, "sums");
  const int64_t d = n_components;
  if (list < 0 || list >= n_lists || begin < 0 || begin + g.rows > v.rows || s.rows != g.rows ||
      s.cols != d || g.cols != d * (d + 1) / 2) {
    throw py::value_error("grams: wrong shape");
  }
  const py::gil_scoped_release release;
  list_grams<T>(v, checked, list, begin, g, s, n_threads, active_isa());
}

template <class T>
py::tuple sums(const py::array& vectors, int64_t n_components, const py::array& rows, const py::array& cols,
               const py::array& values, int n_threads) {
  const auto v = padded_vectors<const T>(vectors, n_components, "vectors");
  const auto n = static_cast<int64_t>(rows.size());
  const int32_t *i = words_of(rows, n, v.rows, "rows"), *j = words_of(cols, n, v.rows, "cols");
  const T* r = vector_data<T>(values, n, "values");
  py::array_t<double> gram({n_components, n_components}), sum(n_components);
  double *g = gram.mutable_data(), *s = sum.mutable_data();
  {
    const py::gil_scoped_release release;
    cell_sums<T>(v, i, j, r, n, g, s, n_threads, active_isa());
  }
  return py::make_tuple(gram, sum);
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
py::array_t<T> products(const py::array& left, const py::array& right, const py::array& rows,
                        const py::array& cols, int n_threads) {
  const PairArguments<T> pairs(left, right, rows, cols);
  py::array_t<T> out(pairs.n);
  T* into = out.mutable_data();
  {
    const py::gil_scoped_release release;
    pair_products<T>(pairs.left, pairs.right, pairs.rows, pairs.cols, pairs.n, into, n_threads, active_isa());
  }
  return out;
}

template <class T>
py::tuple residuals(const py::array& left, const py::array& right, const py::array& rows,
                    const py::array& cols, const py::array& values, int n_threads) {
  const PairArguments<T> pairs(left, right, rows, cols);
  const T* known = vector_data<T>(values, pairs.n, "values");
  Residuals found{};
  {
    const py::gil_scoped_release release;
    found = residual_sums<T>(pairs.left, pairs.right, pairs.rows, pairs.cols, known, pairs.n, n_threads,
                             active_isa());
  }
  return py::make_tuple(found.squares, found.sizes);
}

bool is_double(const py::array& a) {
  return py::isinstance<py::array_t<double>>(a);
}

}  // namespace

void register_bptf(py::module_& m) {
  m.def(
      "neighbour_lists",
      [](const std::vector<SliceTuple>& slices, int64_t n_words, int64_t n_lists, int n_threads) {
        const bool wide = !slices.empty() && is_double(std::get<2>(slices[0]));
        return wide ? lists<double>(slices, n_words, n_lists, n_threads)
                    : lists<float>(slices, n_words, n_lists, n_threads);
      },
      py::arg("slices"), py::arg("n_words"), py::arg("n_lists"), py::arg("n_threads"));
  m.def("colour_classes", &classes, py::arg("indptr"), py::arg("words"));
  m.def("draw_pairs", &pairs, py::arg("words"), py::arg("n_words"), py::arg("n"), py::arg("ordered"),
        py::arg("excluded"), py::arg("seed"), py::arg("sweep"), py::arg("slice"), py::arg("n_threads"));
  m.def(
      "draw_words",
      [](const py::array& vectors, int64_t n_components, const py::tuple& lists, int64_t n_lists,
         const py::tuple& prior, const py::tuple& classes, uint64_t seed, uint32_t sweep, int n_threads) {
        const auto chosen = is_double(vectors) ? &draw<double> : &draw<float>;
        return chosen(vectors, n_components, lists, n_lists, prior, classes, seed, sweep, n_threads);
      },
      py::arg("vectors"), py::arg("n_components"), py::arg("lists"), py::arg("n_lists"), py::arg("prior"),
      py::arg("classes"), py::arg("seed"), py::arg("sweep"), py::arg("n_threads"));
  m.def(
      "list_grams",
      [](const py::array& vectors, int64_t n_components, const py::tuple& lists, int64_t n_lists,
         int64_t list, int64_t begin, const py::array& out, const py::array& sums, int n_threads) {
        const auto chosen = is_double(vectors) ? &grams<double> : &grams<float>;
        chosen(vectors, n_components, lists, n_lists, list, begin, out, sums, n_threads);
      },
      py::arg("vectors"), py::arg("n_components"), py::arg("lists"), py::arg("n_lists"), py::arg("list"),
      py::arg("begin"), py::arg("grams"), py::arg("sums"), py::arg("n_threads"));
  m.def(
      "cell_sums",
      [](const py::array& vectors, int64_t n_components, const py::array& rows, const py::array& cols,
         const py::array& values, int n_threads) {
        const auto chosen = is_double(vectors) ? &sums<double> : &sums<float>;
        return chosen(vectors, n_components, rows, cols, values, n_threads);
      },
      py::arg("vectors"), py::arg("n_components"), py::arg("rows"), py::arg("cols"), py::arg("values"),
      py::arg("n_threads"));
  m.def(
      "pair_products",
      [](const py::array& left, const py::array& right, const py::array& rows, const py::array& cols,
         int n_threads) -> py::array {
        if (is_double(left)) return products<double>(left, right, rows, cols, n_threads);
        return products<float>(left, right, rows, cols, n_threads);
      },
      py::arg("left"), py::arg("right"), py::arg("rows"), py::arg("cols"), py::arg("n_threads"));
  m.def(
      "residual_sums",
      [](const py::array& left, const py::array& right, const py::array& rows, const py::array& cols,
         const py::array& values, int n_threads) {
        const auto chosen = is_double(left) ? &residuals<double> : &residuals<float>;
        return chosen(left, right, rows, cols, values, n_threads);
      },
      py::arg("left"), py::arg("right"), py::arg("rows"), py::arg("cols"), py::arg("values"),
      py::arg("n_threads"));
}

}  // namespace semproj::bindings
