// Packing a projection: t d elements read and written, tiles in parallel. Solvers pack in every iteration, in
// the precision they have: then a tile needs no scale, and is cut into blocks of terms that are checked as
// they are copied.

#include "kernels/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace semproj {
namespace {

// Round to nearest even; |x| is below the largest half, and what falls below the smallest one becomes
// subnormal or zero.
uint16_t to_half(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 leaves the rounded subnormal in the low bits
    float shifted;
    std::memcpy(&shifted, &magnitude, 4);
    shifted += 0.5f;
    std::memcpy(&bits, &shifted, 4);
    return static_cast<uint16_t>(sign | (bits - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u) - (uint32_t{112} << 23);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

// How one element of a scaled line is written, by storage. `c` is the column within the tile.
struct PutF16 {
  static void put(char* line, int c, float value) { reinterpret_cast<uint16_t*>(line)[c] = to_half(value); }
};
struct PutI8 {  // int8_column is its own inverse
  static void put(char* line, int c, double value) {
    reinterpret_cast<uint8_t*>(line)[simd::int8_column(c)] =
        static_cast<uint8_t>(std::lrint(value) + simd::kInt8Bias);
  }
};

// One tile of the source: `cols` columns of all terms.
template <class T>
struct SourceTile {
  const T* data;
  int64_t n_terms, term_stride, component_stride;
  int cols;

  const T* row(int64_t t) const { return data + t * term_stride; }
};

template <class Put, class T>
void fill_lines(const SourceTile<T>& source, const double* inverse, char* line, int64_t line_bytes,
                int padded) {
  for (int64_t t = 0; t < source.n_terms; ++t, line += line_bytes) {
    const T* row = source.row(t);
    for (int c = 0; c < source.cols; ++c) Put::put(line, c, row[c * source.component_stride] * inverse[c]);
    for (int c = source.cols; c < padded; ++c) Put::put(line, c, 0.0);
  }
}

constexpr int64_t kBlockTerms = 4096;  // of an unscaled tile, in one task

[[noreturn]] void throw_not_finite(int64_t term, int64_t component) {
  throw std::invalid_argument("projection: not finite in its storage at term " + std::to_string(term) +
                              ", component " + std::to_string(component));
}

// Lines of Stored elements for the terms [begin, end) of a tile, which starts at column `first`.
template <class Stored, class T>
void copy_lines(const SourceTile<T>& source, Block terms, int64_t first, char* lines, int64_t line_bytes) {
  const auto padded = static_cast<int>(line_bytes / static_cast<int64_t>(sizeof(Stored)));
  for (int64_t t = terms.begin; t < terms.end; ++t) {
    const T* row = source.row(t);
    auto* line = reinterpret_cast<Stored*>(lines + t * line_bytes);
    Stored zero = 0;  // stays zero as long as everything is finite
    if (source.component_stride == 1) {
      for (int c = 0; c < source.cols; ++c) line[c] = static_cast<Stored>(row[c]);
    } else {
      for (int c = 0; c < source.cols; ++c) line[c] = static_cast<Stored>(row[c * source.component_stride]);
    }
    for (int c = source.cols; c < padded; ++c) line[c] = 0;
    Stored lanes[8] = {};  // so that the sum is of independent parts
    for (int c = 0; c < padded; c += 8) {
      for (int l = 0; l < 8; ++l) lanes[l] += line[c + l] * 0;
    }
    for (const Stored lane : lanes) zero += lane;
    if (zero == 0) continue;
    int c = 0;
    while (std::isfinite(line[c])) ++c;
    throw_not_finite(t, first + c);
  }
}

// The largest magnitude of each column; throws for an element that the storage could only hold as infinity.
template <class T>
void measure(const SourceTile<T>& source, int64_t first, float* largest) {
  for (int64_t t = 0; t < source.n_terms; ++t) {
    const T* row = source.row(t);
    float zero = 0;  // stays zero as long as everything is finite
    for (int c = 0; c < source.cols; ++c) {
      const auto v = static_cast<float>(row[c * source.component_stride]);
      zero += v * 0;
      largest[c] = std::max(largest[c], std::abs(v));
    }
    if (zero == 0) continue;
    int c = 0;
    while (std::isfinite(static_cast<float>(row[c * source.component_stride]))) ++c;
    throw_not_finite(t, first + c);
  }
}

// The scale s for which value / s is what the storage holds best.
float column_scale(Storage storage, double largest) {
  if (largest == 0) return 1.0f;
  if (storage == Storage::int8) {
    // Among subnormal numbers the nearest one may be so much smaller that values leave the range of a byte.
    const auto nearest = static_cast<float>(largest / 127);
    return largest <= 127.25 * nearest ? nearest : std::nextafter(nearest, 1.0f);
  }
  int exponent;
  std::frexp(largest, &exponent);  // largest in [2^(e-1), 2^e)
  return static_cast<float>(std::ldexp(1.0, std::clamp(exponent - 15, -126, 127)));
}

}  // namespace

int64_t PackedProjection::element_bytes() const {
  constexpr int64_t kBytes[] = {8, 4, 2, 1};
  return kBytes[static_cast<int>(storage_)];
}

int64_t PackedProjection::tile_columns(int64_t tile) const {
  return std::min<int64_t>(simd::kTileColumns, n_components_ - tile * simd::kTileColumns);
}

int64_t PackedProjection::tile_bytes(int64_t tile) const {
  const int64_t lines = (tile_columns(tile) * element_bytes() + simd::kLineBytes - 1) / simd::kLineBytes;
  return (lines <= 4 ? lines : lines <= 6 ? 6 : 8) * simd::kLineBytes;  // the widths there are kernels for
}

bool PackedProjection::scale_is_ordinary(int64_t tile) const {
  const float* scales = scale(tile);
  return scales == nullptr || std::all_of(scales, scales + tile_columns(tile), simd::is_ordinary_scale);
}

template <class T>
PackedProjection::PackedProjection(const T* source, int64_t n_terms, int64_t n_components,
                                   int64_t term_stride, int64_t component_stride, Storage storage,
                                   int n_threads)
    : n_terms_(n_terms), n_components_(n_components), storage_(storage) {
  if (n_terms > int64_t{std::numeric_limits<uint32_t>::max()}) {
    throw std::invalid_argument("projection: at most 2^32 - 1 terms can be packed");
  }
  data_ = aligned_array<char>(static_cast<size_t>(nbytes()));
  if (storage == Storage::float16 || storage == Storage::int8)
    scale_.assign(static_cast<size_t>(n_tiles() * simd::kTileColumns), 1.0f);

  const auto source_tile = [&](int64_t tile) {
    return SourceTile<T>{source + tile * simd::kTileColumns * component_stride, n_terms, term_stride,
                         component_stride, static_cast<int>(tile_columns(tile))};
  };
  if (storage == Storage::float64 || storage == Storage::float32) {
    const int64_t blocks = block_count(n_terms, kBlockTerms);
    parallel_for(n_tiles() * blocks, n_threads, [&](int64_t task, int) {
      // The tiles of one block of terms follow each other: they share the lines of the source.
      const int64_t tile = task % n_tiles(), first = tile * simd::kTileColumns;
      const Block terms = block_at(n_terms, kBlockTerms, task / n_tiles());
      char* lines = data_.get() + offset(tile);
      storage == Storage::float64
          ? copy_lines<double>(source_tile(tile), terms, first, lines, tile_bytes(tile))
          : copy_lines<float>(source_tile(tile), terms, first, lines, tile_bytes(tile));
    });
    return;
  }

  parallel_for(n_tiles(), n_threads, [&](int64_t tile, int) {
    const int64_t first = tile * simd::kTileColumns, line_bytes = tile_bytes(tile);
    const SourceTile<T> part = source_tile(tile);
    char* lines = data_.get() + offset(tile);
    const auto padded = static_cast<int>(line_bytes / element_bytes());
    float largest[simd::kTileColumns] = {};
    measure(part, first, largest);
    double inverse[simd::kTileColumns];
    for (int c = 0; c < part.cols; ++c) {
      inverse[c] = 1.0 / (scale_[static_cast<size_t>(first + c)] = column_scale(storage, largest[c]));
    }
    if (storage == Storage::float16) return fill_lines<PutF16>(part, inverse, lines, line_bytes, padded);
    fill_lines<PutI8>(part, inverse, lines, line_bytes, padded);
  });
}

template PackedProjection::PackedProjection(const float*, int64_t, int64_t, int64_t, int64_t, Storage, int);
template PackedProjection::PackedProjection(const double*, int64_t, int64_t, int64_t, int64_t, Storage, int);

}  // namespace semproj
