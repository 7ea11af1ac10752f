#pragma once
// One column of two rows, for each metric: what tiles and strips have in common, so that their scores have
// the same bits. Everything is in an unnamed namespace (see vectors.h).

#include "kernels/simd/log2.h"
#include "kernels/simd/vectors.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

using V = Vec<float>;
using Int = int32_t __attribute__((vector_size(kBytes)));

// As many integers as X has floats: a whole vector, or the four of a strip.
template <class X>
struct IntegersOf {
  using type = Int;
};
#if defined(__AVX2__)
using FourInts = int32_t __attribute__((vector_size(16)));
template <>
struct IntegersOf<float __attribute__((vector_size(16)))> {
  using type = FourInts;
};
#endif
template <class X>
using IntOf = typename IntegersOf<X>::type;
constexpr int kWide = static_cast<int>(kLanes<float>);

template <class X>
inline X absolute(X x) {
  return reinterpret_cast<X>(reinterpret_cast<IntOf<X>>(x) & 0x7fffffff);
}

// For 0 a finite number, which is then multiplied by 0.
inline V log2_of(V x) {
  const auto parts = log2_parts<Int>(x);
  return parts.rest + parts.exponent;
}

// The queries of a group: x 2 vectors of sums, two vectors of the panel and a broadcast fill the registers.
constexpr int kRows = kBytes == 64 ? 12 : 6;

struct Inner {
  static constexpr int kRowsAtOnce = kRows;
  static constexpr bool kTerms = false;
  template <class X>
  static X add(X sum, X q, X c, X) {
    return sum + q * c;
  }
};

struct L1 {
  static constexpr int kRowsAtOnce = kRows;
  static constexpr bool kTerms = false;
  template <class X>
  static X add(X sum, X q, X c, X) {
    return sum - absolute(q - c);
  }
};

struct JensenShannon {
  static constexpr int kRowsAtOnce = kBytes == 64 ? 4 : 2;  // the polynomial wants registers too
  static constexpr bool kTerms = true;
  static V add(V sum, V q, V c, V terms) {
    const V m = q + c;
    return sum + (m * log2_of(m) - terms);
  }
};

}  // namespace
}  // namespace semproj::simd::SEMPROJ_SIMD
