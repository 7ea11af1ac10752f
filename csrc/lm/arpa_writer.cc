#include "lm/arpa_writer.h"

#include <algorithm>
#include <charconv>

#include "core/parallel.h"
#include "lm/ngram_listing.h"

namespace semproj::lm {
namespace {

constexpr int64_t kSlotsOfTask = 1 << 13, kTasks = 16;

void append(std::string* text, float number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text->append(digits, end);
}

bool is_leaf(float backoff) {
  return std::bit_cast<uint32_t>(backoff) == kLeaf;
}

}  // namespace

std::string ArpaWriter::next() {
  if (order_ == 0) {
    order_ = 1;
    return header();
  }
  if (order_ > model_.order()) return {};
  const int order = order_;
  const int64_t size =
      order == 1 ? model_.words().size() : model_.tables()[static_cast<size_t>(order) - 2].layout().n_slots();
  const int64_t begin = at_, end = std::min(size, begin + kTasks * kSlotsOfTask);
  std::vector<std::string> parts(static_cast<size_t>((end - begin + kSlotsOfTask - 1) / kSlotsOfTask));
  parallel_for(static_cast<int64_t>(parts.size()), n_threads_, [&](int64_t task, int) {
    const int64_t from = begin + task * kSlotsOfTask, to = std::min(end, from + kSlotsOfTask);
    parts[static_cast<size_t>(task)] = order == 1 ? unigrams(from, to) : ngrams(order, from, to);
  });
  std::string text;
  if (begin == 0) text.append("\n\\").append(std::to_string(order)).append("-grams:\n");
  for (const std::string& part : parts) text += part;
  at_ = end;
  if (end == size) {
    at_ = 0;
    if (order_++ == model_.order()) text += "\n\\end\\\n";
  }
  return text;
}

std::string ArpaWriter::header() const {
  std::string text = "\\data\\\n";
  for (size_t i = 0; i < counts_.size(); ++i) {
    text += "ngram " + std::to_string(i + 1) + "=" + std::to_string(counts_[i]) + "\n";
  }
  return text;
}

std::string ArpaWriter::unigrams(int64_t begin, int64_t end) const {
  std::string text;
  for (int64_t id = begin; id < end; ++id) {
    const float* entry = model_.unigrams() + 2 * id;
    append(&text, entry[0]);
    text += '\t';
    text += model_.words().word(static_cast<uint32_t>(id));
    if (model_.order() > 1 && !is_leaf(entry[1])) {
      text += '\t';
      append(&text, entry[1]);
    }
    text += '\n';
  }
  return text;
}

std::string ArpaWriter::ngrams(int order, int64_t begin, int64_t end) const {
  const ListedNGrams listed = list_ngrams(model_, order, begin, end);
  std::string text;
  const uint32_t* words = listed.words.data();
  for (size_t i = 0; i < listed.log_probs.size(); ++i, words += order) {
    append(&text, listed.log_probs[i]);
    for (int k = 0; k < order; ++k) {
      text += k == 0 ? '\t' : ' ';
      text += model_.words().word(words[k]);
    }
    if (order < model_.order() && !is_leaf(listed.backoffs[i])) {
      text += '\t';
      append(&text, listed.backoffs[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace semproj::lm
