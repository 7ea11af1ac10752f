#pragma once
// A text as two arrays, for models that go over it again and again.

#include <cstdint>

#include "lm/ngram_text.h"

namespace semproj::lm {

// The chosen numbers of all words, and where sentences begin and the last one ends: ids[starts[s]] is the
// first word of sentence s. With ends, each sentence has its end as its last word. Of a text whose words are
// chosen.
struct NumberedText {
  int32_t* ids;     // n_words, and n_sentences more with ends
  int64_t* starts;  // n_sentences + 1
};

void number_text(const NGramText& text, bool with_ends, int n_threads, const NumberedText& to);

}  // namespace semproj::lm
