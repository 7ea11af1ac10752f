#pragma once
// All n-grams of one order above 1: a hash table of cache lines, in which nothing is lost.
//
// The key of an n-gram is the slot of its context (that without the last word) in the table of the order
// below, then the id of its last word. A key is mixed by a bijection of its K bits. With L lines, the line of
// a mixed key m is floor(m L / 2^K), so that a line has 2^K / L keys in a row, which their lowest bits tell
// apart: only those are stored. So look-ups are exact, an n-gram that is not there is never found, and
// all n-grams can be read back.
//
// A line has 512 bits: first the tags of all its slots, then their log_probs, then their back-offs, and in
// the last 4 bits how far the n-grams of this line have been put. A tag is how many lines an n-gram lies
// behind its own, then the lowest bits of its mixed key. Lines are filled to 4/5; about one look-up in six
// goes on to the next line. Steps stay within a group of lines: groups can be filled by themselves.
//
// Values are of float32, without the sign of log_prob, which is never positive; or the numbers of 2^bits
// values that a codebook has. The back-off -0 says that nothing goes on from this n-gram.
//
// With 200 thousand words, a middle order has 5 slots a line and takes 16 bytes an n-gram, the last order 9
// and 8.9; with 8 bits a value 12 and 6.7, 15 and 5.3.

#include <bit>
#include <cstdint>

#include "lm/gram_layout.h"

namespace semproj::lm {

// A key's line, and the lowest bits of what it is mixed to.
struct Home {
  int64_t line;
  uint64_t low;
};

// Reads one table. Does not own its memory; any bytes are safe to read.
class GramTable {
 public:
  GramTable(const uint64_t* lines, const GramLayout& layout, const float* prob_codes,
            const float* backoff_codes)
      : lines_(lines),
        layout_(layout),
        mixer_(layout.key_bits),
        prob_codes_(prob_codes),
        backoff_codes_(backoff_codes) {}

  const GramLayout& layout() const { return layout_; }

  uint64_t key(int64_t context, uint32_t word) const {
    return (static_cast<uint64_t>(context) << layout_.word_bits) | word;
  }
  Home home(int64_t context, uint32_t word) const { return home(key(context, word)); }
  Home home(uint64_t key) const {
    const uint64_t m = mixer_.mix(key);
    const auto product =
        static_cast<unsigned __int128>(m << (64 - layout_.key_bits)) * static_cast<uint64_t>(layout_.n_lines);
    return {static_cast<int64_t>(product >> 64), m & low_mask(layout_.low_bits)};
  }

  void prefetch(const Home& home) const { __builtin_prefetch(lines_ + home.line * kLineWords); }

  int64_t find(const Home& home) const {
    const uint64_t* line = line_at(home.line);
    const uint64_t reach = line[kLineWords - 1] >> 60;
    int64_t at = home.line;
    uint64_t wanted = home.low;
    for (uint64_t behind = 0;; ++behind) {
      for (int i = 0, bit = 0; i < layout_.slots; ++i, bit += layout_.tag_bits) {
        if (bits_of(line, bit, layout_.tag_bits) == wanted) return at * layout_.slots + i;
      }
      if (behind >= reach) return kNoSlot;
      at = next(at);
      line = line_at(at);
      wanted += uint64_t{1} << layout_.low_bits;
    }
  }

  float log_prob(int64_t slot) const {
    const auto v = static_cast<uint32_t>(value(slot, layout_.prob_at, layout_.prob_bits));
    return prob_codes_ == nullptr ? std::bit_cast<float>(v | kLeaf) : prob_codes_[v];
  }
  float backoff(int64_t slot) const {
    const auto v = static_cast<uint32_t>(value(slot, layout_.backoff_at, layout_.backoff_bits));
    return backoff_codes_ == nullptr ? std::bit_cast<float>(v) : backoff_codes_[v];
  }

  int64_t next(int64_t line) const {
    const int64_t within = layout_.group - 1;
    return (line & ~within) | ((line + 1) & within);
  }

  // The context and the word of a slot; false where there is none.
  bool read(int64_t slot, int64_t* context, uint32_t* word) const;

 private:
  const uint64_t* line_at(int64_t line) const { return lines_ + line * kLineWords; }
  uint64_t value(int64_t slot, int start, int bits) const {
    const int64_t line = slot / layout_.slots;
    return bits_of(line_at(line), start + static_cast<int>(slot - line * layout_.slots) * bits, bits);
  }

  const uint64_t* lines_;
  GramLayout layout_;
  Mixer mixer_;
  const float *prob_codes_, *backoff_codes_;
};

// Writes lines of a table. Groups of lines do not share anything.
void clear_lines(uint64_t* lines, int64_t n_lines);

enum class Put { done, twice, full };

// Puts an n-gram into the first slot that is free. `lines` has the lines from `first` on, whole groups.
Put put_gram(uint64_t* lines, int64_t first, const GramLayout& layout, const Home& home, uint32_t prob_value,
             uint32_t backoff_value, int64_t* slot);

// Changes a value of a slot. `lines` are those of the whole table.
void set_log_prob(uint64_t* lines, const GramLayout& layout, int64_t slot, uint32_t value);
void set_backoff(uint64_t* lines, const GramLayout& layout, int64_t slot, uint32_t value);

// What is stored of a number where there is no codebook.
inline uint32_t prob_bits_of(float log_prob) {
  return std::bit_cast<uint32_t>(log_prob) & ~kLeaf;
}

}  // namespace semproj::lm
