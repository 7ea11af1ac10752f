#pragma once
// Where the n-grams of a back-off model go, from the estimator or from a file: to its storage, or to a file.
//
// Orders count from 1. Ids: 0 is <unk>, 1 is <s>, 2 is </s>, then words. Logarithms have base 10. In order 1
// all ids from 0 up are there, each once; <s> is never predicted, so its log_prob is kLogZero.
//
// What our estimator keeps to, and files of others may not: if an n-gram is there, so is what is left of it
// without its first word, and without its last one. Only the first word of an n-gram is ever <s>, and only
// the last one </s>.

#include <cstdint>
#include <span>

namespace semproj::lm {

inline constexpr int kMaxOrder = 6;
inline constexpr uint32_t kUnknown = 0, kBegin = 1, kEnd = 2, kFirstWord = 3;
inline constexpr float kLogZero = -99.0f;  // as files have it

class NGramSink {
 public:
  virtual ~NGramSink() = default;

  // First, once: how many n-grams of each order will come, from order 1 to that of the model.
  virtual void begin(std::span<const int64_t> counts_by_order) = 0;

  // A block of n n-grams. Blocks of several orders may come in turns, each on the calling thread; within an
  // order, n-grams rise by their last word, then by the word before it, and so on. `words` has `order` ids
  // for each, in reading order. A back-off is 0 where nothing goes on from the n-gram, and so are all of the
  // last order, where `log_backoff` is null. Nothing of it lives longer than the call.
  virtual void add(int order, int64_t n, const uint32_t* words, const float* log_prob,
                   const float* log_backoff) = 0;

  // Last, once, if nothing has failed.
  virtual void end() = 0;
};

}  // namespace semproj::lm
