#include "kernels/simd/tiles.h"

#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

using VecF32 = Vec<float>;
using VecF64 = Vec<double>;

// Loads one vector's worth of a slab line as the type it is summed in.
struct LoadF32 {
  using Sum = float;
  static constexpr int kElement = 4, kPrefetch = 16;
  static VecF32 load(const char* p) { return *reinterpret_cast<const VecF32*>(p); }
};

struct LoadF64 {
  using Sum = double;
  static constexpr int kElement = 8, kPrefetch = 0;
  static VecF64 load(const char* p) { return *reinterpret_cast<const VecF64*>(p); }
};

struct LoadF16 {
  using Sum = float;
  static constexpr int kElement = 2, kPrefetch = 16;
  static VecF32 load(const char* p) {
#if defined(__AVX512F__)
    return reinterpret_cast<VecF32>(_mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__AVX2__)
    return reinterpret_cast<VecF32>(_mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(p))));
#else
    // Moves exponent and mantissa into place and lets one multiplication re-bias the exponent, which is exact
    // for subnormal halves too. Infinities are never stored.
    using Half = uint16_t __attribute__((vector_size(8)));
    using Word = uint32_t __attribute__((vector_size(16)));
    const Word w = __builtin_convertvector(*reinterpret_cast<const Half*>(p), Word);
    const Word magnitude = (w & 0x7fffu) << 13, sign = (w & 0x8000u) << 16;
    const VecF32 f = reinterpret_cast<VecF32>(magnitude) * 0x1p112f;
    return reinterpret_cast<VecF32>(reinterpret_cast<Word>(f) | sign);
#endif
  }
};

constexpr int kRowsAhead = 4;
constexpr int kAhead = 256;  // entries between the prefetch of an entry and its use
constexpr int kBlock = 256;  // entries that are summed in registers before they are added to sums in double

// Writes the summed columns of one row. `sums` has room for a whole tile; only `cols` of them exist.
template <class T>
void write_row(const TileCall<T>& call, int64_t r, const T* sums) {
  T* out = call.out + r * call.out_stride;
  if (call.accumulate) {
    for (int c = 0; c < call.cols; ++c) out[c] += sums[c];
  } else {
    for (int c = 0; c < call.cols; ++c) out[c] = sums[c];
  }
}

template <class T>
void store_row(const TileCall<T>& call, int64_t r, T* sums) {
  if (call.scale != nullptr) {
    for (int c = 0; c < call.cols; ++c) sums[c] *= static_cast<T>(call.scale[c]);
  }
  write_row(call, r, sums);
}

// The same for quantised rows. In double: the product may be in float's range where its factors are not.
void store_row(const TileCall<float>& call, int64_t r, float* sums, double step) {
  for (int c = 0; c < call.cols; ++c) sums[c] = static_cast<float>(sums[c] * (step * call.scale[c]));
  write_row(call, r, sums);
}

