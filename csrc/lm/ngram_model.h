#pragma once
// Queries of a back-off model: the probability of a word after those before it, and sums over sentences.
//
//   p(w | h) = p of the longest n-gram that ends h w, times the back-offs of all longer contexts that end h.
//
// A word w_i is looked up order by order. Its n-gram of order k has the slot of the n-gram of order k - 1
// that ends at w_{i-1} in its key. That is known for all words of a block once order k - 1 is done, so that
// all look-ups of one order are independent: lines of the cache are asked for a dozen words ahead, in one
// long sentence as in many short ones. About 100 instructions and one line a word and order, and only for
// contexts from which something goes on.
//
// Log_probs are float32, sums over sentences float64 in the order of their words.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "lm/gram_table.h"
#include "lm/ngram_sink.h"
#include "lm/word_table.h"

namespace semproj::lm {

// A sentence that white space divides, or one that is cut into words already.
struct WordRef {
  const char* bytes;
  int64_t size;
};
struct SentenceRef {
  WordRef text;
  std::span<const WordRef> words;
  bool is_cut;
};

struct SentenceSum {
  double log_prob = 0, unknown_log_prob = 0;
  int64_t words = 0, unknown_words = 0;
};

struct Bounds {
  bool bos, eos;
};

// What a model knows of the words before: those from which something goes on, the latest first.
struct NGramState {
  int32_t length = 0;
  uint32_t words[kMaxOrder - 1] = {};
  int64_t slots[kMaxOrder - 1] = {};  // of the n-grams of length 1, 2, ...; kNoSlot where there is none
  float backoffs[kMaxOrder - 1] = {};
};

struct WordResult {
  float log_prob;
  int32_t order;
  bool unknown;
};

class NGramScratch;

// Does not own the tables' memory.
class NGramModel {
 public:
  // unigrams: log_prob and back-off of each word. tables: from order 2 up.
  NGramModel(WordTable words, const float* unigrams, std::vector<GramTable> tables);
  ~NGramModel();

  int order() const { return static_cast<int>(tables_.size()) + 1; }
  const WordTable& words() const { return words_; }
  const float* unigrams() const { return unigrams_; }
  const std::vector<GramTable>& tables() const { return tables_; }

  // One sentence, on the calling thread. `words`, if there is one, gets an entry for each word that is
  // scored.
  SentenceSum score(const SentenceRef& sentence, Bounds bounds, std::vector<WordResult>* words) const;
  void score_batch(std::span<const SentenceRef> sentences, Bounds bounds, SentenceSum* sums,
                   int n_threads) const;

  NGramState empty_state() const { return {}; }
  NGramState begin_state() const;
  WordResult advance(const NGramState& state, uint32_t word, NGramState* next) const;

  // The n-gram's slot in the table of its order, above 1; kNoSlot if it or a part of it from the left is not
  // there.
  int64_t find(std::span<const uint32_t> words) const;

 private:
  std::unique_ptr<NGramScratch> take_scratch() const;
  void give_back(std::unique_ptr<NGramScratch> scratch) const;

  WordTable words_;
  const float* unigrams_;
  std::vector<GramTable> tables_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<NGramScratch>> idle_;  // to allocate takes longer than a short sentence
};

}  // namespace semproj::lm
