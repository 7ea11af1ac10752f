#pragma once
// Vectors as wide as the registers of the instruction set that a file is compiled for. Everything is in an
// unnamed namespace, so that no other file can be given a copy compiled for a newer CPU.

#include <cstdint>

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using type = float __attribute__((vector_size(kBytes)));
};
template <>
struct VectorOf<double> {
  using type = double __attribute__((vector_size(kBytes)));
};

template <class T>
using Vec = typename VectorOf<T>::type;
template <class T>
constexpr int64_t kLanes = kBytes / static_cast<int>(sizeof(T));

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, kBytes);
  return v;
}

template <class T>
inline void store(T* p, Vec<T> v) {
  __builtin_memcpy(p, &v, kBytes);
}

template <class T>
inline Vec<T> spread(T x) {
  return x - Vec<T>{};
}

template <int... I>
struct Numbers {};
template <int n, int... I>
struct UpTo : UpTo<n - 1, n - 1, I...> {};
template <int... I>
struct UpTo<0, I...> {
  using type = Numbers<I...>;
};

// Lanes whose number has the bit `step` hold sums of neighbours in b, the others sums of neighbours in a.
template <int step, class V, int... l>
inline V fold(V a, V b, Numbers<l...>) {
  constexpr int n = sizeof...(l);
  return __builtin_shufflevector(a, b, ((l & step) != 0 ? n + l - step : l)...) +
         __builtin_shufflevector(a, b, ((l & step) != 0 ? n + l : l + step)...);
}

}  // namespace
}  // namespace semproj::simd::SEMPROJ_SIMD
