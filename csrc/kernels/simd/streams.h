#pragma once
// Bounds on the scores of a query against rows that are read once, as they lie, compiled once per instruction
// set.
//
// Cost. One row after the other, so that the hardware sees one stream and fetches ahead: the bytes of the
// rows / bandwidth. A load serves the score and the length of its row. Lanes of as many rows as a vector has
// are summed together.
//
//   inner    sum of q c,               give or take  slack |c|       size: sum of c^2
//   cosine   sum of q c / |c|,         give or take  slack           size: sum of c^2
//   l1       -sum of |q - c|,          give or take  slack times it  size: sum of |q - c|
//
// The order of summation is free: these are not scores, only near them.

#include <cstdint>

namespace semproj::simd {

constexpr int kMostLanes = 16;

struct StreamOperands {
  const float* rows;  // n of them, `stride` apart
  int64_t stride, n;
  const float* query;  // best at the start of a cache line
  int64_t depth;       // at least kMostLanes
  float slack;
  float* lower;
  float* upper;
  float* sizes;
};

// The bounds are good where kLeastSize <= size <= kMostSize: there, no square has left the range of float.
constexpr float kLeastSize = 1e-30f, kMostSize = 1e30f;

// Of all rows; `most` is infinite if any size is above kMostSize, or not a number.
struct Sizes {
  float least, most;
};

struct StreamTable {
  Sizes (*inner)(const StreamOperands&);
  Sizes (*cosine)(const StreamOperands&);
  Sizes (*l1)(const StreamOperands&);
};

}  // namespace semproj::simd
