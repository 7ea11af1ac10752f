#pragma once
// Lines of a table of n-grams, bit by bit, and how keys are mixed: see gram_table.h.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace semproj::lm {

inline constexpr int kLineWords = 8;            // of 64 bits
inline constexpr int64_t kNoSlot = -1;          // where nothing was found, or nothing goes on
inline constexpr uint32_t kLeaf = 0x80000000u;  // the bits of -0

// Where things are in the lines of a table. Follows from four numbers, so that a file cannot lie about it.
struct GramLayout {
  int64_t n_lines, group;  // group is a power of two that divides n_lines
  int context_bits, word_bits, key_bits;
  int low_bits, tag_bits;
  int prob_bits, backoff_bits;
  int slots;  // of a line
  int prob_at, backoff_at;

  int64_t n_slots() const { return n_lines * slots; }
};

// The fewest lines that n n-grams need, or more after failures. Throws std::length_error where keys have no
// room in 64 bits.
int64_t lines_for(int64_t n, int context_bits, int word_bits, int prob_bits, int backoff_bits, int failures);
// Throws std::invalid_argument unless n_lines is what lines_for may return.
GramLayout layout_for(int64_t n_lines, int context_bits, int word_bits, int prob_bits, int backoff_bits);

inline uint64_t low_mask(int bits) {
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// Bits [at, at + bits) of a line; at most 57 of them.
inline uint64_t bits_of(const uint64_t* line, int at, int bits) {
  const int byte = std::min(at >> 3, 56);
  uint64_t v;
  std::memcpy(&v, reinterpret_cast<const char*>(line) + byte, sizeof v);
  return (v >> (at - 8 * byte)) & low_mask(bits);
}

// Bijections of K bits: two rounds of xor-shift and product.
class Mixer {
 public:
  explicit Mixer(int bits) : bits_(bits), shift_((bits + 1) / 2), mask_(low_mask(bits)) {}

  uint64_t mix(uint64_t x) const {
    x = ((x ^ (x >> shift_)) * kFirst) & mask_;
    x = ((x ^ (x >> shift_)) * kSecond) & mask_;
    return x ^ (x >> shift_);
  }
  uint64_t unmix(uint64_t x) const {
    x ^= x >> shift_;
    x = (x * inverse(kSecond)) & mask_;
    x ^= x >> shift_;
    x = (x * inverse(kFirst)) & mask_;
    return x ^ (x >> shift_);
  }

 private:
  static constexpr uint64_t kFirst = 0x9E3779B97F4A7C15u, kSecond = 0xD6E8FEB86659FD93u;
  // By Newton's method: each step doubles the bits that are right.
  static constexpr uint64_t inverse(uint64_t odd) {
    uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  }
  int bits_, shift_;
  uint64_t mask_;
};

}  // namespace semproj::lm
