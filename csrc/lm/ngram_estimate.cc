// Cost: a key of the highest order for each word of the text, sorted (about 60 ns); the sweep (10 ns for each
// different one); then what ngram_smooth.h says for each n-gram of each order. Memory: what fits, by
// Workspace.

#include "lm/ngram_estimate.h"

#include <bit>
#include <stdexcept>
#include <string>

#include "core/parallel.h"
#include "lm/key_layout.h"
#include "lm/ngram_smooth.h"
#include "lm/ngram_sweep.h"

namespace semproj::lm {
namespace {

constexpr int64_t kGrain = 1 << 14;  // records of one task

// Buckets that fit the cache are sorted fastest.
int buckets_for(int64_t n) {
  constexpr int64_t kBucket = 6000;
  return static_cast<int>(std::clamp<int64_t>(n / kBucket, 1, 4096));
}

template <int kWords>
class Estimation final : public NGramEstimation {
 public:
  Estimation(Workspace* workspace, const NGramOptions& options, const ChosenWords& words, int word_bits,
             int n_threads)
      : workspace_(workspace), options_(options), n_threads_(n_threads), counts_of_codes_{0} {
    for (int k = 0; k <= options.order; ++k) {
      layouts_.emplace_back(std::max(1, k), word_bits);
      lists_.emplace_back(workspace);
    }
    counts_of_codes_.insert(counts_of_codes_.end(), words.counts.begin(), words.counts.end());
  }

  void sort(NGramText& text) override;
  void count() override;
  void smooth(int order, NGramSink& sink) override;
  void finish(NGramSink& sink) override;

 private:
  using Layout = KeyLayout<kWords>;

  const Layout& layout(int order) const { return layouts_[static_cast<size_t>(order)]; }
  int64_t step(size_t record_size) const {
    return workspace_->for_step() / static_cast<int64_t>(record_size);
  }
  void write_keys(const NGramText::Piece& piece, Occurrence<kWords>* to) const;
  Sorted<Extended<kWords>> extend(int order);
  void extend_chunk(int order, std::span<const Valued<kWords>> chunk,
                    std::span<const Predicted<kWords>> lower, Extended<kWords>* to) const;
  Sorted<Predicted<kWords>> predict(int order, const Sorted<Extended<kWords>>& extended, NGramSink& sink);
  void predict_chunk(int order, std::span<const Extended<kWords>> chunk,
                     Sorter<Predicted<kWords>>& predicted);
  void emit_unigrams(NGramSink& sink);

