#pragma once
// From counts to probabilities, one order after the other.
//
// With h' for a context h without its first word, and counts a (adjusted for Kneser-Ney, raw for
// Good-Turing):
//   Kneser-Ney   p(w | h) = disc(a(hw)) / a(h) + backoff(h) p(w | h')           for n-grams that are kept
//                backoff(h) = 1 - sum disc(a(hw)) / a(h)                        over those
//   Good-Turing  p(w | h) = disc(a(hw)) / a(h)
//                backoff(h) = (1 - sum p(w | h)) / (1 - sum p(w | h'))          over those
// where a(h) is the sum of all a(hw), also of those that are cut. If nothing is left in a context of
// Good-Turing that has not seen every word, a(h) is one more; if it has seen every word, what is left is
// shared out in proportion.
//
// An order takes three steps. Its counts and the probabilities of the order below are both in suffix order:
// read side by side, each n-gram finds p(w | h'). Sorted by context, all words that follow a context are
// neighbours, which gives backoff(h) and p(w | h). Sorted back by the last word (the rest is in order
// already) they are in suffix order again. Sums over a context go by rising words: the same bits, however it
// is cut.
//
// Memory: 32 bytes for each n-gram of an order while it is sorted, twice, and 24 for those of the order below
// (16 more or 8 fewer for keys of 192 or 64 bits). Cost: about 100 ns for each n-gram.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "lm/discounts.h"
#include "lm/key_layout.h"
#include "lm/ngram_records.h"
#include "lm/ngram_sink.h"
#include "lm/record_runs.h"

namespace semproj::lm {

// The n-grams of one order between two steps: cut into tasks where a group begins.
template <class Record, class SameGroup>
std::vector<int64_t> group_starts(std::span<const Record> records, int64_t grain,
                                  const SameGroup& same_group) {
  const auto n = static_cast<int64_t>(records.size());
  std::vector<int64_t> starts{0};
  for (int64_t at = grain; at < n; at = starts.back() + grain) {
    while (at < n && same_group(records[at - 1], records[at])) ++at;
    if (at < n) starts.push_back(at);
    if (at >= n) break;
  }
  starts.push_back(n);
  return starts;
}

template <class Record, class Key>
int64_t first_from(std::span<const Record> records, const Key& key) {
  const auto found = std::lower_bound(records.begin(), records.end(), key,
                                      [](const Record& r, const Key& k) { return r.key < k; });
  return found - records.begin();
}

// One context and the words that follow it.
template <int kWords>
class ContextSums {
 public:
  ContextSums(std::span<const Extended<kWords>> group, const Discount& discount, Smoothing smoothing,
              int64_t n_words)
      : discount_(discount), smoothing_(smoothing) {
    uint64_t total = 0;
    double left = 0, seen = 0, lower = 0;
    int64_t n_kept = 0;
    for (const auto& each : group) {
      const uint64_t count = each.value.count();
      total += count;
      if (each.value.is_cut()) {
        left += static_cast<double>(count);
        continue;
      }
      const double discounted = discount.discounted(count);
      seen += discounted;
      left += static_cast<double>(count) - discounted;
      lower += each.lower;
      ++n_kept;
    }
    total_ = static_cast<double>(total);
    if (smoothing == Smoothing::kneser_ney) {
      backoff_ = left / total_;
      return;
    }
    constexpr double kNothingLeft = 1e-9;
    const bool is_complete = n_kept == n_words;
    if (!is_complete && seen / total_ > 1 - kNothingLeft) total_ += 1;
    const double mass = seen / total_;
    if (is_complete) scale_ = 1 / mass;
    backoff_ = is_complete ? 0 : std::max(0.0, (1 - mass) / (1 - lower));
  }

  double backoff() const { return backoff_; }
  double probability(const Extended<kWords>& ngram) const {
    const double own = scale_ * discount_.discounted(ngram.value.count()) / total_;
    return smoothing_ == Smoothing::kneser_ney ? own + backoff_ * ngram.lower : own;
  }

