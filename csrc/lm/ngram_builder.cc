#include "lm/ngram_builder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <string>
#include <utility>

#include "core/parallel.h"
#include "lm/ngram_model.h"

namespace semproj::lm {
namespace {

constexpr int64_t kGrain = 1 << 14;  // n-grams of a task
constexpr int kAhead = 32;           // look-ups that are under way
constexpr int kMostFailures = 24;
constexpr int64_t kReserved = int64_t{1} << 26;  // n-grams that counts are trusted for

// The number of the nearest of rising values.
uint32_t nearest(const float* values, int n, float x) {
  const auto at = static_cast<int>(std::lower_bound(values, values + n, x) - values);
  if (at == 0) return 0;
  if (at == n) return static_cast<uint32_t>(n - 1);
  return static_cast<uint32_t>(x - values[at - 1] <= values[at] - x ? at - 1 : at);
}

uint32_t code_of_backoff(const Codebook& codebook, float backoff) {
  if (backoff == 0) return std::signbit(backoff) ? 0 : 1;
  return 2 + nearest(codebook.backoffs.data() + 2, 254, backoff);
}

}  // namespace

DuplicateNGram::DuplicateNGram(int n_words, int64_t number)
    : std::invalid_argument("an n-gram of order " + std::to_string(n_words) + " comes twice"),
      order(n_words),
      index(number) {}

int bits_for(int64_t n) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(n, 1) - 1))));
}

void NGramBuilder::begin(std::span<const int64_t> counts_by_order) {
  rows_ = std::vector<Rows>(counts_by_order.size());
  if (rows_.empty() || max_order() > kMaxOrder) throw std::invalid_argument("order: expected 1 to 6");
  built_ = {};
  layouts_.clear();
  n_words_ = counts_by_order[0];
  for (int order = 1; order <= max_order(); ++order) {
    const auto n = static_cast<size_t>(std::min(counts_by_order[static_cast<size_t>(order) - 1], kReserved));
    Rows& rows = rows_[static_cast<size_t>(order) - 1];
    if (order > 1) rows.words.reserve(n * static_cast<size_t>(order));
    rows.log_probs.reserve(n);
    if (order < max_order()) rows.backoffs.reserve(n);
  }
}

void NGramBuilder::add(int order, int64_t n, const uint32_t* words, const float* log_prob,
                       const float* log_backoff) {
  Rows& rows = rows_[static_cast<size_t>(order) - 1];
  if (order == 1) {
    for (int64_t i = 0; i < n; ++i) {
      if (words[i] != rows.size() + i) throw std::invalid_argument("unigrams: expected all words in order");
    }
  } else {
    for (int64_t i = 0; i < n * order; ++i) {
      if (words[i] >= n_words_) throw std::invalid_argument("words: expected ids of unigrams");
    }
    rows.words.insert(rows.words.end(), words, words + n * order);
  }
  rows.log_probs.insert(rows.log_probs.end(), log_prob, log_prob + n);
  if (order < max_order()) {
    if (log_backoff != nullptr) {
      rows.backoffs.insert(rows.backoffs.end(), log_backoff, log_backoff + n);
    } else {
      rows.backoffs.resize(rows.log_probs.size(), 0.0f);
    }
  }
  rows.given = rows.size();
}

void NGramBuilder::end() {
  Rows& first = rows_[0];
  if (first.size() != n_words_) throw std::invalid_argument("unigrams: expected as many as were announced");
  built_.unigrams.resize(2 * static_cast<size_t>(n_words_));
  for (int64_t i = 0; i < n_words_; ++i) {
    const auto at = static_cast<size_t>(i);
    built_.unigrams[2 * at] = first.log_probs[at];
    // With no higher orders nothing goes on from a word.
    built_.unigrams[2 * at + 1] = max_order() == 1 ? -0.0f : first.backoffs[at];
  }
  built_.tables.resize(rows_.size() - 1);
  layouts_.resize(rows_.size() - 1);
  bool again = true;
  while (again) {
    again = false;
    for (int order = 2; order <= max_order() && !again; ++order) {
      std::vector<int64_t> contexts;
      again = !find_contexts(order, &contexts);
      if (again) break;  // what was missing belongs into a table that is there already
      fill(order, contexts);
      mark_leaves(order - 1, contexts);
    }
  }
  if (max_order() > 1) score_added();
  rows_.clear();
}

GramTable NGramBuilder::table(int order) const {
  const auto at = static_cast<size_t>(order) - 2;
  const Codebook* book = options_.codebooks.empty() ? nullptr : &options_.codebooks[at];
  return {built_.tables[at].lines.as<const uint64_t>(), layouts_[at], book ? book->log_probs.data() : nullptr,
          book ? book->backoffs.data() : nullptr};
}

std::vector<GramTable> NGramBuilder::tables() const {
  std::vector<GramTable> all;
  for (int order = 2; order <= max_order(); ++order) all.push_back(table(order));
  return all;
}

