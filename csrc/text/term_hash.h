#pragma once
// The hash of a term under a secret seed.
//
// A product of two 64-bit numbers, its halves folded together. Both factors have a secret in them: who does
// not know the seed can neither make a factor zero nor tell which terms collide. The highest bit of each
// secret is set, and text has at most 32 bits of the second factor, so that one is never small.

#include <cstdint>
#include <cstring>

namespace semproj::text {

struct HashSeed {
  uint64_t head;
  uint64_t rest;

  bool operator==(const HashSeed&) const = default;
};

// Another one for each call, and in each process: nothing that is returned or saved may depend on it.
HashSeed fresh_seed();

inline uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Of a term in 12 bytes, its length among them.
inline uint64_t hash_short(uint64_t head, uint32_t rest, const HashSeed& seed) {
  return fold(head ^ seed.head, rest ^ seed.rest);
}

// Of 8 bytes or more.
inline uint64_t hash_long(const char* p, uint32_t length, const HashSeed& seed) {
  uint64_t h = length ^ seed.head;
  const char* const last = p + length - 8;
  for (; p < last; p += 8) h = fold(h ^ load64(p), seed.rest ^ (h >> 32));
  return fold(h ^ load64(last), seed.head ^ length);
}

}  // namespace semproj::text
