#pragma once
// A model in plain arrays: a sink for tests, and for those who want to look at all n-grams.

#include <vector>

#include "lm/ngram_sink.h"

namespace semproj::lm {

class NGramArrays final : public NGramSink {
 public:
  struct Order {
    std::vector<uint32_t> words;  // of each n-gram, in reading order
    std::vector<float> log_probs, log_backoffs;
  };

  void begin(std::span<const int64_t> counts_by_order) override {
    orders_.assign(counts_by_order.size(), {});
    for (size_t k = 0; k < orders_.size(); ++k) {
      const auto n = static_cast<size_t>(counts_by_order[k]);
      orders_[k].words.reserve(n * (k + 1));
      orders_[k].log_probs.reserve(n);
      orders_[k].log_backoffs.reserve(n);
    }
  }

  void add(int order, int64_t n, const uint32_t* words, const float* log_prob,
           const float* log_backoff) override {
    Order& to = orders_[static_cast<size_t>(order) - 1];
    to.words.insert(to.words.end(), words, words + n * order);
    to.log_probs.insert(to.log_probs.end(), log_prob, log_prob + n);
    if (log_backoff != nullptr) {
      to.log_backoffs.insert(to.log_backoffs.end(), log_backoff, log_backoff + n);
    } else {
      to.log_backoffs.resize(to.log_probs.size(), 0.0f);
    }
  }

  void end() override { is_complete_ = true; }

  // By order, from 1 at 0.
  std::vector<Order>& orders() { return orders_; }
  bool is_complete() const { return is_complete_; }

 private:
  std::vector<Order> orders_;
  bool is_complete_ = false;
};

}  // namespace semproj::lm