bool NGramBuilder::find_contexts(int order, std::vector<int64_t>* contexts) {
  const Rows& rows = rows_[static_cast<size_t>(order) - 1];
  const int64_t n = rows.size();
  contexts->resize(static_cast<size_t>(n));
  std::atomic<bool> missing = false;
  parallel_for((n + kGrain - 1) / kGrain, options_.n_threads, [&](int64_t task, int) {
    const Block block = block_at(n, kGrain, task);
    const uint32_t* words = rows.words.data();
    int64_t* const slots = contexts->data();
    for (int64_t i = block.begin; i < block.end; ++i) slots[i] = words[i * order];
    for (int k = 2; k < order; ++k) {
      const GramTable grams = table(k);
      Home homes[kAhead];
      for (int64_t i = block.begin; i < block.end + kAhead; ++i) {
        if (const int64_t done = i - kAhead; done >= block.begin && slots[done] != kNoSlot) {
          slots[done] = grams.find(homes[done % kAhead]);
          if (slots[done] == kNoSlot) missing = true;
        }
        if (i < block.end && slots[i] != kNoSlot) {
          homes[i % kAhead] = grams.home(slots[i], words[i * order + k - 1]);
          grams.prefetch(homes[i % kAhead]);
        }
      }
    }
  });
  if (!missing) return true;
  // Rare, and never so from our own estimator. Prefixes that are missing themselves turn up in the next
  // round.
  std::vector<std::vector<uint32_t>> prefixes;
  for (int64_t i = 0; i < n; ++i) {
    if ((*contexts)[static_cast<size_t>(i)] != kNoSlot) continue;
    const uint32_t* words = rows.words.data() + i * order;
    prefixes.emplace_back(words, words + order - 1);
  }
  std::sort(prefixes.begin(), prefixes.end());
  prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
  Rows& below = rows_[static_cast<size_t>(order) - 2];
  for (const auto& prefix : prefixes) {
    below.words.insert(below.words.end(), prefix.begin(), prefix.end());
    below.log_probs.push_back(0);  // until score_added
    below.backoffs.push_back(0);
  }
  return false;
}

void NGramBuilder::fill(int order, const std::vector<int64_t>& contexts) {
  for (int failures = 0; !try_fill(order, contexts, failures); ++failures) {
    if (failures == kMostFailures) throw std::runtime_error("a table of n-grams cannot be filled");
  }
}

bool NGramBuilder::try_fill(int order, const std::vector<int64_t>& contexts, int failures) {
  const auto at = static_cast<size_t>(order) - 2;
  const Rows& rows = rows_[at + 1];
  const int64_t n = rows.size();
  const int word_bits = bits_for(n_words_);
  const int context_bits = order == 2 ? word_bits : bits_for(layouts_[at - 1].n_slots());
  const int64_t n_lines = lines_for(n, context_bits, word_bits, prob_bits(), backoff_bits(order), failures);
  const GramLayout layout = layout_for(n_lines, context_bits, word_bits, prob_bits(), backoff_bits(order));
  built_.tables[at] = {};
  built_.tables[at] = {Pages(static_cast<size_t>(n_lines) * kLineWords * sizeof(uint64_t)), n_lines, n};
  layouts_[at] = layout;
  uint64_t* const lines = built_.tables[at].lines.as<uint64_t>();
  const GramTable grams = table(order);
  const Codebook* book = options_.codebooks.empty() ? nullptr : &options_.codebooks[at];

  // N-grams by piece of the table, each piece being some groups; within a piece in the order they came.
  const int64_t n_groups = n_lines / layout.group, groups_of_piece = std::max<int64_t>(1, n_groups / 256);
  const int64_t lines_of_piece = groups_of_piece * layout.group;
  const int64_t n_pieces = (n_lines + lines_of_piece - 1) / lines_of_piece;
  const int64_t n_blocks = std::min<int64_t>(64, (n + kGrain - 1) / kGrain);
  const int64_t of_block = n_blocks == 0 ? 0 : (n + n_blocks - 1) / n_blocks;
  const auto home_of = [&](int64_t i) {
    return grams.home(contexts[static_cast<size_t>(i)],
                      rows.words[static_cast<size_t>(i * order + order - 1)]);
  };
  std::vector<int64_t> starts(static_cast<size_t>(n_blocks * n_pieces) + 1, 0);  // by piece, then by block
  parallel_for(n_blocks, options_.n_threads, [&](int64_t block, int) {
    for (int64_t i = block * of_block; i < std::min(n, (block + 1) * of_block); ++i) {
      ++starts[static_cast<size_t>(home_of(i).line / lines_of_piece * n_blocks + block) + 1];
    }
  });
  for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  std::vector<int64_t> sorted(static_cast<size_t>(n));
  parallel_for(n_blocks, options_.n_threads, [&](int64_t block, int) {
    std::vector<int64_t> next(static_cast<size_t>(n_pieces));
    for (int64_t p = 0; p < n_pieces; ++p)
      next[static_cast<size_t>(p)] = starts[static_cast<size_t>(p * n_blocks + block)];
    for (int64_t i = block * of_block; i < std::min(n, (block + 1) * of_block); ++i) {
      sorted[static_cast<size_t>(next[static_cast<size_t>(home_of(i).line / lines_of_piece)]++)] = i;
    }
  });

  std::atomic<bool> full = false;
  std::mutex mutex;
  int64_t twice = -1;  // the first n-gram that was there already
  parallel_for(n_pieces, options_.n_threads, [&](int64_t piece, int) {
    const int64_t first = piece * lines_of_piece;
    clear_lines(lines + first * kLineWords, std::min(lines_of_piece, n_lines - first));
    const auto begin = static_cast<size_t>(piece * n_blocks), end = begin + static_cast<size_t>(n_blocks);
    for (int64_t s = starts[begin]; s < starts[end] && !full; ++s) {
      const int64_t i = sorted[static_cast<size_t>(s)];
      const float log_prob = rows.log_probs[static_cast<size_t>(i)];
      const float backoff = order < max_order() ? rows.backoffs[static_cast<size_t>(i)] : 0;
      const uint32_t prob_value =
          book ? nearest(book->log_probs.data(), 256, log_prob) : prob_bits_of(log_prob);
      const uint32_t backoff_value =
          book ? code_of_backoff(*book, backoff) : std::bit_cast<uint32_t>(backoff);
      int64_t slot;
      const Put put =
          put_gram(lines + first * kLineWords, first, layout, home_of(i), prob_value, backoff_value, &slot);
      if (put == Put::full) full = true;
      if (put == Put::twice) {
        const std::lock_guard lock(mutex);
        if (twice < 0 || i < twice) twice = i;
      }
    }
  });
  if (twice >= 0) throw DuplicateNGram(order, twice);
  return !full;
}

