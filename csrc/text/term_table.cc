// Slots are 16 bytes: four to a cache line, with the whole term inside for 97% of the words of English, so a
// lookup touches one line. Words are taken by the batch: all keys of a batch are made and their lines
// prefetched before the first is compared, which hides the second-level cache and most of the memory behind
// arithmetic. Frequent terms are met, and so inserted, first: they sit where their hash points and have the
// low ids.
//
// A seed that lets terms pile up, by chance or because somebody has found it out, is replaced: so a word
// costs a bounded number of probes whatever the text.
//
// Cost per word: about 12 cycles for key and hash, 8 for the compare, and what is left of the misses.

#include "text/term_table.h"

#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "core/parallel.h"

namespace semproj::text {
namespace {

constexpr int64_t kBatch = 128;

uint32_t load32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

struct LengthMask {
  uint64_t head;
  uint32_t rest;
  uint32_t tag;
};

// What a key of each length keeps of the 12 bytes read (little-endian).
constexpr auto kMasks = [] {
  std::array<LengthMask, 12> masks{};
  for (uint32_t n = 0; n < 12; ++n) {
    masks[n].head = n >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * n) - 1;
    masks[n].rest = n <= 8 ? 0 : (1u << 8 * (n - 8)) - 1;
    masks[n].tag = (n + 1) << 24;
  }
  return masks;
}();

// Inlined, it would take registers from the loop over short terms.
[[gnu::noinline]] uint64_t hash_apart(const char* p, uint32_t length, const HashSeed& seed) {
  return hash_long(p, length, seed);
}

}  // namespace

inline TermTable::Key TermTable::key_of(const char* p, uint32_t length, const HashSeed& seed) {
  if (length > kInline) [[unlikely]] {
    const uint64_t h = hash_apart(p, length, seed);
    return {h, h, kLong};
  }
  const LengthMask& mask = kMasks[length];
  const uint64_t head = load64(p) & mask.head;
  const uint32_t rest = (load32(p + 8) & mask.rest) | mask.tag;
  return {head, hash_short(head, rest, seed), rest};
}

inline void TermTable::make_keys(const Spans& spans, int64_t first, int64_t count, Key* keys) const {
  const uint32_t* bounds = spans.bounds + 2 * first;
  const HashSeed seed = seed_;
  for (int64_t i = 0; i < count; ++i) {
    keys[i] = key_of(spans.text + bounds[2 * i], bounds[2 * i + 1] - bounds[2 * i], seed);
    __builtin_prefetch(&slots_[keys[i].hash >> (64 - bits_)]);
  }
}

inline uint64_t TermTable::probe(const Key& key, const char* p, uint32_t length) const {
  const uint64_t mask = slots_.size() - 1;
  for (uint64_t i = key.hash >> (64 - bits_);; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.head == key.head && slot.rest == key.rest) {
      if (key.rest != kLong || term(slot.id) == std::string_view(p, length)) return i;
    } else if (slot.rest == 0) {
      return i;
    }
  }
}

uint32_t TermTable::fill(uint64_t slot, const Key& key, const char* p, uint32_t length) {
  const auto id = static_cast<uint32_t>(size());
  if (id >= std::numeric_limits<int32_t>::max()) throw std::length_error("more than 2^31 distinct terms");
  const int64_t end = offsets_.back() + length;
  if (static_cast<int64_t>(bytes_.size()) < end + kPadding) bytes_.resize(end + end / 2 + kPadding);
  if (length > 0) std::memcpy(bytes_.data() + offsets_.back(), p, length);
  offsets_.push_back(end);
  slots_[slot] = {key.head, key.rest, id};
  const uint64_t home = key.hash >> (64 - bits_);
  crowded_ |= ((slot - home) & (slots_.size() - 1)) > far_;
  return id;
}

void TermTable::insert(const Spans& spans, uint32_t* ids) {
  Key keys[kBatch];
  for (int64_t first = 0; first < spans.count; first += kBatch) {
    const int64_t count = spans.count - first < kBatch ? spans.count - first : kBatch;
    // At most half full, also if every term of the batch is new.
    if (2 * (size() + count) > static_cast<int64_t>(slots_.size())) rebuild(bits_ + 1);
    make_keys(spans, first, count, keys);
    const uint32_t* bounds = spans.bounds + 2 * first;
    for (int64_t i = 0; i < count; ++i) {
      const char* p = spans.text + bounds[2 * i];
      const uint32_t length = bounds[2 * i + 1] - bounds[2 * i];
      const uint64_t slot = probe(keys[i], p, length);
      ids[first + i] = slots_[slot].rest != 0 ? slots_[slot].id : fill(slot, keys[i], p, length);
    }
    if (crowded_) [[unlikely]]
      reseed();  // not before: the keys of a batch are of one seed
  }
}

