#pragma once
// Reads the n-grams of a model back from its tables.

#include <cstdint>
#include <vector>

#include "lm/ngram_model.h"
#include "lm/ngram_sink.h"

namespace semproj::lm {

struct ListedNGrams {
  std::vector<uint32_t> words;  // order ids for each, in reading order
  std::vector<float> log_probs, backoffs;
};

// The n-grams of an order above 1 in slots [begin, end). Throws std::invalid_argument where a table holds
// what no builder has put there.
ListedNGrams list_ngrams(const NGramModel& model, int order, int64_t begin, int64_t end);

// All n-grams, for another storage: orders from the lowest up, each in the order of its slots.
void send_all(const NGramModel& model, const std::vector<int64_t>& counts, NGramSink* sink);

}  // namespace semproj::lm