// A context from which an n-gram goes on has any back-off but -0; one from which nothing does, and whose
// back-off is 0, need not be kept in mind.
void NGramBuilder::mark_leaves(int order, const std::vector<int64_t>& contexts) {
  const int64_t n_slots = order == 1 ? n_words_ : layouts_[static_cast<size_t>(order) - 2].n_slots();
  std::vector<uint64_t> goes_on((static_cast<size_t>(n_slots) + 63) / 64, 0);
  for (const int64_t slot : contexts) goes_on[static_cast<size_t>(slot) / 64] |= uint64_t{1} << (slot % 64);
  const auto has_more = [&](int64_t slot) {
    return (goes_on[static_cast<size_t>(slot) / 64] >> (slot % 64)) & 1;
  };
  if (order == 1) {
    for (int64_t i = 0; i < n_words_; ++i) {
      float& backoff = built_.unigrams[2 * static_cast<size_t>(i) + 1];
      if (backoff == 0) backoff = has_more(i) ? 0.0f : -0.0f;
    }
    return;
  }
  const GramTable grams = table(order);
  const GramLayout& layout = grams.layout();
  uint64_t* const lines = built_.tables[static_cast<size_t>(order) - 2].lines.as<uint64_t>();
  const bool coded = !options_.codebooks.empty();
  parallel_for((layout.n_lines + kGrain - 1) / kGrain, options_.n_threads, [&](int64_t task, int) {
    const Block block = block_at(layout.n_lines, kGrain, task);
    for (int64_t slot = block.begin * layout.slots; slot < block.end * layout.slots; ++slot) {
      if (grams.backoff(slot) != 0) continue;
      set_backoff(lines, layout, slot, has_more(slot) ? (coded ? 1 : 0) : (coded ? 0 : kLeaf));
    }
  });
}

// Contexts that were missing get the probability that the n-grams below give them, the shortest first.
void NGramBuilder::score_added() {
  for (int order = 2; order < max_order(); ++order) {
    const Rows& rows = rows_[static_cast<size_t>(order) - 1];
    const auto all = tables();
    const NGramModel model({}, built_.unigrams.data(), {all.begin(), all.begin() + order - 2});
    for (int64_t i = rows.given; i < rows.size(); ++i) {
      const uint32_t* words = rows.words.data() + i * order;
      float log_prob = 0;
      for (int first = 1; first < order; ++first) {  // the longest n-gram that ends here
        const int length = order - first;
        const int64_t slot = model.find({words + first, static_cast<size_t>(length)});
        const int64_t context = model.find({words + first - 1, static_cast<size_t>(length)});
        if (context != kNoSlot) {
          const float b = length == 1 ? built_.unigrams[2 * static_cast<size_t>(context) + 1]
                                      : table(length).backoff(context);
          log_prob += b;
        }
        if (slot == kNoSlot) continue;
        log_prob +=
            length == 1 ? built_.unigrams[2 * static_cast<size_t>(slot)] : table(length).log_prob(slot);
        break;
      }
      const int64_t slot = NGramModel({}, built_.unigrams.data(), {all.begin(), all.begin() + order - 1})
                               .find({words, static_cast<size_t>(order)});
      const uint32_t value =
          options_.codebooks.empty()
              ? prob_bits_of(log_prob)
              : nearest(options_.codebooks[static_cast<size_t>(order) - 2].log_probs.data(), 256, log_prob);
      set_log_prob(built_.tables[static_cast<size_t>(order) - 2].lines.as<uint64_t>(),
                   layouts_[static_cast<size_t>(order) - 2], slot, value);
    }
  }
}

}  // namespace semproj::lm
