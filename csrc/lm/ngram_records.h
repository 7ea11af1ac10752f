#pragma once
// What is sorted and kept of an n-gram on its way from the text to the model.

#include <cstdint>

#include "lm/ngram_key.h"

namespace semproj::lm {

// As it comes from the text.
template <int kWords>
struct Occurrence {
  Key<kWords> key;
};

template <int kWords>
struct Counted {
  Key<kWords> key;
  uint64_t count;

  bool joins(const Counted& other) const { return key == other.key; }
  void join(const Counted& other) { count += other.count; }
};

// A count, and whether the n-gram is cut.
class Value {
 public:
  Value() = default;
  Value(uint64_t count, bool is_cut) : bits_(count << 1 | uint64_t{is_cut}) {}
  uint64_t count() const { return bits_ >> 1; }
  bool is_cut() const { return (bits_ & 1) != 0; }

 private:
  uint64_t bits_;
};

template <int kWords>
struct Valued {
  Key<kWords> key;
  Value value;
};

// With the probability of the n-gram without its first word, in context order.
template <int kWords>
struct Extended {
  Key<kWords> key;
  Value value;
  double lower;

  bool joins(const Extended&) const { return false; }
  void join(const Extended&) {}
};

template <int kWords>
struct Predicted {
  Key<kWords> key;
  double probability;

  bool joins(const Predicted&) const { return false; }
  void join(const Predicted&) {}
};

// Of a context: what the probabilities of the order below are multiplied by.
template <int kWords>
struct Backoff {
  Key<kWords> key;
  double factor;
};

}  // namespace semproj::lm