void TermTable::find(const Spans& spans, uint32_t* ids) const {
  const auto absent = static_cast<uint32_t>(size());
  Key keys[kBatch];
  for (int64_t first = 0; first < spans.count; first += kBatch) {
    const int64_t count = spans.count - first < kBatch ? spans.count - first : kBatch;
    make_keys(spans, first, count, keys);
    const uint32_t* bounds = spans.bounds + 2 * first;
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t length = bounds[2 * i + 1] - bounds[2 * i];
      const Slot& slot = slots_[probe(keys[i], spans.text + bounds[2 * i], length)];
      ids[first + i] = slot.rest != 0 ? slot.id : absent;
    }
  }
}

void TermTable::insert_from(const TermTable& other, std::span<const uint32_t> from, uint32_t* ids) {
  constexpr size_t kTerms = 1024, kBytes = 1 << 20;
  std::vector<char> text;
  std::vector<uint32_t> bounds;
  for (size_t i = 0; i < from.size();) {  // copied together, so that the table is asked by the batch
    const size_t first = i;
    text.clear();
    bounds.clear();
    for (; i < from.size() && i < first + kTerms && text.size() < kBytes; ++i) {
      const std::string_view term = other.term(from[i]);
      bounds.push_back(static_cast<uint32_t>(text.size()));
      text.insert(text.end(), term.begin(), term.end());
      bounds.push_back(static_cast<uint32_t>(text.size()));
    }
    text.resize(text.size() + kPadding);
    insert(Spans{text.data(), bounds.data(), static_cast<int64_t>(i - first)}, ids + first);
    check_interrupt();
  }
}

int64_t TermTable::find(std::string_view term) const {
  if (term.size() > std::numeric_limits<uint32_t>::max() - kPadding) return -1;
  std::vector<char> padded(term.begin(), term.end());
  padded.resize(term.size() + kPadding);
  const uint32_t bounds[2] = {0, static_cast<uint32_t>(term.size())};
  uint32_t id = 0;
  find(Spans{padded.data(), bounds, 1}, &id);
  return id == size() ? -1 : static_cast<int64_t>(id);
}

uint32_t TermTable::insert(std::string_view term) {
  if (term.size() > std::numeric_limits<uint32_t>::max() - kPadding)
    throw std::length_error("term above 4 GB");
  if (2 * (size() + 1) > static_cast<int64_t>(slots_.size())) rebuild(bits_ + 1);
  const auto length = static_cast<uint32_t>(term.size());
  Key key;
  if (length > kInline) {
    key = key_of(term.data(), length, seed_);
  } else {
    char padded[kPadding] = {};
    if (length > 0) std::memcpy(padded, term.data(), length);
    key = key_of(padded, length, seed_);
  }
  const uint64_t slot = probe(key, term.data(), length);
  if (slots_[slot].rest != 0) return slots_[slot].id;
  const uint32_t id = fill(slot, key, term.data(), length);
  if (crowded_) reseed();
  return id;
}

void TermTable::reserve(int64_t n, int64_t n_bytes) {
  int bits = bits_;
  while (2 * (n + 1) > int64_t{1} << bits) ++bits;
  if (bits > bits_) rebuild(bits);
  offsets_.reserve(n + 1);
  if (static_cast<int64_t>(bytes_.size()) < n_bytes + kPadding) bytes_.resize(n_bytes + kPadding);
}

inline uint64_t TermTable::hash_of(const Slot& slot) const {
  return slot.rest == kLong ? slot.head : hash_short(slot.head, slot.rest, seed_);
}

void TermTable::rebuild(int bits) {
  std::vector<Slot> old(uint64_t{1} << bits, Slot{0, 0, 0});
  old.swap(slots_);
  bits_ = bits;
  const uint64_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.rest == 0) continue;
    uint64_t i = hash_of(slot) >> (64 - bits_);
    while (slots_[i].rest != 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

// The table stays usable, if slow, when no seed helps: each time, twice as far is far.
void TermTable::reseed() {
  seed_ = fresh_seed();
  far_ *= 2;
  crowded_ = false;
  for (Slot& slot : slots_) {
    if (slot.rest != kLong) continue;
    const std::string_view long_term = term(slot.id);
    slot.head = hash_long(long_term.data(), static_cast<uint32_t>(long_term.size()), seed_);
  }
  rebuild(bits_);
}

int64_t TermTable::longest_probe() const {
  uint64_t longest = 0;
  for (uint64_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].rest == 0) continue;
    const uint64_t passed = (i - (hash_of(slots_[i]) >> (64 - bits_))) & (slots_.size() - 1);
    longest = passed > longest ? passed : longest;
  }
  return static_cast<int64_t>(longest);
}

}  // namespace semproj::text
