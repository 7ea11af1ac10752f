#include "lm/word_table.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "lm/quoted.h"

namespace semproj::lm {
namespace {

constexpr int64_t kInlineBytes = 11;
constexpr uint32_t kLongWord = 0xFF000000u;
constexpr int64_t kFar = 128;  // slots that a look-up passes at most
constexpr int kMostSeeds = 16;

uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

uint64_t hash_long(const char* p, int64_t length, uint64_t seed) {
  uint64_t h = seed ^ static_cast<uint64_t>(length);
  const char* const last = p + length - 8;
  for (; p < last; p += 8) h = fold(h ^ load64(p), 0xA24BAED4963EE407u ^ (h >> 32));
  return fold(h ^ load64(last), 0x9FB21C651E98DF25u);
}

constexpr uint64_t seed_of(int attempt) {
  return 0xE7037ED1A0B428DBu + 0x9E3779B97F4A7C15u * static_cast<uint64_t>(attempt);
}

}  // namespace

WordTable::WordTable(const char* bytes, const int64_t* offsets, int64_t n_words, const WordSlot* slots,
                     int64_t n_slots, uint64_t seed)
    : bytes_(bytes),
      offsets_(offsets),
      slots_(slots),
      n_words_(n_words),
      mask_(static_cast<uint64_t>(n_slots) - 1),
      seed_(seed),
      shift_(65 - std::bit_width(static_cast<uint64_t>(n_slots))) {
  if (n_slots < 2 || !std::has_single_bit(static_cast<uint64_t>(n_slots))) {
    throw std::invalid_argument("word_slots: expected a power of two of slots, at least 2");
  }
}

WordKey WordTable::key(const char* p, int64_t length, int64_t readable) const {
  WordKey key;
  if (length > kInlineBytes) {
    key.head = key.hash = hash_long(p, length, seed_);
    key.rest = kLongWord;
    return key;
  }
  uint64_t words[2] = {0, 0};
  std::memcpy(words, p, readable >= 16 ? 16 : static_cast<size_t>(length));
  const int used = static_cast<int>(8 * std::min<int64_t>(length, 8)),
            more = static_cast<int>(8 * length) - used;
  key.head = used == 64 ? words[0] : words[0] & ((uint64_t{1} << used) - 1);
  key.rest = (static_cast<uint32_t>(words[1]) & ((uint32_t{1} << more) - 1)) |
             (static_cast<uint32_t>(length + 1) << 24);
  key.hash = fold(key.head ^ seed_, key.rest ^ 0xA24BAED4963EE407u);
  return key;
}

uint32_t WordTable::find(const WordKey& key, const char* p, int64_t length) const {
  uint64_t at = key.hash >> shift_;
  for (int64_t probe = 0; probe <= kFar; ++probe, at = (at + 1) & mask_) {
    const WordSlot& slot = slots_[at];
    if (slot.rest == 0) return kUnknown;
    if (slot.head != key.head || slot.rest != key.rest || slot.id >= n_words_) continue;
    if (key.rest != kLongWord || word(slot.id) == std::string_view(p, static_cast<size_t>(length))) {
      return slot.id;
    }
  }
  return kUnknown;
}

DuplicateWord::DuplicateWord(std::string_view word, uint32_t second)
    : std::invalid_argument("words: " + quoted(word) + " comes twice"), id(second) {}

WordSlots make_word_slots(const char* bytes, const int64_t* offsets, int64_t n_words) {
  const auto n_slots = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(2, 2 * n_words)));
  const int shift = 65 - std::bit_width(n_slots);
  for (int attempt = 0; attempt < kMostSeeds; ++attempt) {
    WordSlots made{std::vector<WordSlot>(n_slots, WordSlot{0, 0, 0}), seed_of(attempt)};
    const WordTable table(bytes, offsets, n_words, made.slots.data(), static_cast<int64_t>(n_slots),
                          made.seed);
    bool near = true;
    for (int64_t id = 0; id < n_words && near; ++id) {
      const std::string_view word = table.word(static_cast<uint32_t>(id));
      const auto length = static_cast<int64_t>(word.size());
      const WordKey key = table.key(word.data(), length, length);
      uint64_t at = key.hash >> shift;
      int64_t probe = 0;
      for (; made.slots[at].rest != 0 && probe <= kFar; ++probe, at = (at + 1) & (n_slots - 1)) {
        const WordSlot& there = made.slots[at];
        if (there.head == key.head && there.rest == key.rest && table.word(there.id) == word) {
          throw DuplicateWord(word, static_cast<uint32_t>(id));
        }
      }
      near = probe <= kFar;
      if (near) made.slots[at] = {key.head, key.rest, static_cast<uint32_t>(id)};
    }
    if (near) return made;
  }
  throw std::runtime_error("words: too many have one hash");
}

}  // namespace semproj::lm
