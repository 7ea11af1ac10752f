#pragma once
// Words to ids, in memory that may be that of a file: an open-addressing hash table of slots of 16 bytes.
//
// A word of up to 11 bytes lies in its slot, so that finding it costs one line of the cache; of a longer one
// the slot has the hash, and its bytes are compared. The hash is fixed, since it is saved: should words of
// a model be so that many have one hash, another multiplier is tried when the table is made.

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "lm/ngram_sink.h"

namespace semproj::lm {

struct WordSlot {
  uint64_t head;  // the first 8 bytes, or the hash
  uint32_t rest;  // the next 3 bytes and, on top, the length + 1, or kLongWord; 0 in an empty slot
  uint32_t id;
};
static_assert(sizeof(WordSlot) == 16);

// A word as it is compared.
struct WordKey {
  uint64_t head, hash;
  uint32_t rest;
};

class WordTable {
 public:
  WordTable() = default;
  // Slots are a power of two; offsets have been checked to rise from 0 to the number of bytes.
  WordTable(const char* bytes, const int64_t* offsets, int64_t n_words, const WordSlot* slots,
            int64_t n_slots, uint64_t seed);

  int64_t size() const { return n_words_; }
  std::string_view word(uint32_t id) const {
    return {bytes_ + offsets_[id], static_cast<size_t>(offsets_[id + 1] - offsets_[id])};
  }

  // `readable` bytes from p on may be read, of which the word has the first `length`.
  WordKey key(const char* p, int64_t length, int64_t readable) const;
  void prefetch(const WordKey& key) const { __builtin_prefetch(slots_ + (key.hash >> shift_)); }
  // kUnknown where the word is not there.
  uint32_t find(const WordKey& key, const char* p, int64_t length) const;
  uint32_t find(std::string_view word) const {
    const auto n = static_cast<int64_t>(word.size());
    return find(key(word.data(), n, n), word.data(), n);
  }

 private:
  const char* bytes_ = nullptr;
  const int64_t* offsets_ = nullptr;
  const WordSlot* slots_ = nullptr;
  int64_t n_words_ = 0;
  uint64_t mask_ = 0, seed_ = 0;
  int shift_ = 0;
};

struct WordSlots {
  std::vector<WordSlot> slots;
  uint64_t seed;
};

// A word comes twice: the second time with this id.
class DuplicateWord : public std::invalid_argument {
 public:
  DuplicateWord(std::string_view word, uint32_t second);
  uint32_t id;
};

// Throws DuplicateWord.
WordSlots make_word_slots(const char* bytes, const int64_t* offsets, int64_t n_words);

}  // namespace semproj::lm
