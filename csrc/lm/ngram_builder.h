#pragma once
// Takes the n-grams of a model and makes its tables: see gram_table.h.
//
// Orders are stored from the lowest up: the key of an n-gram has the slot of its context. Without a limit of
// memory all n-grams wait for the last one, and contexts that are missing, as files may have it, are added
// with the probability that the model gives them without. With one, orders come one after the other and lack
// nothing, as our estimator has it: their contexts are looked up as they come, and only one order waits, 32
// bytes an n-gram with what sorting needs. The bytes of the tables follow from the order in which n-grams
// come, not from the number of threads.
//
// An n-gram of order k costs k - 2 look-ups, which are under way side by side, and its place in the table.

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lm/gram_filling.h"
#include "lm/gram_table.h"
#include "lm/ngram_sink.h"
#include "lm/pages.h"

namespace semproj::lm {

struct BuilderOptions {
  int n_threads = 1;
  std::vector<Codebook> codebooks = {};  // from order 2 up; none: float32
  int64_t memory = 0;                    // bytes; an order that needs more goes to files. 0: no limit
  std::string folder = {};               // of these files
};

struct BuiltTable {
  Pages lines;
  int64_t n_lines = 0, n_grams = 0;
};

struct BuiltModel {
  BuiltModel() = default;
  BuiltModel(BuiltModel&&) = default;
  BuiltModel& operator=(BuiltModel&&) = default;

  std::vector<float> unigrams;  // log_prob, back-off of each word
  std::vector<BuiltTable> tables;
};

// An n-gram came twice: the second time as number `index` of its order.
class DuplicateNGram : public std::invalid_argument {
 public:
  DuplicateNGram(int order, int64_t index);
  int order;
  int64_t index;
};

int bits_for(int64_t n);  // of a number below n, at least 1

class NGramSpill;

class NGramBuilder : public NGramSink {
 public:
  explicit NGramBuilder(BuilderOptions options);
  ~NGramBuilder() override;

  NGramBuilder(const NGramBuilder&) = delete;
  NGramBuilder& operator=(const NGramBuilder&) = delete;

  void begin(std::span<const int64_t> counts_by_order) override;
  void add(int order, int64_t n, const uint32_t* words, const float* log_prob,
           const float* log_backoff) override;
  void end() override;

  BuiltModel take() { return std::move(built_); }

 private:
  struct Rows {
    std::vector<uint32_t> words;  // unless orders come in turn
    std::vector<uint64_t> keys;   // of the context's slot and the last word
    std::vector<float> log_probs, backoffs;
    int64_t given = 0;  // those after it have been added
    int64_t size() const { return static_cast<int64_t>(log_probs.size()); }
  };

  int max_order() const { return static_cast<int>(rows_.size()); }
  int prob_bits() const { return options_.codebooks.empty() ? 31 : 8; }
  int backoff_bits(int order) const {
    if (order == max_order()) return 0;
    return options_.codebooks.empty() ? 32 : 8;
  }
  const Codebook* codebook(int order) const {
    return options_.codebooks.empty() ? nullptr : &options_.codebooks[static_cast<size_t>(order) - 2];
  }
  bool in_turn() const { return options_.memory > 0; }
  void reserve(int order);
  void make(int order);
  void set_unigrams();
  bool make_table(int order);
  int word_bits() const { return bits_for(n_words_); }
  GramTable table(int order) const;
  std::vector<GramTable> tables() const;
  // The keys of n-grams. Returns the numbers of those whose context is missing.
  std::vector<int64_t> find_keys(int order, int64_t n, const uint32_t* words, uint64_t* keys) const;
  void add_contexts(int order, const std::vector<int64_t>& missing);
  void fill(int order);
  bool try_fill(int order, int failures);
  int64_t first_repeat(int order, const std::vector<uint64_t>& keys) const;
  void mark_leaves(int order);
  void score_added();

  BuilderOptions options_;
  std::vector<Rows> rows_;  // by order
  std::vector<int64_t> expected_;
  int made_ = 0;  // orders up to this one are made, if they come in turn
  int64_t n_words_ = 0;
  BuiltModel built_;
  std::vector<GramLayout> layouts_;
  std::unique_ptr<NGramSpill> spill_;  // if there is a limit, and it is too low
};

}  // namespace semproj::lm
