#pragma once
// Words to n-grams: runs of 1 to n words joined by a space.

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "text/tokenize.h"

namespace semproj::text {

// The words are copied with one space between them, so that every n-gram is a piece of the copy. The last n -
// 1 words are kept from one piece of a document to the next.
class Ngrams {
 public:
  explicit Ngrams(int longest) : longest_(longest) {}

  void start() { size_ = n_words_ = 0; }

  // The n-grams that end in one of these words; valid until the next call.
  Spans expand(const Spans& words) {
    if (longest_ == 1) return words;
    keep_last();
    const int64_t n_kept = n_words_;
    for (int64_t i = 0; i < words.count; ++i) {
      append(words.text + words.bounds[2 * i], words.bounds[2 * i + 1] - words.bounds[2 * i]);
    }
    spans_.clear();
    for (int64_t last = n_kept; last < n_words_; ++last) {
      for (int n = 1; n <= longest_ && n <= last + 1; ++n) {
        spans_.push_back(words_[2 * (last - n + 1)]);
        spans_.push_back(words_[2 * last + 1]);
      }
    }
    return {text_.data(), spans_.data(), static_cast<int64_t>(spans_.size() / 2)};
  }

 private:
  void keep_last() {
    const int64_t kept = n_words_ < longest_ - 1 ? n_words_ : longest_ - 1;
    if (kept == 0) {
      start();
      return;
    }
    const int64_t first = n_words_ - kept;
    const uint32_t shift = words_[2 * first];
    for (int64_t i = 0; i < 2 * kept; ++i) words_[i] = words_[2 * first + i] - shift;
    std::memmove(text_.data(), text_.data() + shift, size_ - shift);
    size_ -= shift;
    n_words_ = kept;
  }

  void append(const char* p, int64_t length) {
    const int64_t needed = size_ + length + 1 + kPadding;
    if (needed > std::numeric_limits<uint32_t>::max()) throw TextError("a document has an n-gram above 4 GB");
    if (static_cast<int64_t>(text_.size()) < needed) text_.resize(needed + needed / 2);
    if (static_cast<int64_t>(words_.size()) < 2 * n_words_ + 2) words_.resize(4 * n_words_ + 64);
    if (length > 0) std::memcpy(text_.data() + size_, p, length);
    words_[2 * n_words_] = static_cast<uint32_t>(size_);
    words_[2 * n_words_ + 1] = static_cast<uint32_t>(size_ + length);
    ++n_words_;
    size_ += length;
    text_[size_++] = ' ';
  }

  int longest_;
  std::vector<char> text_;
  std::vector<uint32_t> words_;  // bounds of each word in text_
  std::vector<uint32_t> spans_;
  int64_t size_ = 0;
  int64_t n_words_ = 0;
};

}  // namespace semproj::text