 private:
  const Discount& discount_;
  Smoothing smoothing_;
  double total_ = 0, backoff_ = 0, scale_ = 1;
};

// Unigrams, by code, from their counts; back-offs are 1. Words without a count share what is left.
template <int kWords>
std::vector<double> unigram_probabilities(std::span<const Valued<kWords>> counted, const Discount& discount,
                                          Smoothing smoothing, int64_t n_codes) {
  std::vector<Extended<kWords>> group;
  const int64_t n_words = n_codes - 2;  // without the code 0, and <s>
  const double uniform = 1 / static_cast<double>(n_words);
  for (const auto& each : counted) group.push_back({each.key, each.value, uniform});
  std::vector<double> found(static_cast<size_t>(n_codes), 0.0);
  if (smoothing == Smoothing::kneser_ney) {
    const ContextSums<kWords> sums(group, discount, smoothing, n_words);
    std::fill(found.begin(), found.end(), sums.backoff() * uniform);
    for (const auto& each : group) found[each.key.words[0]] = sums.probability(each);
  } else {
    double seen = 0, total = 0;
    for (const auto& each : group) {
      seen += discount.discounted(each.value.count());
      total += static_cast<double>(each.value.count());
    }
    const auto n_seen = static_cast<int64_t>(group.size());
    if (n_seen < n_words && seen / total > 1 - 1e-9) total += 1;
    const int64_t n_takers = n_seen < n_words ? n_words - n_seen : n_words;
    const double share = (1 - seen / total) / static_cast<double>(n_takers);
    std::fill(found.begin(), found.end(), share);
    for (const auto& each : group) {
      const double own = discount.discounted(each.value.count()) / total;
      found[each.key.words[0]] = n_seen < n_words ? own : own + share;
    }
  }
  found[0] = found[kBegin + 1] = 0;
  return found;
}

// Hands n-grams of one order to the sink, with the back-offs of those that have one.
template <int kWords>
class Emission {
 public:
  Emission(NGramSink& sink, const KeyLayout<kWords>& layout, bool has_backoff, int n_threads)
      : sink_(sink), layout_(layout), has_backoff_(has_backoff), n_threads_(n_threads) {}

  // Both in suffix order.
  void add(std::span<const Predicted<kWords>> ngrams, std::span<const Backoff<kWords>> backoffs);

 private:
  static constexpr int64_t kBlock = 1 << 17, kGrain = 1 << 13;
  static float log_of(double p) {
    return p > 0 ? static_cast<float>(std::min(0.0, std::log10(p))) : kLogZero;
  }

  // May be above 1, with Good-Turing.
  static float log_of_backoff(double factor) {
    return factor > 0 ? static_cast<float>(std::log10(factor)) : kLogZero;
  }

  NGramSink& sink_;
  const KeyLayout<kWords>& layout_;
  bool has_backoff_;
  int n_threads_;
  std::vector<uint32_t> words_;
  std::vector<float> log_probs_, log_backoffs_;
};

template <int kWords>
void Emission<kWords>::add(std::span<const Predicted<kWords>> ngrams,
                           std::span<const Backoff<kWords>> backoffs) {
  const int order = layout_.order();
  const auto n_all = static_cast<int64_t>(ngrams.size());
  for (int64_t first = 0; first < n_all; first += kBlock) {
    const auto block = ngrams.subspan(first, std::min(kBlock, n_all - first));
    const auto n = static_cast<int64_t>(block.size());
    words_.resize(static_cast<size_t>(n * order));
    log_probs_.resize(static_cast<size_t>(n));
    if (has_backoff_) log_backoffs_.resize(static_cast<size_t>(n));
    parallel_for(block_count(n, kGrain), n_threads_, [&](int64_t task, int) {
      const Block part = block_at(n, kGrain, task);
      int64_t b = has_backoff_ ? first_from(backoffs, block[part.begin].key) : 0;
      const auto n_backoffs = static_cast<int64_t>(backoffs.size());
      for (int64_t i = part.begin; i < part.end; ++i) {
        const auto& ngram = block[i];
        uint32_t* const words = words_.data() + i * order;
        for (int j = 0; j < order; ++j) words[order - 1 - j] = layout_.code(ngram.key, j) - 1;
        log_probs_[i] = log_of(ngram.probability);
        if (!has_backoff_) continue;
        while (b < n_backoffs && backoffs[b].key < ngram.key) ++b;
        const bool found = b < n_backoffs && backoffs[b].key == ngram.key;
        log_backoffs_[i] = found ? log_of_backoff(backoffs[b].factor) : 0.0f;
      }
    });
    sink_.add(order, n, words_.data(), log_probs_.data(), has_backoff_ ? log_backoffs_.data() : nullptr);
  }
}

}  // namespace semproj::lm
