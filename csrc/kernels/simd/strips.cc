#include "kernels/simd/score_metrics.h"
#include "kernels/simd/variant.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

using Four = float __attribute__((vector_size(16)));
static_assert(sizeof(Four) == kStrands * sizeof(float));

inline Four load_four(const float* p) {
  Four v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

// Zeros beyond the end: they change no sum.
inline Four load_end(const float* p, int64_t n) {
  Four v{};
  for (int64_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

template <class Metric>
void strip(const StripOperands& given) {
  const StripOperands on = given;
  const float* row[kStripRows];
  Four sum[kStripRows] = {};
#pragma GCC unroll 8
  for (int i = 0; i < kStripRows; ++i) row[i] = on.rows[i] + on.from;
  const auto columns = [&](int64_t k, auto load) {
    const Four q = load(on.query + k);
#pragma GCC unroll 8
    for (int i = 0; i < kStripRows; ++i) sum[i] = Metric::add(sum[i], q, load(row[i] + k), Four{});
  };
  int64_t k = 0;
  for (; k + kStrands <= on.depth; k += kStrands) columns(k, load_four);
  if (k < on.depth) columns(k, [&](const float* p) { return load_end(p, on.depth - k); });
#pragma GCC unroll 8
  for (int i = 0; i < kStripRows; ++i) {
    const float total = ((sum[i][0] + sum[i][1]) + sum[i][2]) + sum[i][3];
    on.out[i] = on.from > 0 ? on.out[i] + total : total;
  }
}

void scale(const float* x, float once, float again, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * once * again;
}

void raise_to_largest(const float* x, int64_t n, int32_t* most) {
  Int kept;
  __builtin_memcpy(&kept, most, kBytes);
  const auto take = [&](Int bits) {
    bits &= 0x7fffffff;
    kept = bits > kept ? bits : kept;
  };
  Int bits;
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide) {
    __builtin_memcpy(&bits, x + i, kBytes);
    take(bits);
  }
  if (i < n) {
    bits = Int{};
    __builtin_memcpy(&bits, x + i, static_cast<uint64_t>(n - i) * 4);
    take(bits);
  }
  __builtin_memcpy(most, &kept, kBytes);
}

}  // namespace

StripTable strip_table() {
  return {.inner = &strip<Inner>, .l1 = &strip<L1>, .scale = &scale, .raise_to_largest = &raise_to_largest};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
