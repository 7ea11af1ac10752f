#pragma once
// The inner loops of the sparse projection, compiled once per instruction set (see cmake/simd.cmake).
//
// A projection (n_terms x d) is stored as slabs of a few columns. One tile function call walks many sparse
// rows over ONE slab, so that the slab stays in the second-level cache while the rows stream by:
//
//   out[r, c] (+)= scale[c] * sum over entries e of row r of  e.value * slab[e.term][c]
//
// Cost per entry and slab line (64 bytes): one line read from L1/L2, one FMA per vector of the line, and two
// small loads for the entry itself. Entries stream from the third level and are prefetched by hand, because
// the hardware stops at page borders. Sums run in the order of the entries, in a fixed number of partial
// sums; those of 256 entries are added up in double, so that a long row is as exact as a short one.

#include <cstdint>

namespace semproj::simd {

// What every tile call has: which rows, where the slab is and where the sums go.
template <class Out>
struct TileCall {
  int64_t n_rows;
  const void* slab;
  const float* scale;  // per column of the tile; nullptr for 1
  Out* out;            // first row, first column of the tile
  int64_t out_stride;
  int32_t cols;        // columns of the tile that exist
  int32_t slab_bytes;  // of one term: whole lines, fewer for a last tile with few columns
  bool accumulate;
  bool scale_is_ordinary;  // for all columns of the tile
};

// Whether products of two such scales, and of these with a sum, are far from the ends of float's range.
// Static, so that no other file can be given the copy that was compiled for a newer CPU.
static constexpr bool is_ordinary_scale(double scale) {
  return scale > 1e-12 && scale < 1e12;
}

// Entries as two arrays, often the caller's own CSR arrays. Row r has the entries
// [max(row_begin[r], first), min(row_begin[r + 1], last)); position i is at terms[i - origin].
template <class T>
struct Entries {
  const int64_t* row_begin;
  int64_t first, last, origin;
  const uint32_t* terms;
  const T* values;
};

// Four entries with values quantised to 15 bits: value = step * (128 * hi + lo), step is the row's.
struct Quad {
  uint32_t term[4];
  int8_t hi[4];
  int8_t lo[4];
};

struct QuadEntries {
  const int64_t* row_begin;  // n_rows + 1 offsets into quads
  const Quad* quads;
  const double* row_step;
};

// Columns of one tile. The layout inside a line is the same for every instruction set.
constexpr int kTileColumns = 64, kLineBytes = 64;

// The column stored in byte `b` of an int8 line: bytes of four lines interleave into columns in order when
// they are unpacked within 16-byte lanes, which is the only way wide registers unpack.
constexpr int int8_column(int b) {
  return 16 * ((b % 16) / 4) + 4 * (b / 16) + b % 4;
}
constexpr int kInt8Bias =
    128;  // int8 lines hold p + 128, as the dot-product instruction wants unsigned bytes.

struct TileTable {
  void (*tile_f64)(const TileCall<double>&, const Entries<double>&);
  void (*tile_f32)(const TileCall<float>&, const Entries<float>&);
  void (*tile_f16)(const TileCall<float>&, const Entries<float>&);
  void (*tile_i8)(const TileCall<float>&, const QuadEntries&);
};

}  // namespace semproj::simd
