#pragma once
// Words, their neighbours and their classes as they cross the binding.

#include <optional>

#include "bindings/bindings.h"
#include "models/bptf.h"

namespace semproj::bindings {

// Numbers of words, all of them below n_words.
inline const int32_t* words_of(const py::array& a, int64_t size, int64_t n_words, const char* name) {
  const auto* words = vector_data<int32_t>(a, size, name);
  if (!all_in_range(words, size, n_words)) {
    throw py::value_error(std::string(name) + ": words out of range");
  }
  return words;
}

inline const int64_t* bounds_of(const py::array& indptr, int64_t size, int64_t n_neighbors) {
  const auto* bounds = vector_data<int64_t>(indptr, size, "indptr");
  if (!rise_from_zero(bounds, size) || bounds[size - 1] != n_neighbors) {
    throw py::value_error("indptr: must rise from 0 to the number of neighbours");
  }
  return bounds;
}

// Roots of the precisions of so many cells, if they have any.
template <class T>
const T* roots_of(const std::optional<py::array>& roots, int64_t size) {
  return roots ? vector_data<T>(*roots, size, "roots") : nullptr;
}

// `NeighborLists` in Python: see bptf_graph.h.
struct ListsArgument {
  py::array indptr, words, values, roots;
  int64_t n_lists;

  template <class T>
  WordLists<T> view(int64_t n_words) const {
    return {bounds_of(indptr, n_words * n_lists + 1, words.size()),
            words_of(words, words.size(), n_words, "words"), vector_data<T>(values, words.size(), "values"),
            n_lists, roots.size() > 0 ? vector_data<T>(roots, words.size(), "roots") : nullptr};
  }
};

// `WordClasses` in Python: words that may be drawn together, class by class.
struct ClassesArgument {
  py::array words, bounds;
};

// `WordConditional` in Python: see models/bptf.h. Holds references to the arrays.
struct ConditionalArgument {
  py::array precision, precision_mean, maps, diagonal;
  double alpha;

  WordConditional view(int64_t d, int64_t n_lists) const {
    return {vector_data<double>(precision, d * d, "precision"),
            vector_data<double>(precision_mean, d, "precision_mean"),
            vector_data<double>(maps, n_lists * d * d, "maps"),
            vector_data<unsigned char>(diagonal, n_lists, "diagonal"), alpha};
  }
};

}  // namespace semproj::bindings
