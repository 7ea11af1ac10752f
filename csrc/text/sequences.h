#pragma once
// Documents to the columns of their words, in the order of the text.

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenize.h"
#include "text/vocabulary.h"

namespace semproj::text {

struct Sequences {
  std::vector<int64_t> starts;  // one more than documents
  std::vector<int32_t> ids;     // the vocabulary's size where a word has no column
};

// `first_number` is what messages call the first of these documents.
Sequences word_sequences(const Vocabulary& vocabulary, std::span<const DocumentRef> documents, bool lowercase,
                         bool replace_errors, int64_t first_number, int n_threads);

}  // namespace semproj::text
