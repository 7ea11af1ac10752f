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

}  // namespace
}  // namespace semproj::simd::SEMPROJ_SIMD
