#include "kernels/simd/scores.h"

#include "kernels/simd/log2.h"
#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

// rows x 2 vectors of sums, two vectors of the panel and a broadcast fill the registers: 32, or 16.
constexpr int kRows = kBytes == 64 ? 12 : 6;
constexpr int kVecs = 2, kWide = static_cast<int>(kLanes<float>), kCols = kVecs * kWide;

using V = Vec<float>;
using Int = int32_t __attribute__((vector_size(kBytes)));

inline V absolute(V x) {
  return reinterpret_cast<V>(reinterpret_cast<Int>(x) & 0x7fffffff);
}

// For 0 a finite number, which is then multiplied by 0.
inline V log2_of(V x) {
  const auto parts = log2_parts<Int>(x);
  return parts.rest + parts.exponent;
}

// Columns that are summed before their sum is added to those of others. Equal terms are all rounded the same
// way when they are added to one large sum. Beside twenty operations a column, more sums cost nothing.
constexpr int64_t kAllColumns = 0;

struct Inner {
  static constexpr int kRowsAtOnce = kRows;
  static constexpr bool kTerms = false;
  static constexpr int64_t kColumnsAtOnce = kAllColumns;
  static V add(V sum, V q, V c, V) { return sum + q * c; }
};

struct L1 {
  static constexpr int kRowsAtOnce = kRows;
  static constexpr bool kTerms = false;
  static constexpr int64_t kColumnsAtOnce = kAllColumns;
  static V add(V sum, V q, V c, V) { return sum - absolute(q - c); }
};

struct JensenShannon {
  static constexpr int kRowsAtOnce = kBytes == 64 ? 4 : 2;  // the polynomial wants registers too
  static constexpr bool kTerms = true;
  static constexpr int64_t kColumnsAtOnce = 32;
  static V add(V sum, V q, V c, V terms) {
    const V m = q + c;
    return sum + (m * log2_of(m) - terms);
  }
};

template <class Metric>
using Sums = V[Metric::kRowsAtOnce][kVecs];

// Where a tile reads its next column.
struct Place {
  const float *q, *c, *q_terms, *c_terms;
};

template <class Metric>
[[gnu::always_inline]] inline void add_columns(int64_t n, Place& at, Sums<Metric>& sum) {
  for (int64_t k = 0; k < n; ++k) {
    const V left = load(at.c), right = load(at.c + kWide);
    V left_terms{}, right_terms{};
    if constexpr (Metric::kTerms) left_terms = load(at.c_terms), right_terms = load(at.c_terms + kWide);
#pragma GCC unroll 16
    for (int i = 0; i < Metric::kRowsAtOnce; ++i) {
      const V x = spread(at.q[i]);
      V terms{};
      if constexpr (Metric::kTerms) terms = spread(at.q_terms[i]);
      sum[i][0] = Metric::add(sum[i][0], x, left, left_terms + terms);
      sum[i][1] = Metric::add(sum[i][1], x, right, right_terms + terms);
    }
    at.q += kRows;
    at.c += kCols;
    if constexpr (Metric::kTerms) at.q_terms += kRows, at.c_terms += kCols;
  }
}

template <class Metric>
[[gnu::always_inline]] inline void add_sums(Sums<Metric>& part, Sums<Metric>& sum) {
#pragma GCC unroll 16
  for (int i = 0; i < Metric::kRowsAtOnce; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) sum[i][v] += part[i][v];
  }
}

template <class Metric>
void tile(const TileOperands& given) {
  const TileOperands on = given;  // a copy: nothing stored through `out` can change it
  constexpr int kAtOnce = Metric::kRowsAtOnce;
  constexpr int64_t kPiece = Metric::kColumnsAtOnce;
  for (int first = 0; first < kRows; first += kAtOnce) {
    float* out = on.out + first * on.out_stride;
#pragma GCC unroll 16
    for (int i = 0; i < kAtOnce; ++i) __builtin_prefetch(out + i * on.out_stride, 1);
    Place at{on.group + first, on.panel, on.group_terms + first, on.panel_terms};
    Sums<Metric> sum{};
    if constexpr (kPiece == kAllColumns) {
      add_columns<Metric>(on.depth, at, sum);
    } else {
      for (int64_t left = on.depth; left > 0; left -= kPiece) {
        Sums<Metric> part{};
        add_columns<Metric>(left < kPiece ? left : kPiece, at, part);
        add_sums<Metric>(part, sum);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kAtOnce; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) {
        float* to = out + i * on.out_stride + v * kWide;
        store(to, on.add ? load(to) + sum[i][v] : sum[i][v]);
      }
    }
  }
}

