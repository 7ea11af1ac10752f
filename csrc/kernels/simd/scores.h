#pragma once
// The inner loops of retrieval, compiled once per instruction set (see cmake/simd.cmake).
//
// A tile compares a group of `rows` queries with a panel of `cols` corpus rows over `depth` columns and holds
// all rows x cols sums in registers. Both sides are packed so that the loop over columns reads forward:
//
//   group[p * rows + i] = query i, column p          one element, broadcast
//   panel[p * cols + j] = corpus row j, column p     whole vectors, one lane for each corpus row
//
//   inner           out[i, j] (+)=  sum of q c                       1 operation a vector (FMA)
//   l1              out[i, j] (+)= -sum of |q - c|                   3
//   jensen_shannon  out[i, j] (+)=  sum of m log2 m - (q' + c')      20;  m = q + c
//
// Scores are such that more is better. For Jensen-Shannon q and c are halves of probabilities, and q' and c'
// are their entropy_terms: each term of the sum is then minus the divergence of one column, small where the
// rows are alike, so that no large entropies cancel in the end.
//
// The order of a sum. In rows of at least 64 columns, columns s, s + 4, s + 8, ... are strand s, summed in
// order; then the 4 strands are added in order. That is the sum of a vector of 4 lanes which runs along the
// row, so a row can be compared as it lies (strips.h) and as a lane among others with the same bits: neither
// its place in a tile nor the other rows matter. Shorter rows are one strand: there the additions of strands
// would show. Columns are packed strand by strand.

#include <cstdint>

#include "kernels/simd/strips.h"

namespace semproj::simd {

constexpr int kStrands = 4;
constexpr int64_t kStrandedDepth = 64;

// Where column k of `depth` is packed.
static inline int64_t packed_place(int64_t k, int64_t depth, int strands) {
  const int64_t strand = k % strands, longer = depth % strands;
  return strand * (depth / strands) + (strand < longer ? strand : longer) + k / strands;
}

struct TileOperands {
  const float* group;
  const float* panel;
  const float* group_terms;  // q' and c' in the same layouts; read by jensen_shannon alone
  const float* panel_terms;
  int64_t depth;
  int strands;
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

  // panel = the `depth` columns at each of the `cols` pointers, strand by strand, times scale[j] and then
  // times scale[cols + j].
  // The same columns of the rows `ahead` floats further on are fetched into the second-level cache meanwhile:
  // the pieces are too short for the hardware to notice a stream.
  void (*pack)(const float* const* rows, const float* scale, int64_t depth, int strands, int64_t ahead,
               float* panel);

  // out[i] = x log2(2 x), 0 for 0. The logarithm is within 2e-7 + 1.2e-7 |log2 x| for normal x.
  void (*entropy_terms)(const float* x, int64_t n, float* out);

  // Appends the keys of scores above the threshold, from position `from` on, until there are `room`. Returns
  // where to go on; `n` when all were seen. A key is greater for a greater score, then for a smaller id.
  int64_t (*select)(const float* scores, int64_t from, int64_t n, float threshold, uint32_t first_id,
                    uint64_t* keys, int64_t* count, int64_t room);

  // How many scores reach the row's threshold; adds one to column_counts[j] where they reach the column's.
  int64_t (*count)(const float* scores, int64_t n, float row_threshold, const float* column_thresholds,
                   int32_t* column_counts);

  StripTable strips;
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
