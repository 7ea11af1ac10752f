#pragma once

#include <algorithm>
#include <vector>

#include "bindings/bindings.h"
#include "lm/ngram_builder.h"

namespace semproj::bindings {

// The arrays of a model: those of a builder, or of a file.
struct NGramTables {
  py::array word_slots;           // int64, two of each slot
  uint64_t seed = 0;              // of the hash of words
  py::array unigrams;             // float32, log_prob and back-off of each word
  std::vector<py::array> tables;  // int64, eight of each line, from order 2 up
  std::vector<int64_t> counts;    // n-grams of each order
  py::array codebooks;            // float32, 2 x 256 for each table; empty without
};

// What 8 bits stand for, checked.
inline std::vector<lm::Codebook> codebooks_of(const py::array& codes) {
  std::vector<lm::Codebook> books(static_cast<size_t>(codes.size() / 512));
  const float* values = vector_data<float>(codes, static_cast<int64_t>(books.size()) * 512, "codebooks");
  for (size_t i = 0; i < books.size(); ++i) {
    std::copy_n(values + 512 * i, 256, books[i].log_probs.begin());
    std::copy_n(values + 512 * i + 256, 256, books[i].backoffs.begin());
    const auto& b = books[i].backoffs;
    if (!std::is_sorted(books[i].log_probs.begin(), books[i].log_probs.end()) ||
        !std::is_sorted(b.begin() + 2, b.end()) || b[0] != 0 || b[1] != 0) {
      throw py::value_error("codebooks: expected values that rise, and two zeros before those of back-offs");
    }
  }
  return books;
}

}  // namespace semproj::bindings