// One tile of kLines cache lines per term.
template <class Load, int kLines>
void tile_of(const TileCall<typename Load::Sum>& call, const Entries<typename Load::Sum>& entries) {
  using T = typename Load::Sum;
  using V = Vec<T>;
  constexpr int kLanes = kBytes / sizeof(T), kStep = kLanes * Load::kElement;
  constexpr int kVecs = kLines * kLineBytes / kStep;
  // As many partial sums as the registers hold: enough of them hide the latency of an FMA.
  constexpr int kUnroll = kBytes == 64 ? (kVecs <= 2   ? 4
                                          : kVecs <= 4 ? 2
                                                       : 1)
                                       : (kBytes == 32 && kVecs <= 4 ? 2 : 1);
  const char* slab = static_cast<const char*>(call.slab);
  const bool whole = call.cols == kVecs * kLanes && !call.accumulate;
  const uint32_t* terms = entries.terms - entries.origin;
  const T* values = entries.values - entries.origin;

  for (int64_t r = 0; r < call.n_rows; ++r) {
    int64_t i = entries.row_begin[r] > entries.first ? entries.row_begin[r] : entries.first;
    const int64_t end = entries.row_begin[r + 1] < entries.last ? entries.row_begin[r + 1] : entries.last;
    V acc[kUnroll][kVecs];
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) acc[u][v] = V{};
    }
    // The rows of the output lie far apart: each is fetched while earlier ones are summed.
    if (r + kRowsAhead < call.n_rows) {
      const T* ahead = call.out + (r + kRowsAhead) * call.out_stride;
      for (int c = 0; c < call.cols; c += kLineBytes / static_cast<int>(sizeof(T)))
        __builtin_prefetch(ahead + c, 1);
    }
    const auto add = [&](int u, int64_t at) __attribute__((always_inline)) {
      const char* line = slab + uint64_t{terms[at]} * (kLines * kLineBytes);
      const V x = values[at] - V{};
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) acc[u][v] += x * Load::load(line + v * kStep);
    };
    const bool is_long = end - i > kBlock;
    alignas(64) double totals[kVecs * kLanes];
    if (is_long) __builtin_memset(totals, 0, sizeof(totals));
    for (;;) {
      const int64_t stop = end - i > kBlock ? i + kBlock : end;
      for (; i + kUnroll <= stop; i += kUnroll) {
        __builtin_prefetch(terms + i + kAhead);
        __builtin_prefetch(values + i + kAhead);
        if constexpr (Load::kPrefetch > 0) {
#pragma GCC unroll 4
          for (int u = 0; u < kUnroll; ++u) {
            const int64_t ahead = i + u + Load::kPrefetch < entries.last ? i + u + Load::kPrefetch : i + u;
            const char* line = slab + uint64_t{terms[ahead]} * (kLines * kLineBytes);
#pragma GCC unroll 4
            for (int k = 0; k < kLines; ++k) __builtin_prefetch(line + k * kLineBytes);
          }
        }
#pragma GCC unroll 4
        for (int u = 0; u < kUnroll; ++u) add(u, i + u);
      }
      for (; i < stop; ++i) add(0, i);
#pragma GCC unroll 4
      for (int u = 1; u < kUnroll; ++u) {
#pragma GCC unroll 16
        for (int v = 0; v < kVecs; ++v) acc[0][v] += acc[u][v], acc[u][v] = V{};
      }
      if (!is_long) break;
      alignas(64) T sums[kVecs * kLanes];
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) {
        __builtin_memcpy(sums + v * kLanes, &acc[0][v], kBytes);
        acc[0][v] = V{};
      }
      for (int c = 0; c < kVecs * kLanes; ++c) totals[c] += sums[c];
      if (i < end) continue;
      for (int c = 0; c < kVecs * kLanes; ++c) sums[c] = static_cast<T>(totals[c]);
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) __builtin_memcpy(&acc[0][v], sums + v * kLanes, kBytes);
      break;
    }
    T* out = call.out + r * call.out_stride;
    if (whole && call.scale == nullptr) {
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) __builtin_memcpy(out + v * kLanes, &acc[0][v], kBytes);
    } else {
      alignas(64) T sums[kVecs * kLanes];
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) __builtin_memcpy(sums + v * kLanes, &acc[0][v], kBytes);
      store_row(call, r, sums);
    }
  }
}

template <class Load>
void tile(const TileCall<typename Load::Sum>& call, const Entries<typename Load::Sum>& entries) {
  constexpr int kMost = kTileColumns * Load::kElement / kLineBytes;
  const int lines = call.slab_bytes / kLineBytes;
  if (lines == 1) return tile_of<Load, 1>(call, entries);
  if constexpr (kMost >= 2) {
    if (lines == 2) return tile_of<Load, 2>(call, entries);
  }
  if constexpr (kMost >= 4) {
    if (lines == 3) return tile_of<Load, 3>(call, entries);
    if (lines == 4) return tile_of<Load, 4>(call, entries);
  }
  if constexpr (kMost >= 8) {
    if (lines <= 6) return tile_of<Load, 6>(call, entries);
    return tile_of<Load, 8>(call, entries);
  }
}

#if defined(__AVX512VNNI__)

