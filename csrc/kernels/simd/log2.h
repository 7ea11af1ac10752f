#pragma once
// Logarithms of float32 vectors, within the file that includes it (see vectors.h).

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

template <class Vec>
struct Log2Parts {
  Vec exponent, rest;  // their sum is the logarithm; sums of exponents are exact
};

// x = 2^e (1 + t) with 1 + t in [sqrt(1/2), sqrt(2)): log2 x = e + t P(t), P of degree 7 fitted to a largest
// error of 4.9e-8. For 0 the bits give a finite number.
template <class Int, class Vec>  // Int: as many int32_t
inline Log2Parts<Vec> log2_parts(Vec x) {
  const Int bits = reinterpret_cast<Int>(x);
  const Int e = (bits - 0x3f3504f3) >> 23;
  const Vec t = reinterpret_cast<Vec>(bits - (e << 23)) - 1.0f;
  Vec p = t * -0.14574444f + 0.23689036f;
  p = p * t - 0.25006905f;
  p = p * t + 0.28670746f;
  p = p * t - 0.36008722f;
  p = p * t + 0.48093945f;
  p = p * t - 0.72135717f;
  p = p * t + 1.44269478f;
  return {__builtin_convertvector(e, Vec), p * t};
}

}  // namespace
}  // namespace semproj::simd::SEMPROJ_SIMD
