#pragma once
// How often each word follows each other one, in sentences whose words are numbers.

#include <cstdint>
#include <span>
#include <vector>

namespace semproj::lm {

// Row w has the words that are beside word w on one side, rising, and how often they are.
struct Neighbors {
  std::vector<int64_t> starts;  // one more than words
  std::vector<int32_t> words;
  std::vector<int32_t> counts;
};

struct WordPairs {
  Neighbors after, before;
};

// Sentence s is ids[starts[s] .. starts[s + 1]). `boundary` comes before the first one and after each: what
// is counted is one long circle. Cost: a few steps for each token, n log n for the words after one word.
// Memory meanwhile: 4 bytes a token.
WordPairs count_word_pairs(std::span<const int64_t> starts, std::span<const int32_t> ids, int64_t n_words,
                           int32_t boundary, int n_threads);

}  // namespace semproj::lm
