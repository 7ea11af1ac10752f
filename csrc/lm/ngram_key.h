#pragma once
// The key of a packed n-gram (see key_layout.h), an integer of up to 192 bits, as it lies in memory.

#include <bit>
#include <cstdint>

#include "lm/wide.h"

namespace semproj::lm {

// The lowest word first, aligned as one word.
template <int kWords>
struct Key {
  uint64_t words[kWords];

  static Key of(const Wide<kWords>& value) {
    Key key;
    if constexpr (kWords == 1) key.words[0] = value;
    if constexpr (kWords == 2) {
      key.words[0] = static_cast<uint64_t>(value);
      key.words[1] = static_cast<uint64_t>(value >> 64);
    }
    if constexpr (kWords == 3) {
      for (int i = 0; i < 3; ++i) key.words[i] = value.a[i];
    }
    return key;
  }

  Wide<kWords> value() const {
    if constexpr (kWords == 1) return words[0];
    if constexpr (kWords == 2) return static_cast<unsigned __int128>(words[1]) << 64 | words[0];
    if constexpr (kWords == 3) {
      Wide192 value;
      for (int i = 0; i < 3; ++i) value.a[i] = words[i];
      return value;
    }
  }

  friend bool operator==(const Key&, const Key&) = default;
  friend bool operator<(const Key& x, const Key& y) {
    if constexpr (kWords == 1) return x.words[0] < y.words[0];
    return x.value() < y.value();
  }

  // Up to 32 bits from `low` on.
  uint32_t bits(int low, uint32_t mask) const {
    if constexpr (kWords == 1) return static_cast<uint32_t>(words[0] >> low) & mask;
    const int word = low >> 6, shift = low & 63;
    uint64_t found = words[word] >> shift;
    if (shift > 32 && word + 1 < kWords) found |= words[word + 1] << (64 - shift);
    return static_cast<uint32_t>(found) & mask;
  }

  int leading_zeros() const {
    for (int i = kWords - 1; i >= 0; --i) {
      if (words[i] != 0) return 64 * (kWords - 1 - i) + std::countl_zero(words[i]);
    }
    return 64 * kWords;
  }

  int trailing_zeros() const {
    for (int i = 0; i < kWords; ++i) {
      if (words[i] != 0) return 64 * i + std::countr_zero(words[i]);
    }
    return 64 * kWords;
  }
};

}  // namespace semproj::lm