  Workspace* workspace_;
  NGramOptions options_;
  int n_threads_;
  std::vector<Layout> layouts_;  // by order
  std::vector<int64_t> counts_of_codes_;
  std::unique_ptr<WordBuckets> buckets_;
  Sorted<Occurrence<kWords>, Counted<kWords>> sorted_;
  std::vector<RecordList<Valued<kWords>>> lists_;    // by order
  std::vector<double> unigrams_, unigram_backoffs_;  // by code
  Sorted<Predicted<kWords>> predicted_;              // of the order that was smoothed last
  std::vector<Backoff<kWords>> backoffs_;            // of the chunk at hand
};

template <int kWords>
void Estimation<kWords>::write_keys(const NGramText::Piece& piece, Occurrence<kWords>* to) const {
  const Layout& whole = layout(options_.order);
  const Wide<kWords> begin = whole.next(Wide<kWords>(0), kBegin + 1);
  const std::vector<uint32_t>& chosen = *piece.chosen;
  Wide<kWords> key = begin;
  for (const uint32_t word : piece.before) key = whole.next(key, word + 1);
  Patience patience;
  for (int64_t i = 0; i < piece.size; ++i) {
    const uint32_t word = chosen[piece.ids[i]];
    key = whole.next(key, word + 1);
    to[i].key = Key<kWords>::of(key);
    if (word == kEnd) key = begin;
    if (i % 64 == 0) patience.spend(256);
  }
}

template <int kWords>
void Estimation<kWords>::sort(NGramText& text) {
  const Layout& whole = layout(options_.order);
  const int64_t n = text.n_words() + text.n_sentences();
  buckets_ = std::make_unique<WordBuckets>(counts_of_codes_, buckets_for(n));
  Sorter<Occurrence<kWords>, Counted<kWords>> sorter(workspace_, *buckets_,
                                                     {0, whole.key_bits(), whole.word_bits()}, n, n_threads_);
  NGramText::Reader reader(text, std::min(step(sizeof(uint32_t)), sorter.capacity()));
  while (true) {
    const auto& pieces = reader.next();
    if (pieces.empty()) break;
    int64_t total = 0;
    std::vector<int64_t> starts;
    for (const auto& piece : pieces) starts.push_back(std::exchange(total, total + piece.size));
    Occurrence<kWords>* const to = sorter.append(total);
    parallel_for(static_cast<int64_t>(pieces.size()), n_threads_,
                 [&](int64_t i, int) { write_keys(pieces[i], to + starts[i]); });
  }
  text.forget();
  sorted_ = sorter.finish();
}

template <int kWords>
void Estimation<kWords>::count() {
  const bool is_adjusted = options_.smoothing == Smoothing::kneser_ney;
  CountSweep<kWords> sweep(layout(options_.order), is_adjusted, options_.min_counts, &lists_, n_threads_);
  if (sorted_.in_memory()) {
    sweep.add(sorted_.span());
  } else {
    Window<Counted<kWords>> window(sorted_.source(*workspace_), workspace_->for_step());
    while (!window.seen().empty() || window.extend()) {
      sweep.add(window.seen());
      window.consume(static_cast<int64_t>(window.seen().size()));
    }
  }
  sweep.finish();
  sorted_ = {};
  discounts_.resize(1);
  counts_.assign(1, 0);
  for (int k = 1; k <= options_.order; ++k) {
    const OrderCounts& counts = sweep.counts[static_cast<size_t>(k)];
    discounts_.push_back(is_adjusted ? Discount::kneser_ney(counts.n_of)
                                     : Discount::good_turing(counts.n_of, options_.katz_k));
    counts_.push_back(k == 1 ? static_cast<int64_t>(counts_of_codes_.size()) - 1 : counts.kept);
  }
}

template <int kWords>
void Estimation<kWords>::smooth(int order, NGramSink& sink) {
  if (order == 1) {
    sink.begin(std::span(counts_).subspan(1));
    Window<Valued<kWords>> window(lists_[1].source(), workspace_->for_step());
    while (window.extend()) {
    }
    unigrams_ = unigram_probabilities<kWords>(window.seen(), discounts_[1], options_.smoothing,
                                              static_cast<int64_t>(counts_of_codes_.size()));
    unigram_backoffs_.assign(unigrams_.size(), 1.0);
    return;
  }
  const Sorted<Extended<kWords>> extended = extend(order);
  predicted_ = predict(order, extended, sink);
}

// The n-grams of an order in context order, each with its probability by the order below.
template <int kWords>
Sorted<Extended<kWords>> Estimation<kWords>::extend(int order) {
  const Layout& here = layout(order);
  auto& list = lists_[static_cast<size_t>(order)];
  Sorter<Extended<kWords>> sorter(
      workspace_, *buckets_, {here.word_bits(), here.key_bits(), here.word_bits()}, list.size(), n_threads_);
  Window<Valued<kWords>> counted(list.source(), workspace_->for_step());
  Window<Predicted<kWords>> lower(predicted_.source(*workspace_), workspace_->for_step());
  const int64_t most = std::min(step(sizeof(Extended<kWords>)), sorter.capacity());
  const auto alone = [](const auto&, const auto&) { return false; };
  while (true) {
    const auto chunk = counted.next(most, alone);
    if (chunk.empty()) break;
    Extended<kWords>* const to = sorter.append(static_cast<int64_t>(chunk.size()));
    if (order == 2) {
      extend_chunk(order, chunk, {}, to);
    } else {
      const Key<kWords> last = here.suffix(chunk.back().key, order - 1);
      const auto below = lower.up_to(last);
      extend_chunk(order, chunk, below, to);
      lower.consume(first_from(below, last));
    }
    counted.consume(static_cast<int64_t>(chunk.size()));
  }
  list = RecordList<Valued<kWords>>(workspace_);
  return sorter.finish();
}

template <int kWords>
void Estimation<kWords>::extend_chunk(int order, std::span<const Valued<kWords>> chunk,
                                      std::span<const Predicted<kWords>> lower, Extended<kWords>* to) const {
  const Layout& here = layout(order);
  const auto n = static_cast<int64_t>(chunk.size());
  const auto n_lower = static_cast<int64_t>(lower.size());
  parallel_for(block_count(n, kGrain), n_threads_, [&](int64_t task, int) {
    const Block block = block_at(n, kGrain, task);
    int64_t at = first_from(lower, here.suffix(chunk[block.begin].key, order - 1));
    for (int64_t i = block.begin; i < block.end; ++i) {
      const Valued<kWords>& ngram = chunk[i];
      double probability = 0;  // of what is cut if what it ends with is
      if (order == 2) {
        probability = unigrams_[here.code(ngram.key, 0)];
      } else {
        const Key<kWords> parent = here.suffix(ngram.key, order - 1);
        while (at < n_lower && lower[at].key < parent) ++at;
        if (at < n_lower && lower[at].key == parent) probability = lower[at].probability;
      }
      to[i] = {here.to_context_order(ngram.key), ngram.value, probability};
    }
  });
}

// Probabilities in suffix order. The order below is complete then: it goes to the sink.
template <int kWords>
Sorted<Predicted<kWords>> Estimation<kWords>::predict(int order, const Sorted<Extended<kWords>>& extended,
                                                      NGramSink& sink) {
  const Layout& here = layout(order);
  Sorter<Predicted<kWords>> sorter(workspace_, *buckets_,
                                   {here.key_bits() - here.word_bits(), here.key_bits(), here.word_bits()},
                                   counts_[static_cast<size_t>(order)], n_threads_);
  Window<Extended<kWords>> window(extended.source(*workspace_), workspace_->for_step());
  Window<Predicted<kWords>> below(predicted_.source(*workspace_), workspace_->for_step());
  Emission<kWords> emission(sink, layout(order - 1), true, n_threads_);
  const auto same_context = [&](const Extended<kWords>& a, const Extended<kWords>& b) {
    return here.context(a.key) == here.context(b.key);
  };
  const int64_t most = std::min(step(sizeof(Extended<kWords>)), std::max<int64_t>(1, sorter.capacity()));
  while (true) {
    const auto chunk = window.next(most, same_context);
    if (chunk.empty()) break;
    predict_chunk(order, chunk, sorter);
    if (order == 2) {
      for (const auto& each : backoffs_) unigram_backoffs_[each.key.words[0]] = each.factor;
    } else {
      const auto complete = below.up_to(backoffs_.back().key);
      emission.add(complete, backoffs_);
      below.consume(static_cast<int64_t>(complete.size()));
    }
    window.consume(static_cast<int64_t>(chunk.size()));
  }
  if (order == 2) {
    emit_unigrams(sink);
  } else {
    do {
      emission.add(below.seen(), {});
      below.consume(static_cast<int64_t>(below.seen().size()));
    } while (below.extend());
  }
  return sorter.finish();
}

template <int kWords>
void Estimation<kWords>::predict_chunk(int order, std::span<const Extended<kWords>> chunk,
                                       Sorter<Predicted<kWords>>& predicted) {
  const Layout& here = layout(order);
  const auto same_context = [&](const Extended<kWords>& a, const Extended<kWords>& b) {
    return here.context(a.key) == here.context(b.key);
  };
  const std::vector<int64_t> starts = group_starts(chunk, kGrain, same_context);
  const auto n_tasks = static_cast<int64_t>(starts.size()) - 1;
  std::vector<int64_t> kept(starts.size(), 0), groups(starts.size(), 0);
  parallel_for(n_tasks, n_threads_, [&](int64_t t, int) {
    int64_t n_kept = 0, n_groups = 0;
    for (int64_t i = starts[t]; i < starts[t + 1]; ++i) {
      n_kept += chunk[i].value.is_cut() ? 0 : 1;
      n_groups += i == starts[t] || !same_context(chunk[i - 1], chunk[i]) ? 1 : 0;
    }
    kept[t + 1] = n_kept, groups[t + 1] = n_groups;
  });
  for (int64_t t = 0; t < n_tasks; ++t) kept[t + 1] += kept[t], groups[t + 1] += groups[t];
  backoffs_.resize(static_cast<size_t>(groups.back()));
  Predicted<kWords>* const to = predicted.append(kept.back());
  const auto n_words = static_cast<int64_t>(counts_of_codes_.size()) - 2;
  const Discount& discount = discounts_[static_cast<size_t>(order)];
  parallel_for(n_tasks, n_threads_, [&](int64_t t, int) {
    Predicted<kWords>* out = to + kept[t];
    Backoff<kWords>* backoff = backoffs_.data() + groups[t];
    for (int64_t begin = starts[t], end = begin; begin < starts[t + 1]; begin = end) {
      for (++end; end < starts[t + 1] && same_context(chunk[end - 1], chunk[end]);) ++end;
      const auto group = chunk.subspan(begin, end - begin);
      const ContextSums<kWords> sums(group, discount, options_.smoothing, n_words);
      *backoff++ = {here.context(group.front().key), sums.backoff()};
      for (const auto& ngram : group) {
        if (ngram.value.is_cut()) continue;
        *out++ = {here.to_suffix_order(ngram.key), sums.probability(ngram)};
      }
    }
  });
}

template <int kWords>
void Estimation<kWords>::emit_unigrams(NGramSink& sink) {
  std::vector<Predicted<kWords>> ngrams;
  std::vector<Backoff<kWords>> backoffs;
  for (size_t code = 1; code < unigrams_.size(); ++code) {
    const auto key = Key<kWords>::of(Wide<kWords>(code));
    ngrams.push_back({key, unigrams_[code]});
    backoffs.push_back({key, unigram_backoffs_[code]});
  }
  Emission<kWords>(sink, layout(1), options_.order > 1, n_threads_).add(ngrams, backoffs);
}

template <int kWords>
void Estimation<kWords>::finish(NGramSink& sink) {
  if (options_.order == 1) {
    emit_unigrams(sink);
  } else {
    Emission<kWords> emission(sink, layout(options_.order), false, n_threads_);
    Window<Predicted<kWords>> window(predicted_.source(*workspace_), workspace_->for_step());
    do {
      emission.add(window.seen(), {});
      window.consume(static_cast<int64_t>(window.seen().size()));
    } while (window.extend());
  }
  predicted_ = {};
  sink.end();
}

}  // namespace

std::unique_ptr<NGramEstimation> make_estimation(Workspace* workspace, const NGramOptions& options,
                                                 const ChosenWords& words, int n_threads) {
  const int word_bits = std::bit_width(static_cast<uint64_t>(words.size()));
  const int key_bits = options.order * word_bits;
  if (word_bits > 31 || key_bits > 192) throw std::length_error("vocabulary: more than 2^31 words");
  if (key_bits <= 64) return std::make_unique<Estimation<1>>(workspace, options, words, word_bits, n_threads);
  if (key_bits <= 128)
    return std::make_unique<Estimation<2>>(workspace, options, words, word_bits, n_threads);
  return std::make_unique<Estimation<3>>(workspace, options, words, word_bits, n_threads);
}

}  // namespace semproj::lm
