#pragma once
// Takes the n-grams of a model and makes its tables: see gram_table.h.
//
// Orders are stored from the lowest up: the key of an n-gram has the slot of its context. Contexts that are
// missing, as files may have it, are added with the probability that the model gives them without. The
// bytes of the tables follow from the order in which n-grams come, not from the number of threads.

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "lm/gram_table.h"
#include "lm/ngram_sink.h"
#include "lm/pages.h"

namespace semproj::lm {

// What 8 bits stand for: of log_probs, then of back-offs, whose first is -0 and whose second is 0. Rising
// from the first and from the third on.
struct Codebook {
  std::array<float, 256> log_probs, backoffs;
};

struct BuilderOptions {
  int n_threads = 1;
  std::vector<Codebook> codebooks = {};  // from order 2 up; none: float32
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

class NGramBuilder : public NGramSink {
 public:
  explicit NGramBuilder(BuilderOptions options) : options_(std::move(options)) {}

  NGramBuilder(const NGramBuilder&) = delete;
  NGramBuilder& operator=(const NGramBuilder&) = delete;

  void begin(std::span<const int64_t> counts_by_order) override;
  void add(int order, int64_t n, const uint32_t* words, const float* log_prob,
           const float* log_backoff) override;
  void end() override;

  BuiltModel take() { return std::move(built_); }

 private:
  struct Rows {
    std::vector<uint32_t> words;
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
  GramTable table(int order) const;
  std::vector<GramTable> tables() const;
  // The slots of the contexts of an order's n-grams. False if some were missing and have been added.
  bool find_contexts(int order, std::vector<int64_t>* contexts);
  void fill(int order, const std::vector<int64_t>& contexts);
  bool try_fill(int order, const std::vector<int64_t>& contexts, int failures);
  void mark_leaves(int order, const std::vector<int64_t>& contexts);
  void score_added();

  BuilderOptions options_;
  std::vector<Rows> rows_;  // by order
  int64_t n_words_ = 0;
  BuiltModel built_;
  std::vector<GramLayout> layouts_;
};

}  // namespace semproj::lm