// In double; four vectors of partial sums hide the latency of an addition.
template <RowSum what>
double sum_of(const float* x, int64_t n) {
  constexpr int kParts = 4, kHalf = kWide / 2;
  using Narrow = float __attribute__((vector_size(kBytes / 2)));
  using Wide = double __attribute__((vector_size(kBytes)));
  const auto term = [](auto v) {
    return what == RowSum::squares ? v * v : what == RowSum::absolute ? (v < 0 ? -v : v) : v;
  };
  const auto load_half = [](const float* p) {
    Narrow narrow;
    __builtin_memcpy(&narrow, p, sizeof(narrow));
    return __builtin_convertvector(narrow, Wide);
  };
  Wide parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts * kHalf <= n; i += kParts * kHalf) {
#pragma GCC unroll 4
    for (int j = 0; j < kParts; ++j) parts[j] += term(load_half(x + i + j * kHalf));
  }
  for (; i + kHalf <= n; i += kHalf) parts[0] += term(load_half(x + i));
  parts[0] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
  double total = 0;
  for (int j = 0; j < kHalf; ++j) total += parts[0][j];
  for (; i < n; ++i) total += term(static_cast<double>(x[i]));
  return total;
}

double sum(const float* x, int64_t n, RowSum what) {
  if (what == RowSum::squares) return sum_of<RowSum::squares>(x, n);
  return what == RowSum::absolute ? sum_of<RowSum::absolute>(x, n) : sum_of<RowSum::plain>(x, n);
}

#if defined(__AVX2__)

// Four columns of kWide rows: every 128-bit lane is a 4 x 4 transposition of its own, of rows 4 lane + 0..3.
inline void transpose(const float* const* rows, int64_t k, V out[4]) {
  V in[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const auto quarter = [&](int lane) { return _mm_loadu_ps(rows[4 * lane + r] + k); };
#if defined(__AVX512F__)
    __m512 v = _mm512_castps128_ps512(quarter(0));
    v = _mm512_insertf32x4(v, quarter(1), 1);
    v = _mm512_insertf32x4(v, quarter(2), 2);
    v = _mm512_insertf32x4(v, quarter(3), 3);
#else
    const __m256 v = _mm256_insertf128_ps(_mm256_castps128_ps256(quarter(0)), quarter(1), 1);
#endif
    in[r] = reinterpret_cast<V>(v);
  }
#if defined(__AVX512F__)
  const auto low = [](V a, V b) { return _mm512_unpacklo_ps(a, b); };
  const auto high = [](V a, V b) { return _mm512_unpackhi_ps(a, b); };
  const auto first = [](V a, V b) { return _mm512_shuffle_ps(a, b, 0x44); };
  const auto second = [](V a, V b) { return _mm512_shuffle_ps(a, b, 0xee); };
#else
  const auto low = [](V a, V b) { return _mm256_unpacklo_ps(a, b); };
  const auto high = [](V a, V b) { return _mm256_unpackhi_ps(a, b); };
  const auto first = [](V a, V b) { return _mm256_shuffle_ps(a, b, 0x44); };
  const auto second = [](V a, V b) { return _mm256_shuffle_ps(a, b, 0xee); };
#endif
  const V a = low(in[0], in[1]), b = low(in[2], in[3]), c = high(in[0], in[1]), d = high(in[2], in[3]);
  out[0] = first(a, b);
  out[1] = second(a, b);
  out[2] = first(c, d);
  out[3] = second(c, d);
}

#endif

