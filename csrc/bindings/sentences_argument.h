#pragma once
// Sentences of word numbers, from Python.

#include <span>

#include "bindings/bindings.h"

namespace semproj::bindings {

struct SentencesView {
  std::span<const int64_t> starts;
  std::span<const int32_t> ids;
};

// Offsets of all sentences, and the words in them, below n_words.
inline SentencesView sentences_view(const py::array& starts, const py::array& ids, int64_t n_words) {
  const auto n = static_cast<int64_t>(starts.size()), n_ids = static_cast<int64_t>(ids.size());
  const int64_t* offsets = vector_data<int64_t>(starts, n, "starts");
  const int32_t* numbers = vector_data<int32_t>(ids, n_ids, "ids");
  if (!rise_from_zero(offsets, n) || offsets[n - 1] != n_ids) {
    throw py::value_error("starts: expected offsets of ids");
  }
  if (!all_in_range(numbers, n_ids, n_words)) throw py::value_error("ids: out of range");
  return {{offsets, static_cast<size_t>(n)}, {numbers, static_cast<size_t>(n_ids)}};
}

}  // namespace semproj::bindings
