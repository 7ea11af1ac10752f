#include "text/windows.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "core/parallel.h"

namespace semproj::text {
namespace {

constexpr int64_t kGrain = 64;  // documents in one task
constexpr int64_t kAbsent = -1;

// Counts of one thread. Sums of integers do not depend on who adds them.
class Counter {
 public:
  Counter(const PartnerView& partners, int64_t width, bool forget_repeats)
      : partners_(partners),
        n_words_(static_cast<int64_t>(partners.starts.size()) - 1),
        width_(width),
        forget_repeats_(forget_repeats),
        since_(static_cast<size_t>(n_words_), kAbsent),
        tokens_(static_cast<size_t>(n_words_), 0) {
    counts.words.resize(static_cast<size_t>(n_words_));
    counts.pairs.resize(static_cast<size_t>(partners.n_pairs));
  }

  void add(std::span<const int32_t> document) {
    const auto length = static_cast<int64_t>(document.size());
    const int64_t first = std::min(length, width_), last_window = length - first;
    for (int64_t i = 0; i < first; ++i) enter(document[i], 0);
    for (int64_t window = 0; window < last_window; ++window) {
      leave(document[window], window);
      enter(document[window + width_], window + 1);
    }
    for (int64_t i = last_window; i < length; ++i) {
      if (is_counted(document[i])) end(document[i], last_window), tokens_[document[i]] = 0;
    }
    counts.windows += last_window + 1;
  }

  WindowCounts counts;

 private:
  bool is_counted(int32_t word) const { return word < n_words_; }

  void enter(int32_t word, int64_t window) {
    patience_.spend(2);
    if (!is_counted(word)) return;
    ++tokens_[word];
    if (since_[word] == kAbsent) since_[word] = window;
  }

  // `window` is the last one that the token is in.
  void leave(int32_t word, int64_t window) {
    if (is_counted(word) && (--tokens_[word] == 0 || forget_repeats_)) end(word, window);
  }

  void end(int32_t word, int64_t window) {
    const int64_t since = since_[word];
    if (since == kAbsent) return;
    since_[word] = kAbsent;
    counts.words[word] += window - since + 1;
    for (int64_t i = partners_.starts[word]; i < partners_.starts[word + 1]; ++i) {
      const int64_t other = since_[partners_.partners[i]];
      if (other != kAbsent) counts.pairs[partners_.slots[i]] += window - std::max(since, other) + 1;
    }
    patience_.spend(partners_.starts[word + 1] - partners_.starts[word]);
  }

  const PartnerView& partners_;
  int64_t n_words_, width_;
  bool forget_repeats_;
  std::vector<int64_t> since_;   // the first window that each word is in, of those up to now
  std::vector<int64_t> tokens_;  // of each word in the window
  Patience patience_;
};

}  // namespace

WindowCounts count_windows(std::span<const int64_t> starts, std::span<const int32_t> ids,
                           const PartnerView& partners, int64_t width, bool forget_repeats, int n_threads) {
  const auto n = static_cast<int64_t>(starts.size()) - 1;
  std::vector<std::unique_ptr<Counter>> counters(static_cast<size_t>(n_threads));
  parallel_for(block_count(n, kGrain), n_threads, [&](int64_t task, int worker) {
    auto& mine = counters[static_cast<size_t>(worker)];
    if (!mine) mine = std::make_unique<Counter>(partners, width, forget_repeats);
    const Block block = block_at(n, kGrain, task);
    for (int64_t d = block.begin; d < block.end; ++d) {
      mine->add(ids.subspan(starts[d], starts[d + 1] - starts[d]));
    }
  });
  WindowCounts total;
  total.words.resize(partners.starts.size() - 1);
  total.pairs.resize(static_cast<size_t>(partners.n_pairs));
  const auto add = [](std::vector<int64_t>& to, const std::vector<int64_t>& from) {
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>());
  };
  for (const auto& each : counters) {
    if (!each) continue;
    total.windows += each->counts.windows;
    add(total.words, each->counts.words);
    add(total.pairs, each->counts.pairs);
  }
  return total;
}

}  // namespace semproj::text
