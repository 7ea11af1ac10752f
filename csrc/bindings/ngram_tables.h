#pragma once

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

}  // namespace semproj::bindings
