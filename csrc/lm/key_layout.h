#pragma once
// N-grams packed into integers of 64, 128 or 192 bits.
//
// A word has b bits, its code: id + 1, so that 0 means "no word": what a sentence does not reach back to. In
// suffix order the last word is on top, so that keys rise by their last word, then by the one before it. In
// context order the last word has moved below all others: keys rise by their context (in its suffix order),
// then by the word that follows it. An n-gram that begins with <s> has zeros below it up to the order that is
// counted.

#include <array>
#include <cstdint>

#include "lm/ngram_key.h"

namespace semproj::lm {

// Where the words of n-grams of one order are.
template <int kWords>
class KeyLayout {
 public:
  KeyLayout(int order, int word_bits) : order_(order), bits_(word_bits) {
    for (int zeros = 0; zeros <= 64 * kWords; ++zeros) {
      const int used = zeros - (64 * kWords - order * word_bits);
      common_[zeros] = static_cast<uint8_t>(used < 0 ? 0 : used / word_bits);
      absent_[zeros] = static_cast<uint8_t>(zeros / word_bits);
    }
    mask_ = (uint64_t{1} << word_bits) - 1;
    below_ = order == 1 ? Wide<kWords>(0) : ones((order - 1) * word_bits);
  }

  int order() const { return order_; }
  int word_bits() const { return bits_; }
  int key_bits() const { return order_ * bits_; }

  // The code i words before the last one.
  uint32_t code(const Key<kWords>& key, int i) const {
    return key.bits((order_ - 1 - i) * bits_, static_cast<uint32_t>(mask_));
  }

  // An n-gram that ends one word later.
  Wide<kWords> next(const Wide<kWords>& value, uint32_t code) const {
    return (value >> bits_) | (Wide<kWords>(code) << ((order_ - 1) * bits_));
  }

  // The key of its last n words, in the layout of that order.
  Key<kWords> suffix(const Key<kWords>& key, int n) const {
    return n == order_ ? key : Key<kWords>::of(key.value() >> ((order_ - n) * bits_));
  }

  Key<kWords> to_context_order(const Key<kWords>& key) const {
    const Wide<kWords> v = key.value();
    return Key<kWords>::of(((v & below_) << bits_) | (v >> ((order_ - 1) * bits_)));
  }
  Key<kWords> to_suffix_order(const Key<kWords>& key) const {
    const Wide<kWords> v = key.value();
    const auto last = static_cast<uint32_t>(static_cast<uint64_t>(v) & mask_);
    return Key<kWords>::of((v >> bits_) | (Wide<kWords>(last) << ((order_ - 1) * bits_)));
  }
  // Of a key in context order, in the layout of the order below.
  Key<kWords> context(const Key<kWords>& key) const { return Key<kWords>::of(key.value() >> bits_); }

  // How many words two keys have in common at the end; different keys, so fewer than the order.
  int common(const Key<kWords>& x, const Key<kWords>& y) const {
    Key<kWords> difference;
    for (int i = 0; i < kWords; ++i) difference.words[i] = x.words[i] ^ y.words[i];
    return common_[difference.leading_zeros()];
  }

  // How many words it has: fewer than the order if it begins with <s>.
  int length(const Key<kWords>& key) const { return order_ - absent_[key.trailing_zeros()]; }

 private:
  static Wide<kWords> ones(int n) {
    Wide<kWords> value(0);
    for (int i = 0; i < n; i += 32) {
      const int some = n - i < 32 ? n - i : 32;
      value = value | (Wide<kWords>((uint64_t{1} << some) - 1) << i);
    }
    return value;
  }

  int order_, bits_;
  uint64_t mask_;
  Wide<kWords> below_;
  std::array<uint8_t, 64 * kWords + 1> common_, absent_;
};

}  // namespace semproj::lm
