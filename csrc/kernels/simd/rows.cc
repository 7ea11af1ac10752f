#include "kernels/simd/rows.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int64_t kLanes = kBytes / 4;

using Vec = float __attribute__((vector_size(kBytes)));
using Loose = float __attribute__((vector_size(kBytes), aligned(4), may_alias));

inline Vec load(const float* p) {
  return *reinterpret_cast<const Loose*>(p);
}

inline void store(float* p, Vec v) {
  *reinterpret_cast<Loose*>(p) = v;
}

// The columns of kVectors vectors, their sums in registers. Two sums each, so that additions need not wait.
template <int kVectors>
void combine_columns(const float* coefficients, const float* rows, int64_t n, int64_t stride, float* out) {
  Vec even[kVectors] = {}, odd[kVectors] = {};
  int64_t i = 0;
  for (; i + 1 < n; i += 2) {
    const float a = coefficients[i], b = coefficients[i + 1];
    const float* row = rows + i * stride;
    for (int v = 0; v < kVectors; ++v) {
      even[v] += a * load(row + v * kLanes);
      odd[v] += b * load(row + stride + v * kLanes);
    }
  }
  if (i < n) {
    for (int v = 0; v < kVectors; ++v) even[v] += coefficients[i] * load(rows + i * stride + v * kLanes);
  }
  for (int v = 0; v < kVectors; ++v) store(out + v * kLanes, even[v] + odd[v]);
}

void combine(const float* coefficients, const float* rows, int64_t n, int64_t stride, float* out) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= stride; c += 4 * kLanes) {
    combine_columns<4>(coefficients, rows + c, n, stride, out + c);
  }
  for (; c + 2 * kLanes <= stride; c += 2 * kLanes) {
    combine_columns<2>(coefficients, rows + c, n, stride, out + c);
  }
  for (; c < stride; c += kLanes) combine_columns<1>(coefficients, rows + c, n, stride, out + c);
}

void add_outer(const float* coefficients, const float* x, int64_t n, int64_t stride, float* rows) {
  for (int64_t i = 0; i < n; ++i) {
    const float a = coefficients[i];
    float* row = rows + i * stride;
    for (int64_t c = 0; c < stride; c += kLanes) store(row + c, load(row + c) + a * load(x + c));
  }
}

}  // namespace

RowTable row_table() {
  return {&combine, &add_outer};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
