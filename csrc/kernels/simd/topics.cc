#include "kernels/simd/topics.h"

#include "kernels/simd/exp2.h"
#include "kernels/simd/log2.h"
#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

using V = Vec<float>;
using Int = int32_t __attribute__((vector_size(kBytes)));
constexpr int kWide = static_cast<int>(kLanes<float>);
constexpr int kPerLine = static_cast<int>(kTopicLanes) / kWide;
// Words whose products share the loads of theta and of the sums; as many sums as the latency of an FMA needs.
// Fewer of long rows, so that they are still in the first-level cache when they are added.
constexpr int kMostTogether = kWide >= 8 ? 8 : 4;
constexpr int64_t kLongRow = 640;
// Vectors of a row that are summed in registers at once.
constexpr int kTileVectors = kWide == 16 ? 16 : 8;

constexpr double kLn2 = 0.693147180559945309417;

inline double total(V v) {
  double sum = 0;
  for (int l = 0; l < kWide; ++l) sum += static_cast<double>(v[l]);
  return sum;
}

// out[i] = sum of the lanes of v[i]
template <int kGroup>
inline void lane_totals(const V* v, float* out) {
  constexpr typename UpTo<kWide>::type lanes_of{};
  V pairs[kGroup / 2], fours[kGroup / 4];
#pragma GCC unroll 4
  for (int i = 0; i < kGroup / 2; ++i) pairs[i] = fold<1>(v[2 * i], v[2 * i + 1], lanes_of);
#pragma GCC unroll 2
  for (int i = 0; i < kGroup / 4; ++i) fours[i] = fold<2>(pairs[2 * i], pairs[2 * i + 1], lanes_of);
  float lanes[kWide];
  if constexpr (kGroup == 8) {
    store<float>(lanes, fold<4>(fours[0], fours[1], lanes_of));
  } else {
    store<float>(lanes, fours[0]);
  }
  for (int i = 0; i < kGroup; ++i) {
    float sum = lanes[i];
    for (int l = kGroup + i; l < kWide; l += kGroup) sum += lanes[l];
    out[i] = sum;
  }
}

template <int kGroup, bool kSquares, bool kPrefetch>
TokenSums document_in_groups(const float* theta, const float* rows, int64_t stride, const int32_t* words,
                             const float* counts, int64_t n, float* ratios, float* sums, float* squares) {
  float probability[kTopicSegment], kept[kTopicSegment];
  for (int64_t at = 0; at < n; at += kGroup) {
    const float *row[kGroup], *next[kGroup];
    float count[kGroup], ratio[kGroup];
    for (int i = 0; i < kGroup; ++i) {
      const bool there = at + i < n;
      row[i] = rows + words[there ? at + i : n - 1] * stride;
      next[i] = rows + words[at + kGroup + i < n ? at + kGroup + i : n - 1] * stride;
      count[i] = there ? counts[at + i] : 0.0f;
    }
    V dots[kGroup] = {};
    for (int64_t c = 0; c < stride; c += kTopicLanes) {
      if constexpr (kPrefetch) {
#pragma GCC unroll 8
        for (int i = 0; i < kGroup; ++i) __builtin_prefetch(next[i] + c);
      }
#pragma GCC unroll 4
      for (int v = 0; v < kPerLine; ++v) {
        const V mine = load(theta + c + v * kWide);
#pragma GCC unroll 8
        for (int i = 0; i < kGroup; ++i) dots[i] += mine * load(row[i] + c + v * kWide);
      }
    }
    lane_totals<kGroup>(dots, probability + at);
    for (int i = 0; i < kGroup; ++i) {
      const float s = probability[at + i];
      const bool good = !(s < kLeastProbability);  // what is not a number shows in all sums
      probability[at + i] = good ? s : 1.0f;
      kept[at + i] = good ? count[i] : 0.0f;
      ratio[i] = kept[at + i] / probability[at + i];
    }
    for (int i = 0; i < kGroup && at + i < n; ++i) ratios[at + i] = ratio[i];
    float factor[kGroup];
    for (int i = 0; i < kGroup; ++i) factor[i] = ratio[i] / probability[at + i];
    for (int64_t c = 0; c < stride; c += kWide) {
      V even = load(sums + c), odd{}, square{};
      if constexpr (kSquares) square = load(squares + c);
#pragma GCC unroll 4
      for (int i = 0; i < kGroup; i += 2) {
        const V left = load(row[i] + c), right = load(row[i + 1] + c);
        even += ratio[i] * left;
        odd += ratio[i + 1] * right;
        if constexpr (kSquares) square += factor[i] * left * left + factor[i + 1] * right * right;
      }
      store<float>(sums + c, even + odd);
      if constexpr (kSquares) store<float>(squares + c, square);
    }
  }
  int64_t end = (n + kGroup - 1) / kGroup * kGroup;
  for (; end % kWide != 0; ++end) probability[end] = 1.0f, kept[end] = 0.0f;
  V exponents{}, rests{}, mass{};
  for (int64_t at = 0; at < end; at += kWide) {
    const Log2Parts<V> parts = log2_parts<Int>(load(probability + at));
    const V weight = load(kept + at);
    exponents += weight * parts.exponent;
    rests += weight * parts.rest;
    mass += weight;
  }
  return {kLn2 * (total(exponents) + total(rests)), total(mass)};
}

