#pragma once
// Products of a query with rows of narrow numbers, compiled once per instruction set. They are bounds to
// search with, not scores: their order of summation is free.

#include <cstdint>

namespace semproj::simd {

// Rows are `stride` elements apart; n of them.
struct CodeTable {
  // Bytes are numbers from -127 to 127, plus 128: sums[i] = sum of byte times query. Exact, up to 65,536
  // columns.
  void (*bytes)(const uint8_t* codes, int64_t stride, int64_t n, const int8_t* query, int64_t depth,
                int32_t* sums);
  // IEEE halves. Null where the CPU cannot read them: then nothing is gained by them.
  void (*halves)(const uint16_t* codes, int64_t stride, int64_t n, const float* query, int64_t depth,
                 float* sums);
};

}  // namespace semproj::simd
