#include "lm/ngram_builder.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/parallel.h"
#include "lm/ngram_model.h"
#include "lm/ngram_spill.h"

namespace semproj::lm {
namespace {

constexpr int64_t kGrain = 1 << 14;  // n-grams of a task
constexpr int kAhead = 32;           // look-ups that are under way
constexpr int kMostFailures = 24;
constexpr int64_t kRowBytes = 16;                // of the key and the values of an n-gram
constexpr int64_t kReserved = int64_t{1} << 26;  // n-grams that counts are trusted for

}  // namespace

DuplicateNGram::DuplicateNGram(int n_words, int64_t number)
    : std::invalid_argument("an n-gram of order " + std::to_string(n_words) + " comes twice"),
      order(n_words),
      index(number) {}

int bits_for(int64_t n) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(n, 1) - 1))));
}

NGramBuilder::NGramBuilder(BuilderOptions options) : options_(std::move(options)) {}
NGramBuilder::~NGramBuilder() = default;

void NGramBuilder::begin(std::span<const int64_t> counts_by_order) {
  rows_ = std::vector<Rows>(counts_by_order.size());
  if (rows_.empty() || max_order() > kMaxOrder) throw std::invalid_argument("order: expected 1 to 6");
  built_ = {};
  layouts_.clear();
  n_words_ = counts_by_order[0];
  spill_.reset();
  expected_.assign(counts_by_order.begin(), counts_by_order.end());
  made_ = 0;
  double bytes = 0;  // of the n-grams of an order, as they come and as they are dealt
  for (int order = 2; order <= max_order(); ++order) {
    const auto n = static_cast<double>(expected_[static_cast<size_t>(order) - 1]);
    bytes = std::max(bytes, n * static_cast<double>(kRowBytes + kFillingBytes));
  }
  if (in_turn() && bytes > static_cast<double>(options_.memory)) {
    spill_ = std::make_unique<NGramSpill>(options_.memory, options_.folder, counts_by_order);
  }
}

