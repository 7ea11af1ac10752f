#include "lm/ngram_scratch.h"

#include <algorithm>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

constexpr uint32_t kNothing = ~uint32_t{0};  // before the first word, where no sentence begins

// What kenlm's Python module divides words by.
constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool goes_on(float backoff) {
  return std::bit_cast<uint32_t>(backoff) != kLeaf;
}

}  // namespace

NGramScratch::NGramScratch(const NGramModel& model)
    : model_(model),
      ids_(kBlock + 1),
      log_probs_(kBlock + 1),
      orders_(kBlock + 1),
      slots_(static_cast<size_t>(model.order()) * (kBlock + 1), kNoSlot),
      backoffs_(static_cast<size_t>(model.order()) * (kBlock + 1)),
      active_(kBlock + 1),
      pending_(kBlock + 1) {}

void NGramScratch::clear() {
  n_ = n_pending_ = 0;
  pieces_.clear();
}

void NGramScratch::add(const SentenceRef& sentence, Bounds bounds, SentenceSum* sum,
                       std::vector<WordResult>* words) {
  begin_sentence(bounds.bos, sum, words);
  if (sentence.is_cut) {
    for (const WordRef& word : sentence.words) add_word(word.bytes, word.size, word.size);
  } else {
    add_text(sentence.text);
  }
  if (bounds.eos) add_id(kEnd);
}

void NGramScratch::begin_sentence(bool bos, SentenceSum* sum, std::vector<WordResult>* words) {
  if (n_ == kBlock) flush();
  if (n_ == 0) pieces_.clear();
  ++n_;
  pieces_.push_back({n_, true, sum, words});
  ids_[n_] = bos ? kBegin : kNothing;
}

void NGramScratch::add_text(const WordRef& text) {
  const char *p = text.bytes, *const end = p + text.size;
  for (;;) {
    while (p < end && is_space(*p)) ++p;
    if (p == end) return;
    const char* const begin = p;
    do ++p;
    while (p < end && !is_space(*p));
    add_word(begin, p - begin, end - begin);
  }
}

void NGramScratch::add_word(const char* bytes, int64_t size, int64_t readable) {
  if (n_ == kBlock) flush();
  PendingWord& word = pending_[++n_];
  ids_[n_] = kNothing - 1;
  word = {model_.words().key(bytes, size, readable), bytes, size};
  model_.words().prefetch(word.key);
  ++n_pending_;
}

void NGramScratch::add_id(uint32_t id) {
  if (n_ == kBlock) flush();
  ids_[++n_] = id;
}

void NGramScratch::find_words() {
  if (n_pending_ == 0) return;
  for (int i = 1; i <= n_; ++i) {
    if (ids_[i] != kNothing - 1) continue;
    const PendingWord& word = pending_[i];
    ids_[i] = model_.words().find(word.key, word.bytes, word.size);
    __builtin_prefetch(model_.unigrams() + 2 * static_cast<int64_t>(ids_[i]));
  }
  n_pending_ = 0;
}

void NGramScratch::flush() {
  if (n_ == 0) return;
  check_interrupt();
  find_words();
  score_unigrams();
  for (int order = 2; order <= model_.order(); ++order) score_order(order);
  sum_up();
  // The sentence may go on in the next block.
  for (int order = 1; order < model_.order(); ++order) {
    slot(order, 0) = slot(order, n_);
    backoff(order, 0) = backoff(order, n_);
  }
  const Piece last = pieces_.back();
  pieces_.clear();
  pieces_.push_back({0, false, last.sum, last.words});
  n_ = 0;
}

void NGramScratch::score_unigrams() {
  for (int i = 1; i <= n_; ++i) {
    const uint32_t id = ids_[i];
    if (id == kNothing) {
      slot(1, i) = kNoSlot;
      continue;
    }
    const float* entry = model_.unigrams() + 2 * static_cast<int64_t>(id);
    log_probs_[i] = entry[0];
    orders_[i] = 1;
    backoff(1, i) = entry[1];
    slot(1, i) = goes_on(entry[1]) ? id : kNoSlot;
  }
}

void NGramScratch::score_order(int order) {
  const GramTable& table = model_.tables()[static_cast<size_t>(order) - 2];
  const int64_t* contexts = &slot(order - 1, 0);
  const float* context_backoffs = &backoff(order - 1, 0);
  const bool last = order == model_.order();
  for (const Piece& piece : pieces_) {
    if (piece.has_head) slot(order - 1, piece.at - 1) = kNoSlot;  // nothing goes on into the next sentence
  }
  int n_active = 0;
  for (int i = 1; i <= n_; ++i) {
    active_[n_active] = i;
    n_active += contexts[i - 1] != kNoSlot;
  }
  if (!last) std::fill_n(&slot(order, 1), n_, kNoSlot);
  Home homes[kAhead];
  for (int a = 0; a < n_active + kAhead; ++a) {
    if (a >= kAhead) {
      const int i = active_[a - kAhead];
      const int64_t found = table.find(homes[a % kAhead]);
      if (found == kNoSlot) {
        log_probs_[i] += context_backoffs[i - 1];
      } else {
        log_probs_[i] = table.log_prob(found);
        orders_[i] = order;
        if (!last) {
          const float b = backoff(order, i) = table.backoff(found);
          if (goes_on(b)) slot(order, i) = found;
        }
      }
    }
    if (a < n_active) {
      const int i = active_[a];
      homes[a % kAhead] = table.home(contexts[i - 1], ids_[i]);
      table.prefetch(homes[a % kAhead]);
    }
  }
}

void NGramScratch::sum_up() {
  for (size_t p = 0; p < pieces_.size(); ++p) {
    const Piece& piece = pieces_[p];
    const int end = p + 1 < pieces_.size() ? pieces_[p + 1].at : n_ + 1;
    SentenceSum sum = *piece.sum;
    for (int i = piece.at + 1; i < end; ++i) {
      const double log_prob = log_probs_[i];
      const bool unknown = ids_[i] == kUnknown;
      sum.log_prob += log_prob;
      ++sum.words;
      if (unknown) {
        sum.unknown_log_prob += log_prob;
        ++sum.unknown_words;
      }
      if (piece.words != nullptr) piece.words->push_back({log_probs_[i], orders_[i], unknown});
    }
    *piece.sum = sum;
  }
}

}  // namespace semproj::lm
