#include "lm/ngram_model.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/parallel.h"
#include "lm/ngram_scratch.h"

namespace semproj::lm {
namespace {

constexpr int64_t kTaskBytes = 1 << 15;
constexpr int64_t kSentenceBytes = 64;  // what a sentence costs besides its words
constexpr size_t kMostIdle = 64;

int64_t size_of(const SentenceRef& sentence) {
  return kSentenceBytes +
         (sentence.is_cut ? 8 * static_cast<int64_t>(sentence.words.size()) : sentence.text.size);
}

}  // namespace

NGramModel::NGramModel(WordTable words, const float* unigrams, std::vector<GramTable> tables)
    : words_(words), unigrams_(unigrams), tables_(std::move(tables)) {
  if (order() > kMaxOrder)
    throw std::invalid_argument("order: expected at most " + std::to_string(kMaxOrder));
}

NGramModel::~NGramModel() = default;

std::unique_ptr<NGramScratch> NGramModel::take_scratch() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto scratch = std::move(idle_.back());
      idle_.pop_back();
      return scratch;
    }
  }
  return std::make_unique<NGramScratch>(*this);
}

void NGramModel::give_back(std::unique_ptr<NGramScratch> scratch) const {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(scratch));
}

SentenceSum NGramModel::score(const SentenceRef& sentence, Bounds bounds,
                              std::vector<WordResult>* words) const {
  auto scratch = take_scratch();
  SentenceSum sum;
  scratch->add(sentence, bounds, &sum, words);  // if it throws, the scratch is not used again
  scratch->flush();
  scratch->clear();
  give_back(std::move(scratch));
  return sum;
}

void NGramModel::score_batch(std::span<const SentenceRef> sentences, Bounds bounds, SentenceSum* sums,
                             int n_threads) const {
  std::vector<int64_t> starts{0};
  int64_t bytes = 0;
  for (size_t i = 0; i < sentences.size(); ++i) {
    bytes += size_of(sentences[i]);
    if (bytes < kTaskBytes && i + 1 < sentences.size()) continue;
    starts.push_back(static_cast<int64_t>(i) + 1);
    bytes = 0;
  }
  std::vector<std::unique_ptr<NGramScratch>> scratches(static_cast<size_t>(std::max(1, n_threads)));
  parallel_for(static_cast<int64_t>(starts.size()) - 1, n_threads, [&](int64_t task, int worker) {
    auto& scratch = scratches[static_cast<size_t>(worker)];
    if (!scratch) scratch = take_scratch();
    for (int64_t i = starts[static_cast<size_t>(task)]; i < starts[static_cast<size_t>(task) + 1]; ++i) {
      sums[i] = {};
      scratch->add(sentences[static_cast<size_t>(i)], bounds, &sums[i], nullptr);
    }
    scratch->flush();
    scratch->clear();
  });
  for (auto& scratch : scratches) {
    if (scratch) give_back(std::move(scratch));
  }
}

NGramState NGramModel::begin_state() const {
  NGramState state;
  advance({}, kBegin, &state);
  return state;
}

WordResult NGramModel::advance(const NGramState& state, uint32_t word, NGramState* next) const {
  const float* entry = unigrams_ + 2 * static_cast<int64_t>(word);
  WordResult result{entry[0], 1, word == kUnknown};
  NGramState after;
  const auto keep = [&](int length, int64_t slot, float backoff) {
    if (length >= order()) return;
    const bool more = std::bit_cast<uint32_t>(backoff) != kLeaf;
    after.slots[length - 1] = more ? slot : kNoSlot;
    after.backoffs[length - 1] = backoff;
    if (more) after.length = length;
  };
  std::fill(std::begin(after.slots), std::end(after.slots), kNoSlot);
  keep(1, word, entry[1]);
  Home homes[kMaxOrder - 1] = {};
  const int longest = std::min(state.length, order() - 1);
  for (int k = 0; k < longest; ++k) {
    if (state.slots[k] == kNoSlot) continue;
    homes[k] = tables_[static_cast<size_t>(k)].home(state.slots[k], word);
    tables_[static_cast<size_t>(k)].prefetch(homes[k]);
  }
  for (int k = 0; k < longest; ++k) {
    if (state.slots[k] == kNoSlot) continue;
    const GramTable& table = tables_[static_cast<size_t>(k)];
    const int64_t found = table.find(homes[k]);
    if (found == kNoSlot) {
      result.log_prob += state.backoffs[k];
      continue;
    }
    result.log_prob = table.log_prob(found);
    result.order = k + 2;
    if (k + 2 < order()) keep(k + 2, found, table.backoff(found));
  }
  for (int k = after.length; k-- > 0;) after.words[k] = k == 0 ? word : state.words[k - 1];
  for (int k = after.length; k < kMaxOrder - 1; ++k) {
    after.slots[k] = kNoSlot;
    after.backoffs[k] = 0;
  }
  *next = after;
  return result;
}

int64_t NGramModel::find(std::span<const uint32_t> words) const {
  int64_t slot = words[0];
  for (size_t k = 1; k < words.size() && slot != kNoSlot; ++k) {
    slot = tables_[k - 1].find(tables_[k - 1].home(slot, words[k]));
  }
  return slot;
}

}  // namespace semproj::lm
