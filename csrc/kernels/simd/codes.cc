#include "kernels/simd/codes.h"

#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

#if defined(__AVX512F__)

int32_t byte_product(const uint8_t* c, const int8_t* q, int64_t n) {
  __m512i sum = _mm512_setzero_si512();
  int64_t k = 0;
  for (; k + 64 <= n; k += 64)
    sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(c + k), _mm512_loadu_si512(q + k));
  if (k < n) {
    const __mmask64 rest = ~uint64_t{0} >> (64 - (n - k));
    sum =
        _mm512_dpbusd_epi32(sum, _mm512_maskz_loadu_epi8(rest, c + k), _mm512_maskz_loadu_epi8(rest, q + k));
  }
  return _mm512_reduce_add_epi32(sum);
}

float half_product(const uint16_t* c, const float* q, int64_t n) {
  __m512 sum[2] = {};
  int64_t k = 0;
  for (; k + 16 <= n; k += 16) {
    const __m512 x = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(c + k)));
    sum[k / 16 % 2] = _mm512_fmadd_ps(x, _mm512_loadu_ps(q + k), sum[k / 16 % 2]);
  }
  if (k < n) {
    const auto rest = static_cast<__mmask16>(0xffffu >> (16 - (n - k)));
    const __m512 x = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(rest, c + k));
    sum[0] = _mm512_fmadd_ps(x, _mm512_maskz_loadu_ps(rest, q + k), sum[0]);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(sum[0], sum[1]));
}

#else

int32_t byte_product(const uint8_t* c, const int8_t* q, int64_t n) {
  int32_t sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += int32_t{c[k]} * int32_t{q[k]};
  return sum;
}

#if defined(__AVX2__)
float half_product(const uint16_t* c, const float* q, int64_t n) {
  __m256 sum = _mm256_setzero_ps();
  int64_t k = 0;
  for (; k + 8 <= n; k += 8) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(c + k)));
    sum = _mm256_fmadd_ps(x, _mm256_loadu_ps(q + k), sum);
  }
  float total = 0;
  for (int j = 0; j < 8; ++j) total += reinterpret_cast<Vec<float> >(sum)[j];
  for (; k < n; ++k) total += _cvtsh_ss(c[k]) * q[k];
  return total;
}
#endif

#endif

void bytes(const uint8_t* codes, int64_t stride, int64_t n, const int8_t* query, int64_t depth,
           int32_t* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] = byte_product(codes + i * stride, query, depth);
}

#if defined(__AVX2__)
void halves(const uint16_t* codes, int64_t stride, int64_t n, const float* query, int64_t depth,
            float* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] = half_product(codes + i * stride, query, depth);
}
#else
constexpr void (*halves)(const uint16_t*, int64_t, int64_t, const float*, int64_t, float*) = nullptr;
#endif

}  // namespace

CodeTable code_table() {
  return {.bytes = &bytes, .halves = halves};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
