#pragma once
// A block of words on its way through a model: see ngram_model.h.

#include <cstdint>
#include <vector>

#include "lm/ngram_model.h"

namespace semproj::lm {

class NGramScratch {
 public:
  explicit NGramScratch(const NGramModel& model);

  // Adds a sentence; its sum is complete after the next flush, or several.
  void add(const SentenceRef& sentence, Bounds bounds, SentenceSum* sum, std::vector<WordResult>* words);
  // Scores what has been added.
  void flush();
  // Forgets all, after an exception.
  void clear();

 private:
  static constexpr int kBlock = 1024, kAhead = 16;

  struct PendingWord {
    WordKey key;
    const char* bytes;
    int64_t size;
  };
  // A sentence begins at `at`, with a word that is not scored; or goes on from the block before.
  struct Piece {
    int at;
    bool has_head;
    SentenceSum* sum;
    std::vector<WordResult>* words;
  };

  void begin_sentence(bool bos, SentenceSum* sum, std::vector<WordResult>* words);
  void add_text(const WordRef& text);
  void add_word(const char* bytes, int64_t size, int64_t readable);
  void add_id(uint32_t id);
  void find_words();
  void score_unigrams();
  void score_order(int order);
  void sum_up();
  int64_t& slot(int order, int i) { return slots_[static_cast<size_t>(order - 1) * (kBlock + 1) + i]; }
  float& backoff(int order, int i) { return backoffs_[static_cast<size_t>(order - 1) * (kBlock + 1) + i]; }

  const NGramModel& model_;
  int n_ = 0;  // words of this block; they are at 1 to n_, the last one of the block before at 0
  int n_pending_ = 0;
  std::vector<uint32_t> ids_;
  std::vector<float> log_probs_;
  std::vector<int32_t> orders_;
  std::vector<int64_t> slots_;   // of order 1, then of order 2, ...
  std::vector<float> backoffs_;  // the same
  std::vector<int> active_;
  std::vector<PendingWord> pending_;
  std::vector<Piece> pieces_;
};

}  // namespace semproj::lm
