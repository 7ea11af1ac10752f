#pragma once
// The inner loops of retrieval, compiled once per instruction set (see cmake/simd.cmake).
//
// A tile compares a group of `rows` queries with a panel of `cols` corpus rows over `depth` columns and holds
// all rows x cols sums in registers. Both sides are packed so that the loop over columns reads forward:
//
//   group[k * rows + i] = query i, column k          one element, broadcast
//   panel[k * cols + j] = corpus row j, column k     whole vectors, one lane for each corpus row
//
//   inner           out[i, j] (+)=  sum of q c                       1 operation a vector (FMA)
//   l1              out[i, j] (+)= -sum of |q - c|                   3
//   jensen_shannon  out[i, j] (+)=  sum of m log2 m - (q' + c')      20;  m = q + c
//
// Scores are such that more is better. For Jensen-Shannon q and c are halves of probabilities, and q' and c'
// are their entropy_terms: each term of the sum is then minus the divergence of one column, small where the
// rows are alike, so that no large entropies cancel in the end.
//
// An element's sum runs over the columns in order, in one lane: its bits depend neither on its place in a
// tile nor on the other rows. For Jensen-Shannon, 32 columns are summed at a time, and then these sums.

#include <cstdint>

namespace semproj::simd {

struct TileOperands {
  const float* group;
  const float* panel;
  const float* group_terms;  // q' and c' in the same layouts; read by jensen_shannon alone
  const float* panel_terms;
  int64_t depth;
  float* out;  // rows x cols, rows out_stride apart
  int64_t out_stride;
  bool add;  // to what is there: later columns of the same rows
};

enum class RowSum { plain, absolute, squares };

struct ScoreTable {
  int rows, cols;
  void (*inner)(const TileOperands&);
  void (*l1)(const TileOperands&);
  void (*jensen_shannon)(const TileOperands&);

  double (*sum)(const float* x, int64_t n, RowSum what);

  // panel = the `depth` columns at each of the `cols` pointers, times scale[j] and then times scale[cols +
  // j].
  // The same columns of the rows `ahead` floats further on are fetched into the second-level cache meanwhile:
  // the pieces are too short for the hardware to notice a stream.
  void (*pack)(const float* const* rows, const float* scale, int64_t depth, int64_t ahead, float* panel);

  // out = x times once, and then times again.
  void (*scale)(const float* x, float once, float again, int64_t n, float* out);

  // out[i] = x log2(2 x), 0 for 0. The logarithm is within 2e-7 + 1.2e-7 |log2 x| for normal x.
  void (*entropy_terms)(const float* x, int64_t n, float* out);

  // Appends the keys of scores above the threshold, from position `from` on, until there are `room`. Returns
  // where to go on; `n` when all were seen. A key is greater for a greater score, then for a smaller id.
  int64_t (*select)(const float* scores, int64_t from, int64_t n, float threshold, uint32_t first_id,
                    uint64_t* keys, int64_t* count, int64_t room);

  // How many scores reach the row's threshold; adds one to column_counts[j] where they reach the column's.
  int64_t (*count)(const float* scores, int64_t n, float row_threshold, const float* column_thresholds,
                   int32_t* column_counts);
};

// The order of floats as the order of unsigned integers, and back. -0 and 0 are one score. Static, so that no
// other file can be given the copy that was compiled for a newer CPU.
static inline uint64_t key_of(float score, uint32_t id) {
  const float s = score + 0.0f;
  uint32_t bits;
  __builtin_memcpy(&bits, &s, 4);
  bits ^= (bits >> 31) != 0 ? 0xffffffffu : 0x80000000u;
  return uint64_t{bits} << 32 | static_cast<uint32_t>(~id);
}
static inline uint32_t id_of(uint64_t key) {
  return ~static_cast<uint32_t>(key);
}
static inline float score_of(uint64_t key) {
  auto bits = static_cast<uint32_t>(key >> 32);
  bits ^= (bits >> 31) != 0 ? 0x80000000u : 0xffffffffu;
  float s;
  __builtin_memcpy(&s, &bits, 4);
  return s;
}

}  // namespace semproj::simd
