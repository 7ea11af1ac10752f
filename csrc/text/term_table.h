#pragma once
// Terms to ids and back: an open-addressing hash table and the terms' bytes one after another.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/term_hash.h"
#include "text/tokenize.h"

namespace semproj::text {

// Ids are given in the order of insertion, from 0. Safe to read from several threads while nobody inserts.
class TermTable {
 public:
  explicit TermTable(const HashSeed& seed = fresh_seed()) : seed_(seed) { rebuild(kMinBits); }

  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }

  std::string_view term(int64_t id) const {
    return {bytes_.data() + offsets_[id], static_cast<size_t>(offsets_[id + 1] - offsets_[id])};
  }

  // ids[i] of each term, new terms being added.
  void insert(const Spans& spans, uint32_t* ids);

  // ids[i] of each term, size() for those that are not there.
  void find(const Spans& spans, uint32_t* ids) const;

  // Adds some of another table's terms; ids[i] is what from[i] is here.
  void insert_from(const TermTable& other, std::span<const uint32_t> from, uint32_t* ids);

  // One at a time; the bytes need no padding. -1 where absent.
  int64_t find(std::string_view term) const;
  uint32_t insert(std::string_view term);

  // Makes room for n terms of n_bytes together.
  void reserve(int64_t n, int64_t n_bytes);

  // The terms' bytes in the order of the ids; term i is [offsets[i], offsets[i + 1]).
  const char* bytes() const { return bytes_.data(); }
  const std::vector<int64_t>& offsets() const { return offsets_; }

  const HashSeed& seed() const { return seed_; }

  // How many slots a lookup of one of the terms passes at most.
  int64_t longest_probe() const;

 private:
  static constexpr int kMinBits = 10;

  // Of 2^31 terms in a table half full, the farthest is about 110 slots from where its hash points.
  static constexpr uint64_t kFar = 128;

  // A term of up to kInline bytes lies in its slot; of a longer one the slot has the hash.
  static constexpr int kInline = 11;
  struct Slot {
    uint64_t head;  // the first 8 bytes, or the hash
    uint32_t rest;  // the next 3 bytes and, on top, the length + 1, or kLong; 0 in an empty slot
    uint32_t id;
  };
  struct Key {
    uint64_t head;
    uint64_t hash;
    uint32_t rest;
  };
  static constexpr uint32_t kLong = 0xFF000000u;

  static Key key_of(const char* p, uint32_t length, const HashSeed& seed);
  void make_keys(const Spans& spans, int64_t first, int64_t count, Key* keys) const;
  // The slot with this term, or the empty one where it belongs.
  uint64_t probe(const Key& key, const char* p, uint32_t length) const;
  uint32_t fill(uint64_t slot, const Key& key, const char* p, uint32_t length);
  uint64_t hash_of(const Slot& slot) const;
  void rebuild(int bits);
  void reseed();

  HashSeed seed_;
  uint64_t far_ = kFar;
  bool crowded_ = false;  // a term lies farther than far_ from where its hash points
  std::vector<Slot> slots_;
  int bits_ = 0;
  std::vector<char> bytes_;  // kPadding spare bytes at the end
  std::vector<int64_t> offsets_{0};
};

}  // namespace semproj::text
