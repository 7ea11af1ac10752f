#include "text/sequences.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/parallel.h"

namespace semproj::text {
namespace {

constexpr int64_t kGrain = 512;  // documents in one task

struct Part {
  std::vector<int32_t> ids;
  std::vector<int64_t> ends;  // of each document, in ids
};

}  // namespace

Sequences word_sequences(const Vocabulary& vocabulary, std::span<const DocumentRef> documents, bool lowercase,
                         bool replace_errors, int64_t first_number, int n_threads) {
  if (vocabulary.size() >= std::numeric_limits<int32_t>::max()) {
    throw std::length_error("vocabulary: more terms than 32 bits can number");
  }
  const auto n = static_cast<int64_t>(documents.size());
  std::vector<Part> parts(block_count(n, kGrain));
  parallel_for(static_cast<int64_t>(parts.size()), n_threads, [&](int64_t task, int) {
    const Block block = block_at(n, kGrain, task);
    Part& part = parts[task];
    Tokenizer tokenizer(lowercase, replace_errors);
    std::vector<uint32_t> found;
    Patience patience;
    for (int64_t d = block.begin; d < block.end; ++d) {
      tokenizer.start(documents[d], first_number + d);
      for (Spans words; tokenizer.next(&words);) {
        if (static_cast<int64_t>(found.size()) < words.count) found.resize(2 * words.count);
        vocabulary.terms.find(words, found.data());
        patience.spend(16 * words.count);
        part.ids.insert(part.ids.end(), found.begin(), found.begin() + words.count);
      }
      part.ends.push_back(static_cast<int64_t>(part.ids.size()));
    }
  });
  Sequences result{{0}, {}};
  result.starts.reserve(n + 1);
  size_t n_ids = 0;
  for (const Part& part : parts) n_ids += part.ids.size();
  result.ids.reserve(n_ids);
  for (Part& part : parts) {
    const auto before = static_cast<int64_t>(result.ids.size());
    for (const int64_t end : part.ends) result.starts.push_back(before + end);
    result.ids.insert(result.ids.end(), part.ids.begin(), part.ids.end());
    part = Part();
  }
  return result;
}

}  // namespace semproj::text
