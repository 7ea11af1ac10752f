#include "kernels/simd/streams.h"

#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

using V = Vec<float>;
using Int = int32_t __attribute__((vector_size(kBytes)));
constexpr int kWide = static_cast<int>(kLanes<float>);
constexpr float kTiny = 0x1p-120f;  // more than products below the range of float can lose

inline V root(V x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_ps(x);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(x);
#else
  V out;
  for (int j = 0; j < kWide; ++j) out[j] = __builtin_sqrtf(x[j]);
  return out;
#endif
}

inline V only(V x, Int lanes) {
  return reinterpret_cast<V>(reinterpret_cast<Int>(x) & lanes);
}

using Four = float __attribute__((vector_size(16)));

// Four numbers with the same sum. Halves are cheap to take, and shuffles of short registers cheaper.
template <class X>
inline Four to_four(X v) {
  constexpr int n = static_cast<int>(sizeof(X) / sizeof(float));
  if constexpr (n == 4) {
    return v;
  } else {
    const auto half = [v]<int... l>(Numbers<l...>) {
      return __builtin_shufflevector(v, v, l...) + __builtin_shufflevector(v, v, (n / 2 + l)...);
    };
    return to_four(half(typename UpTo<n / 2>::type{}));
  }
}

// Lane i of what is stored is the sum of v[i].
inline void store_sums(const Four* v, float* out) {
  constexpr UpTo<4>::type lanes{};
  const Four sums = fold<2>(fold<1>(v[0], v[1], lanes), fold<1>(v[2], v[3], lanes), lanes);
  __builtin_memcpy(out, &sums, sizeof(sums));
}

struct Sums {
  V score{}, size{};
};

// Scores become what they estimate, and `reach` is how far they may be off.
struct Inner {
  static void add(Sums& sums, V q, V c) {
    sums.score += q * c;
    sums.size += c * c;
  }
  static V finish(Sums& sums, float slack) { return slack * root(sums.size) + kTiny; }
};

struct Cosine : Inner {
  static V finish(Sums& sums, float slack) {
    sums.score /= root(sums.size);
    return spread(slack);
  }
};

struct L1 {
  static void add(Sums& sums, V q, V c) { sums.size += only(q - c, Int{} + 0x7fffffff); }
  static V finish(Sums& sums, float slack) {
    sums.score = -sums.size;
    return slack * sums.size + kTiny;
  }
};

// Two sums of each kind: more would hide more latency, but then fewer rows are on their way from memory. The
// last columns are those of a whole vector that ends with the row, less the lanes that were there before.
template <class Metric>
inline Sums along(const float* c, const StreamOperands& on, V last_query, Int last_lanes) {
  const float* q = on.query;
  Sums even, odd;
  int64_t k = 0;
  for (; k + 2 * kWide <= on.depth; k += 2 * kWide) {
    Metric::add(even, load(q + k), load(c + k));
    Metric::add(odd, load(q + k + kWide), load(c + k + kWide));
  }
  if (k + kWide <= on.depth) {
    Metric::add(even, load(q + k), load(c + k));
    k += kWide;
  }
  if (k < on.depth) Metric::add(odd, last_query, only(load(c + on.depth - kWide), last_lanes));
  return {even.score + odd.score, even.size + odd.size};
}

template <class Metric>
Sizes stream(const StreamOperands& given) {
  const StreamOperands on = given;
  Int last_lanes{};
  for (int j = 0; j < kWide; ++j) last_lanes[j] = j >= kWide - on.depth % kWide ? -1 : 0;
  const V last_query = only(load(on.query + on.depth - kWide), last_lanes);
  V least = spread(kMostSize), most{};
  Int strange{};
  for (int64_t first = 0; first < on.n; first += kWide) {
    float scores[kWide], sizes[kWide];
    for (int j = 0; j < kWide; j += 4) {
      Four score[4], size[4];
#pragma GCC unroll 4
      for (int l = 0; l < 4; ++l) {
        const int64_t i = first + j + l < on.n ? first + j + l : on.n - 1;
        const Sums sums = along<Metric>(on.rows + i * on.stride, on, last_query, last_lanes);
        score[l] = to_four(sums.score);
        size[l] = to_four(sums.size);
      }
      store_sums(score, scores + j);
      store_sums(size, sizes + j);
    }
    Sums all{load(scores), load(sizes)};
    const V reach = Metric::finish(all, on.slack), lower = all.score - reach, upper = all.score + reach;
    strange |= ~(all.size <= kMostSize);
    least = all.size < least ? all.size : least;
    most = all.size > most ? all.size : most;
    const int64_t n = on.n - first < kWide ? on.n - first : kWide;
    if (n == kWide) {
      store(on.lower + first, lower);
      store(on.upper + first, upper);
      store(on.sizes + first, all.size);
      continue;
    }
    for (int64_t j = 0; j < n; ++j) {
      on.lower[first + j] = lower[j];
      on.upper[first + j] = upper[j];
      on.sizes[first + j] = all.size[j];
    }
  }
  Sizes seen{least[0], most[0]};
  for (int j = 0; j < kWide; ++j) {
    seen.least = least[j] < seen.least ? least[j] : seen.least;
    seen.most = most[j] > seen.most ? most[j] : seen.most;
    if (strange[j] != 0) seen.most = __builtin_inff();
  }
  return seen;
}

}  // namespace

StreamTable stream_table() {
  return {.inner = &stream<Inner>, .cosine = &stream<Cosine>, .l1 = &stream<L1>};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
