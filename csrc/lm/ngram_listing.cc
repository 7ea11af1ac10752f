#include "lm/ngram_listing.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

constexpr int64_t kSlotsAtOnce = 1 << 16;

[[noreturn]] void damaged() {
  throw std::invalid_argument("tables: hold an n-gram whose words are not in the model");
}

}  // namespace

ListedNGrams list_ngrams(const NGramModel& model, int order, int64_t begin, int64_t end) {
  const GramTable& own = model.tables()[static_cast<size_t>(order) - 2];
  ListedNGrams listed;
  std::vector<int64_t> contexts;
  for (int64_t slot = begin; slot < end; ++slot) {
    int64_t context;
    uint32_t word;
    if (!own.read(slot, &context, &word)) continue;
    contexts.push_back(context);
    listed.words.resize(listed.words.size() + static_cast<size_t>(order));
    listed.words.back() = word;
    listed.log_probs.push_back(own.log_prob(slot));
    listed.backoffs.push_back(order < model.order() ? own.backoff(slot) : 0);
  }
  const size_t n = contexts.size();
  for (int k = order - 1; k >= 1; --k) {
    uint32_t* const column = listed.words.data() + k - 1;
    for (size_t i = 0; i < n; ++i) {
      uint32_t& word = column[i * static_cast<size_t>(order)];
      if (k == 1) {
        word = static_cast<uint32_t>(std::min<int64_t>(contexts[i], UINT32_MAX));
        continue;
      }
      const GramTable& table = model.tables()[static_cast<size_t>(k) - 2];
      if (contexts[i] >= table.layout().n_slots() || !table.read(contexts[i], &contexts[i], &word)) damaged();
    }
  }
  for (const uint32_t word : listed.words) {
    if (word >= model.words().size()) damaged();
  }
  return listed;
}

void send_all(const NGramModel& model, const std::vector<int64_t>& counts, NGramSink* sink) {
  sink->begin(counts);
  const auto n_words = static_cast<size_t>(model.words().size());
  std::vector<uint32_t> ids(n_words);
  std::iota(ids.begin(), ids.end(), uint32_t{0});
  std::vector<float> log_probs(n_words), backoffs(n_words);
  for (size_t i = 0; i < n_words; ++i) {
    log_probs[i] = model.unigrams()[2 * i];
    backoffs[i] = model.unigrams()[2 * i + 1];
  }
  sink->add(1, static_cast<int64_t>(n_words), ids.data(), log_probs.data(), backoffs.data());
  for (int order = 2; order <= model.order(); ++order) {
    const int64_t n_slots = model.tables()[static_cast<size_t>(order) - 2].layout().n_slots();
    for (int64_t begin = 0; begin < n_slots; begin += kSlotsAtOnce) {
      check_interrupt();
      const ListedNGrams listed = list_ngrams(model, order, begin, std::min(n_slots, begin + kSlotsAtOnce));
      sink->add(order, static_cast<int64_t>(listed.log_probs.size()), listed.words.data(),
                listed.log_probs.data(), order < model.order() ? listed.backoffs.data() : nullptr);
    }
  }
  sink->end();
}

}  // namespace semproj::lm
