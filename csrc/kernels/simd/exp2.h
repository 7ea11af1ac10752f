#pragma once
// Powers of two of float32 vectors, within the file that includes it (see vectors.h).

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

// 2^x = 2^k 2^f with |f| <= 1/2; the polynomial's largest error is 2e-9. |x| may be up to 125.
template <class Int, class Vec>  // Int: as many int32_t
inline Vec exp2_of(Vec x) {
  const Vec shifted = x + 12582912.0f;  // 1.5 * 2^23: the integer ends up in the low bits
  const Vec f = x - (shifted - 12582912.0f);
  Vec p = f * 1.535336188319500e-4f + 1.339887440266574e-3f;
  p = p * f + 9.618437357674640e-3f;
  p = p * f + 5.550332471162809e-2f;
  p = p * f + 2.402264791363012e-1f;
  p = p * f + 6.931472028550421e-1f;
  p = p * f + 1.0f;
  const Int k = reinterpret_cast<Int>(shifted) - 0x4b400000;
  return reinterpret_cast<Vec>(reinterpret_cast<Int>(p) + (k << 23));
}

}  // namespace
}  // namespace semproj::simd::SEMPROJ_SIMD