TokenSums document(const float* theta, const float* rows, int64_t stride, const int32_t* words,
                   const float* counts, int64_t n, float* ratios, float* sums, float* squares, bool cached) {
  const auto in_groups = [&]<int kGroup>(Numbers<kGroup>) {
    const auto run = squares != nullptr ? &document_in_groups<kGroup, true, true>
                     : cached           ? &document_in_groups<kGroup, false, false>
                                        : &document_in_groups<kGroup, false, true>;
    return run(theta, rows, stride, words, counts, n, ratios, sums, squares);
  };
  return stride < kLongRow ? in_groups(Numbers<kMostTogether>{}) : in_groups(Numbers<4>{});
}

// The columns of kVectors vectors, their sums in registers.
template <int kVectors>
void combine_columns(const float* rows, int64_t stride, const uint16_t* ids, const float* coefficients,
                     int64_t n, float* out) {
  constexpr int64_t kAhead = 6;
  double wide[kVectors * kWide];
  V sums[kVectors];
  for (int64_t begin = 0; begin < n; begin += kTopicSegment) {
    const int64_t end = begin + kTopicSegment < n ? begin + kTopicSegment : n;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[v] = V{};
    for (int64_t i = begin; i < end; ++i) {
      const float* ahead = rows + ids[i + kAhead < n ? i + kAhead : n - 1] * stride;
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; v += kPerLine) __builtin_prefetch(ahead + v * kWide);
      const float* row = rows + ids[i] * stride;
      const V a = spread(coefficients[i]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[v] += a * load(row + v * kWide);
    }
    if (n <= kTopicSegment) break;
    for (int v = 0; v < kVectors; ++v) {
      for (int l = 0; l < kWide; ++l) {
        wide[v * kWide + l] = (begin == 0 ? 0.0 : wide[v * kWide + l]) + static_cast<double>(sums[v][l]);
      }
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    float* into = out + v * kWide;
    if (n <= kTopicSegment) {
      store<float>(into, load(into) + sums[v]);
    } else {
      for (int l = 0; l < kWide; ++l) into[l] += static_cast<float>(wide[v * kWide + l]);
    }
  }
}

void combine(const float* rows, int64_t stride, const uint16_t* ids, const float* coefficients, int64_t n,
             float* out) {
  if (n == 0) return;
  int64_t c = 0;
  const auto columns = [&]<int kVectors>(Numbers<kVectors>) {
    for (; c + kVectors * kWide <= stride; c += kVectors * kWide) {
      combine_columns<kVectors>(rows + c, stride, ids, coefficients, n, out + c);
    }
  };
  columns(Numbers<kTileVectors>{});
  if constexpr (kTileVectors == 16) {
    // What is left of a row is often just short of a whole tile: 7 vectors of a hundred topics.
    const int64_t left = (stride - c) / kWide;
    if (left >= 12) columns(Numbers<12>{});
    if ((stride - c) / kWide == 7) columns(Numbers<7>{});
    columns(Numbers<8>{});
  }
  columns(Numbers<4>{});
  columns(Numbers<2>{});
  columns(Numbers<1>{});
}

double sum_logs(const float* x, int64_t n) {
  V exponents{}, rests{};
  int64_t c = 0;
  for (; c + kWide <= n; c += kWide) {
    const Log2Parts<V> parts = log2_parts<Int>(load(x + c));
    exponents += parts.exponent;
    rests += parts.rest;
  }
  if (c < n) {
    float rest[kWide];
    for (int l = 0; l < kWide; ++l) rest[l] = c + l < n ? x[c + l] : 1.0f;
    const Log2Parts<V> parts = log2_parts<Int>(load(rest));
    exponents += parts.exponent;
    rests += parts.rest;
  }
  return kLn2 * (total(exponents) + total(rests));
}

void tilt(const float* x, const float* y, float scale, int64_t n, float* out) {
  constexpr float kMost = 115.0f;  // 80 / ln 2
  const V most = spread(kMost), least = spread(-kMost);
  const float factor = scale * 1.44269504f;
  for (int64_t c = 0; c < n; c += kWide) {
    V power = factor * load(y + c);
    power = power > most ? most : power;
    power = power < least ? least : power;
    store<float>(out + c, load(x + c) * exp2_of<Int>(power));
  }
}

double expected(const float* x, const float* y, float prior, int64_t n, int64_t stride, float* out) {
  double sum = 0;
  int64_t c = 0;
  while (c + kWide <= n) {
    V sums{};
    const int64_t end = c + kTopicSegment < n ? c + kTopicSegment : n;
    for (; c + kWide <= end; c += kWide) {
      const V value = prior + load(x + c) * load(y + c);
      store<float>(out + c, value);
      sums += value;
    }
    sum += total(sums);
  }
  for (; c < n; ++c) {
    out[c] = prior + x[c] * y[c];
    sum += static_cast<double>(out[c]);
  }
  for (; c < stride; ++c) out[c] = 0.0f;
  return sum;
}

void multiply(const float* x, const float* y, int64_t n, float* out) {
  const V least = spread(kLeastProbability);
  for (int64_t c = 0; c < n; c += kWide) {
    const V value = load(x + c) * load(y + c);
    store<float>(out + c, value < least ? V{} : value);
  }
}

void fractions(const float* x, const float* y, float scale, int64_t n, float* out) {
  for (int64_t c = 0; c < n; c += kWide) store<float>(out + c, load(x + c) * load(y + c) * scale);
}

PairSums compare(const float* f1, const float* f2, const float* lambda, float weight, int64_t n) {
  V largest{}, squares{}, product{}, gap{};
  for (int64_t c = 0; c < n; c += kWide) {
    const V difference = load(f1 + c) - load(f2 + c);
    const V size = difference < V{} ? -difference : difference;
    const V part = load(lambda + c) * difference;
    largest = size > largest ? size : largest;
    squares += difference * difference;
    product += part;
    gap += weight * size - part;
  }
  double most = 0;
  for (int l = 0; l < kWide; ++l)
    most = static_cast<double>(largest[l]) > most ? static_cast<double>(largest[l]) : most;
  return {most, total(squares), total(product), total(gap)};
}

void balance(const float* f1, const float* f2, const float* lambda, const float* scales, float most,
             int64_t n, float* out) {
  constexpr float kLn2Float = 0.69314718f, kLeast = 1e-20f;
  const V least = spread(kLeast), low = -most - V{}, high = most - V{};
  for (int64_t c = 0; c < n; c += kWide) {
    V a = load(f1 + c), b = load(f2 + c);
    a = a < least ? least : a;
    b = b < least ? least : b;
    const Log2Parts<V> parts = log2_parts<Int>(a / b);
    V value = load(lambda + c) + load(scales + c) * kLn2Float * (parts.exponent + parts.rest);
    value = value > high ? high : value;
    store<float>(out + c, value < low ? low : value);
  }
}

}  // namespace

TopicTable topic_table() {
  return {.document = &document,
          .combine = &combine,
          .sum_logs = &sum_logs,
          .tilt = &tilt,
          .expected = &expected,
          .multiply = &multiply,
          .fractions = &fractions,
          .compare = &compare,
          .balance = &balance};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