// Four lines at a time: eight unpacks on one port interleave their bytes by column while eight dot products
// of four bytes each run on the other, so 15-bit input costs no more time than 8-bit input would.
void tile_i8(const TileCall<float>& call, const QuadEntries& entries) {
  const char* slab = static_cast<const char*>(call.slab);
  const Quad* const last = entries.quads + entries.row_begin[call.n_rows];
  constexpr int kFlush = 8192;  // quads: 4 * 8192 * 255 * 127 fits 31 bits
  for (int64_t r = 0; r < call.n_rows; ++r) {
    const Quad* q = entries.quads + entries.row_begin[r];
    const Quad* const end = entries.quads + entries.row_begin[r + 1];
    __m512 sum[4] = {};
    while (q < end) {
      const Quad* const stop = end - q > kFlush ? q + kFlush : end;
      __m512i hi[4] = {}, lo[4] = {};
      int32_t hi_total = 0, lo_total = 0;
      for (; q < stop; ++q) {
        __builtin_prefetch(q + kAhead / 4);
        const Quad* const next = q + 8 < last ? q + 8 : q;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) __builtin_prefetch(slab + uint64_t{next->term[k]} * kLineBytes);
        const auto line = [&](int k) { return _mm512_load_si512(slab + uint64_t{q->term[k]} * kLineBytes); };
        const __m512i a = line(0), b = line(1), c = line(2), d = line(3);
        const __m512i ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
        const __m512i cd0 = _mm512_unpacklo_epi8(c, d), cd1 = _mm512_unpackhi_epi8(c, d);
        const __m512i columns[4] = {_mm512_unpacklo_epi16(ab0, cd0), _mm512_unpackhi_epi16(ab0, cd0),
                                    _mm512_unpacklo_epi16(ab1, cd1), _mm512_unpackhi_epi16(ab1, cd1)};
        int32_t hi4, lo4;
        __builtin_memcpy(&hi4, q->hi, 4);
        __builtin_memcpy(&lo4, q->lo, 4);
        const __m512i xh = _mm512_set1_epi32(hi4), xl = _mm512_set1_epi32(lo4);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          hi[j] = _mm512_dpbusd_epi32(hi[j], columns[j], xh);
          lo[j] = _mm512_dpbusd_epi32(lo[j], columns[j], xl);
        }
        hi_total += q->hi[0] + q->hi[1] + q->hi[2] + q->hi[3];
        lo_total += q->lo[0] + q->lo[1] + q->lo[2] + q->lo[3];
      }
      const __m512i hi_bias = _mm512_set1_epi32(kInt8Bias * hi_total);
      const __m512i lo_bias = _mm512_set1_epi32(kInt8Bias * lo_total);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const __m512 h = _mm512_cvtepi32_ps(_mm512_sub_epi32(hi[j], hi_bias));
        const __m512 l = _mm512_cvtepi32_ps(_mm512_sub_epi32(lo[j], lo_bias));
        sum[j] = _mm512_add_ps(sum[j], _mm512_fmadd_ps(h, _mm512_set1_ps(128.0f), l));
      }
    }
    const double step = entries.row_step[r];
    if (call.cols == kTileColumns && !call.accumulate && call.scale_is_ordinary && is_ordinary_scale(step)) {
      float* out = call.out + r * call.out_stride;
      const __m512 narrow = _mm512_set1_ps(static_cast<float>(step));
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const __m512 scale = _mm512_mul_ps(narrow, _mm512_loadu_ps(call.scale + 16 * j));
        _mm512_storeu_ps(out + 16 * j, _mm512_mul_ps(sum[j], scale));
      }
    } else {
      alignas(64) float sums[kTileColumns];
      for (int j = 0; j < 4; ++j) _mm512_store_ps(sums + 16 * j, sum[j]);
      store_row(call, r, sums, step);
    }
  }
}

#else

// Without byte dot products: the same numbers, each byte widened to float, summed in the line's own order.
void tile_i8(const TileCall<float>& call, const QuadEntries& entries) {
  const auto* slab = static_cast<const uint8_t*>(call.slab);
  constexpr int kQuads = kBlock / 4;
  for (int64_t r = 0; r < call.n_rows; ++r) {
    alignas(64) double by_byte[kTileColumns] = {};
    for (int64_t i = entries.row_begin[r]; i < entries.row_begin[r + 1];) {
      const int64_t stop = entries.row_begin[r + 1] - i > kQuads ? i + kQuads : entries.row_begin[r + 1];
      alignas(64) float block[kTileColumns] = {};
      for (; i < stop; ++i) {
        const Quad& q = entries.quads[i];
        for (int k = 0; k < 4; ++k) {
          const uint8_t* line = slab + uint64_t{q.term[k]} * kLineBytes;
          const auto x = static_cast<float>(128 * q.hi[k] + q.lo[k]);
          for (int b = 0; b < kTileColumns; ++b) block[b] += x * static_cast<float>(line[b] - kInt8Bias);
        }
      }
      for (int b = 0; b < kTileColumns; ++b) by_byte[b] += block[b];
    }
    float sums[kTileColumns];
    for (int b = 0; b < kTileColumns; ++b) sums[int8_column(b)] = static_cast<float>(by_byte[b]);
    store_row(call, r, sums, entries.row_step[r]);
  }
}

#endif

}  // namespace

TileTable tile_table() {
  return {.tile_f64 = &tile<LoadF64>,
          .tile_f32 = &tile<LoadF32>,
          .tile_f16 = &tile<LoadF16>,
          .tile_i8 = &tile_i8};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