void pack(const float* const* rows, const float* scale, int64_t depth, [[maybe_unused]] int64_t ahead,
          float* panel) {
  for (int half = 0; half < kVecs; ++half) {
    const float* const* mine = rows + half * kWide;
    const V once = load(scale + half * kWide), again = load(scale + kCols + half * kWide);
    float* out = panel + half * kWide;
    int64_t k = 0;
#if defined(__AVX2__)
    for (; k + 4 <= depth; k += 4) {
      if (k % 16 == 0) {
        for (int j = 0; j < kWide; ++j) __builtin_prefetch(mine[j] + ahead + k, 0, 2);
      }
      V columns[4];
      transpose(mine, k, columns);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) store(out + (k + j) * kCols, columns[j] * once * again);
    }
#endif
    for (; k < depth; ++k) {
      V column;
      for (int j = 0; j < kWide; ++j) column[j] = mine[j][k];
      store(out + k * kCols, column * once * again);
    }
  }
}

// Not inlined: what is rounded here must not be fused with what follows.
[[gnu::noinline]] void entropy_terms(const float* x, int64_t n, float* out) {
  int64_t i = 0;
  const auto term = [](V v) { return v * log2_of(v + v); };
  for (; i + kWide <= n; i += kWide) store(out + i, term(load(x + i)));
  if (i < n) {
    V rest{};
    __builtin_memcpy(&rest, x + i, static_cast<uint64_t>(n - i) * 4);
    rest = term(rest);
    __builtin_memcpy(out + i, &rest, static_cast<uint64_t>(n - i) * 4);
  }
}

void scale(const float* x, float once, float again, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * once * again;
}

// One bit for each lane in which a > b, or a >= b.
inline uint32_t above(V a, V b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
#elif defined(__AVX2__)
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)));
#else
  uint32_t mask = 0;
  const Int greater = a > b;
  for (int j = 0; j < kWide; ++j) mask |= static_cast<uint32_t>(greater[j] & 1) << j;
  return mask;
#endif
}

int64_t select(const float* scores, int64_t from, int64_t n, float threshold, uint32_t first_id,
               uint64_t* keys, int64_t* count, int64_t room) {
  const V bar = spread(threshold);
  int64_t found = *count, i = from;
  for (; i + kWide <= n; i += kWide) {
    uint32_t mask = above(load(scores + i), bar);
    if (__builtin_expect(mask == 0, 1)) continue;
    if (found + kWide > room) break;
    for (; mask != 0; mask &= mask - 1) {
      const int64_t at = i + __builtin_ctz(mask);
      keys[found++] = key_of(scores[at], first_id + static_cast<uint32_t>(at));
    }
  }
  // The end of the scores, or of the room.
  for (; i < n && found < room; ++i) {
    if (scores[i] > threshold) keys[found++] = key_of(scores[i], first_id + static_cast<uint32_t>(i));
  }
  *count = found;
  return i;
}

int64_t count(const float* scores, int64_t n, float row_threshold, const float* column_thresholds,
              int32_t* column_counts) {
  const V bar = spread(row_threshold);
  Int reached{};
  int64_t total = 0, i = 0;
  for (; i + kWide <= n; i += kWide) {
    const V s = load(scores + i);
    Int columns;
    __builtin_memcpy(&columns, column_counts + i, kBytes);
    columns -= s >= load(column_thresholds + i);  // a comparison that holds is -1
    __builtin_memcpy(column_counts + i, &columns, kBytes);
    reached -= s >= bar;
  }
  for (; i < n; ++i) {
    column_counts[i] += scores[i] >= column_thresholds[i];
    total += scores[i] >= row_threshold;
  }
  for (int j = 0; j < kWide; ++j) total += reached[j];
  return total;
}

}  // namespace

ScoreTable score_table() {
  return {.rows = kRows,
          .cols = kCols,
          .inner = &tile<Inner>,
          .l1 = &tile<L1>,
          .jensen_shannon = &tile<JensenShannon>,
          .sum = &sum,
          .pack = &pack,
          .scale = &scale,
          .entropy_terms = &entropy_terms,
          .select = &select,
          .count = &count};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
