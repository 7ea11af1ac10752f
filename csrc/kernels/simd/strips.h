#pragma once
// A query against a strip of corpus rows that are read as they lie, compiled once per instruction set.
//
// Cost. A tile (scores.h) wants its rows transposed first, which pays when a dozen queries share the work. A
// strip takes one FMA, and one load of 16 bytes, for 4 columns of a row: by count of instructions 25 cycles
// for 200 columns, less than their 800 bytes take from memory. So one query costs about the bytes of the
// corpus / bandwidth; each further one reads the strip again, from the first-level cache.
//
// The 4 lanes are the strands of scores.h: bits are those of a tile. Jensen-Shannon has no strips: its
// logarithms want wide registers more than they want to save a transposition.

#include <cstdint>

namespace semproj::simd {

constexpr int kStripRows = 8;
constexpr int kMostLanes = 16;

struct StripOperands {
  const float* query;  // its columns from `from` on
  const float* const* rows;
  int64_t from, depth;
  float* out;  // kStripRows scores; added to, if these are not the first columns
};

struct StripTable {
  void (*inner)(const StripOperands&);
  void (*l1)(const StripOperands&);

  // out = x times once, and then times again.
  void (*scale)(const float* x, float once, float again, int64_t n, float* out);

  // Raises `most` (kMostLanes of them) to the bits of the largest magnitudes, one for each lane of a vector:
  // at least those of infinity if not all numbers are finite.
  void (*raise_to_largest)(const float* x, int64_t n, int32_t* most);
};

}  // namespace semproj::simd
