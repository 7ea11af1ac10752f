#pragma once
// The arrays of a recurrent language model, as views.

#include <array>
#include <tuple>
#include <type_traits>

#include "bindings/bindings.h"
#include "lm/rnnlm.h"

namespace semproj::bindings {

// The arrays of a network, or an optimiser's sums of each.
struct RnnWeightsArgument {
  py::array input, recurrent, classes, words, hidden_bias, class_bias, word_bias;

  template <class T>
  RnnWeights<T> view() const {
    using Plain = std::remove_const_t<T>;
    const auto matrices = std::array{matrix_view<T>(input, "input"), matrix_view<T>(recurrent, "recurrent"),
                                     matrix_view<T>(classes, "classes"), matrix_view<T>(words, "words")};
    const auto vector = [](const py::array& a, int64_t size, const char* name) {
      if constexpr (std::is_const_v<T>) {
        return vector_data<Plain>(a, size, name);
      } else {
        return output_data<Plain>(a, size, name);
      }
    };
    return {matrices[0],
            matrices[1],
            matrices[2],
            matrices[3],
            vector(hidden_bias, matrices[1].rows, "hidden_bias"),
            vector(class_bias, matrices[2].rows, "class_bias"),
            vector(word_bias, matrices[3].rows, "word_bias")};
  }
};

template <class T>
void check_widths(const RnnWeights<T>& w) {
  const int64_t h = w.recurrent.cols;
  if (w.recurrent.rows < 1 || h < w.recurrent.rows)
    throw py::value_error("recurrent: expected at least as many columns as rows");
  for (const auto& m : {w.input, w.recurrent, w.classes, w.words}) {
    if (m.cols != h) throw py::value_error("recurrent: expected all matrices to have as many columns");
  }
}

template <class T>
void check_sums(const RnnWeights<T>& sums, const RnnWeights<T>& w) {
  const int64_t kinds = w.recurrent.cols > w.recurrent.rows ? 2 : 1;  // of units
  for (const auto& [a, b, few] :
       {std::tuple{sums.input, w.input, kinds}, std::tuple{sums.recurrent, w.recurrent, int64_t{1}},
        std::tuple{sums.classes, w.classes, int64_t{1}}, std::tuple{sums.words, w.words, int64_t{1}}}) {
    if (a.rows != b.rows || (a.cols != few && a.cols != b.cols)) throw py::value_error("sums: wrong shape");
  }
}

struct RnnClassesArgument {
  py::array class_begin, place_of, class_of;

  WordClassing view(int64_t n_ids, int64_t n_classes, int64_t n_places) const {
    const int64_t* begin = vector_data<int64_t>(class_begin, n_classes + 1, "class_begin");
    if (n_classes < 1 || !rise_from_zero(begin, n_classes + 1) || begin[n_classes] != n_places) {
      throw py::value_error("class_begin: expected offsets of all words");
    }
    const WordClassing classing{begin, n_classes, vector_data<int32_t>(place_of, n_ids, "place_of"),
                                vector_data<int32_t>(class_of, n_ids, "class_of")};
    for (int64_t id = 0; id < n_ids; ++id) {
      const int64_t place = classing.place_of[id], c = classing.class_of[id];
      if (place < 0) continue;
      if (c < 0 || c >= n_classes || place < begin[c] || place >= begin[c + 1]) {
        throw py::value_error("place_of: expected a place within the word's class");
      }
    }
    return classing;
  }
};

inline const int32_t* checked_ids(const py::array& ids, const WordClassing& classing, int64_t n_ids,
                                  const char* name) {
  const int64_t size = ids.size();
  const int32_t* data = vector_data<int32_t>(ids, size, name);
  if (!all_in_range(data, size, n_ids)) throw py::value_error(std::string(name) + ": out of range");
  for (int64_t i = 0; i < size; ++i) {
    if (classing.place_of[data[i]] < 0) throw py::value_error(std::string(name) + ": a word without a place");
  }
  return data;
}

}  // namespace semproj::bindings