void NGramBuilder::add(int order, int64_t n, const uint32_t* words, const float* log_prob,
                       const float* log_backoff) {
  if (spill_) {
    spill_->add(order, n, words, log_prob, log_backoff);
    return;
  }
  while (in_turn() && made_ < order - 1) make(++made_);
  if (made_ >= order) throw std::invalid_argument("n-grams: expected one order after the other");
  Rows& rows = rows_[static_cast<size_t>(order) - 1];
  if (rows.size() == 0) reserve(order);
  if (order == 1) {
    for (int64_t i = 0; i < n; ++i) {
      if (words[i] != rows.size() + i) throw std::invalid_argument("unigrams: expected all words in order");
    }
  } else {
    for (int64_t i = 0; i < n * order; ++i) {
      if (words[i] >= n_words_) throw std::invalid_argument("words: expected ids of unigrams");
    }
    if (in_turn()) {
      const size_t before = rows.keys.size();
      rows.keys.resize(before + static_cast<size_t>(n));
      if (!find_keys(order, n, words, rows.keys.data() + before).empty()) {
        throw std::invalid_argument("n-grams: expected their contexts among them");
      }
    } else {
      rows.words.insert(rows.words.end(), words, words + n * order);
    }
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
  if (spill_) {
    built_ = spill_->end();
    spill_.reset();
    return;
  }
  if (in_turn()) {
    while (made_ < max_order()) make(++made_);
  } else {
    set_unigrams();
    bool again = true;
    while (again) {
      again = false;
      for (int order = 2; order <= max_order() && !again; ++order) {
        // What was missing belongs into a table that is there already.
        again = !make_table(order);
      }
    }
    if (max_order() > 1) score_added();
  }
  rows_.clear();
}

void NGramBuilder::reserve(int order) {
  const auto n = static_cast<size_t>(std::min(expected_[static_cast<size_t>(order) - 1], kReserved));
  Rows& rows = rows_[static_cast<size_t>(order) - 1];
  if (order > 1 && in_turn()) rows.keys.reserve(n);
  if (order > 1 && !in_turn()) rows.words.reserve(n * static_cast<size_t>(order));
  rows.log_probs.reserve(n);
  if (order < max_order()) rows.backoffs.reserve(n);
}

void NGramBuilder::make(int order) {
  if (order == 1) {
    set_unigrams();
  } else {
    fill(order);
    mark_leaves(order - 1);
  }
  rows_[static_cast<size_t>(order) - 1] = {};
}

void NGramBuilder::set_unigrams() {
  const Rows& first = rows_[0];
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
}

bool NGramBuilder::make_table(int order) {
  Rows& rows = rows_[static_cast<size_t>(order) - 1];
  rows.keys.resize(static_cast<size_t>(rows.size()));
  const auto missing = find_keys(order, rows.size(), rows.words.data(), rows.keys.data());
  if (!missing.empty()) {
    add_contexts(order, missing);
    return false;
  }
  fill(order);
  mark_leaves(order - 1);
  return true;
}

GramTable NGramBuilder::table(int order) const {
  const auto at = static_cast<size_t>(order) - 2;
  const Codebook* book = codebook(order);
  return {built_.tables[at].lines.as<const uint64_t>(), layouts_[at], book ? book->log_probs.data() : nullptr,
          book ? book->backoffs.data() : nullptr};
}

std::vector<GramTable> NGramBuilder::tables() const {
  std::vector<GramTable> all;
  for (int order = 2; order <= max_order(); ++order) all.push_back(table(order));
  return all;
}

std::vector<int64_t> NGramBuilder::find_keys(int order, int64_t n, const uint32_t* words,
                                             uint64_t* keys) const {
  std::mutex mutex;
  std::vector<int64_t> missing;
  parallel_for(block_count(n, kGrain), options_.n_threads, [&](int64_t task, int) {
    const Block block = block_at(n, kGrain, task);
    std::vector<int64_t> slots(static_cast<size_t>(block.end - block.begin));
    const auto slot = [&](int64_t i) -> int64_t& { return slots[static_cast<size_t>(i - block.begin)]; };
    for (int64_t i = block.begin; i < block.end; ++i) slot(i) = words[i * order];
    for (int k = 2; k < order; ++k) {
      const GramTable grams = table(k);
      Home homes[kAhead];
      for (int64_t i = block.begin; i < block.end + kAhead; ++i) {
        if (const int64_t done = i - kAhead; done >= block.begin && slot(done) != kNoSlot) {
          slot(done) = grams.find(homes[done % kAhead]);
        }
        if (i < block.end && slot(i) != kNoSlot) {
          homes[i % kAhead] = grams.home(slot(i), words[i * order + k - 1]);
          grams.prefetch(homes[i % kAhead]);
        }
      }
    }
    for (int64_t i = block.begin; i < block.end; ++i) {
      keys[i] = (static_cast<uint64_t>(slot(i)) << word_bits()) | words[i * order + order - 1];
      if (slot(i) == kNoSlot) {
        const std::lock_guard lock(mutex);
        missing.push_back(i);
      }
    }
  });
  return missing;
}

// Rare, and never so from our own estimator. Prefixes that are missing themselves turn up in the next round.
void NGramBuilder::add_contexts(int order, const std::vector<int64_t>& missing) {
  std::vector<std::vector<uint32_t>> prefixes;
  for (const int64_t i : missing) {
    const uint32_t* words = rows_[static_cast<size_t>(order) - 1].words.data() + i * order;
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
}

void NGramBuilder::fill(int order) {
  for (int failures = 0; !try_fill(order, failures); ++failures) {
    if (failures == kMostFailures) throw std::runtime_error("a table of n-grams cannot be filled");
  }
}

bool NGramBuilder::try_fill(int order, int failures) {
  const auto at = static_cast<size_t>(order) - 2;
  const Rows& rows = rows_[at + 1];
  const int64_t n = rows.size();
  const int context_bits = order == 2 ? word_bits() : bits_for(layouts_[at - 1].n_slots());
  const int64_t n_lines = lines_for(n, context_bits, word_bits(), prob_bits(), backoff_bits(order), failures);
  const GramLayout layout = layout_for(n_lines, context_bits, word_bits(), prob_bits(), backoff_bits(order));
  built_.tables[at] = {};
  built_.tables[at] = {Pages(static_cast<size_t>(n_lines) * kLineWords * sizeof(uint64_t)), n_lines, n};
  layouts_[at] = layout;
  std::vector<uint64_t> twice;
  const bool fits = fill_table({rows.keys, rows.log_probs, rows.backoffs}, table(order), codebook(order),
                               options_.n_threads, built_.tables[at].lines.as<uint64_t>(), &twice);
  if (!twice.empty()) throw DuplicateNGram(order, first_repeat(order, twice));
  return fits;
}

// The first n-gram whose key came before, of keys that are known to come again.
int64_t NGramBuilder::first_repeat(int order, const std::vector<uint64_t>& keys) const {
  std::unordered_map<uint64_t, bool> seen;
  for (const uint64_t key : keys) seen[key] = false;
  const std::vector<uint64_t>& all = rows_[static_cast<size_t>(order) - 1].keys;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto found = seen.find(all[i]);
    if (found != seen.end() && std::exchange(found->second, true)) return static_cast<int64_t>(i);
  }
  return -1;
}

// A context from which an n-gram goes on has any back-off but -0; one from which nothing does, and whose
// back-off is 0, need not be kept in mind.
void NGramBuilder::mark_leaves(int order) {
  const int64_t n_slots = order == 1 ? n_words_ : layouts_[static_cast<size_t>(order) - 2].n_slots();
  std::vector<uint64_t> goes_on((static_cast<size_t>(n_slots) + 63) / 64, 0);
  const std::vector<uint64_t>& longer = rows_[static_cast<size_t>(order)].keys;
  in_stretches(0, static_cast<int64_t>(longer.size()), [&](int64_t i) {
    const uint64_t slot = longer[static_cast<size_t>(i)] >> word_bits();
    goes_on[slot / 64] |= uint64_t{1} << (slot % 64);
  });
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
      set_log_prob(built_.tables[static_cast<size_t>(order) - 2].lines.as<uint64_t>(),
                   layouts_[static_cast<size_t>(order) - 2], slot,
                   stored_log_prob(codebook(order), log_prob));
    }
  }
}

}  // namespace semproj::lm
