#pragma once
// Unsigned integers of 64, 128 and 192 bits.

#include <cstdint>
#include <type_traits>

namespace semproj::lm {

// 192 bits, as far as keys need them. Shifts are below 192.
struct Wide192 {
  uint64_t a[3]{};

  Wide192() = default;
  Wide192(uint64_t low) : a{low, 0, 0} {}  // NOLINT: as the built-in types do it
  explicit operator uint64_t() const { return a[0]; }
  explicit operator uint32_t() const { return static_cast<uint32_t>(a[0]); }

  friend Wide192 operator>>(const Wide192& x, int n) {
    Wide192 r;
    const int words = n >> 6, bits = n & 63;
    for (int i = 0; i + words < 3; ++i) {
      r.a[i] = x.a[i + words] >> bits;
      if (bits != 0 && i + words + 1 < 3) r.a[i] |= x.a[i + words + 1] << (64 - bits);
    }
    return r;
  }
  friend Wide192 operator<<(const Wide192& x, int n) {
    Wide192 r;
    const int words = n >> 6, bits = n & 63;
    for (int i = 2; i - words >= 0; --i) {
      r.a[i] = x.a[i - words] << bits;
      if (bits != 0 && i - words - 1 >= 0) r.a[i] |= x.a[i - words - 1] >> (64 - bits);
    }
    return r;
  }
  friend Wide192 operator|(Wide192 x, const Wide192& y) {
    for (int i = 0; i < 3; ++i) x.a[i] |= y.a[i];
    return x;
  }
  friend Wide192 operator&(Wide192 x, const Wide192& y) {
    for (int i = 0; i < 3; ++i) x.a[i] &= y.a[i];
    return x;
  }
  friend Wide192 operator^(Wide192 x, const Wide192& y) {
    for (int i = 0; i < 3; ++i) x.a[i] ^= y.a[i];
    return x;
  }
  friend bool operator==(const Wide192&, const Wide192&) = default;
  friend bool operator<(const Wide192& x, const Wide192& y) {
    if (x.a[2] != y.a[2]) return x.a[2] < y.a[2];
    return x.a[1] != y.a[1] ? x.a[1] < y.a[1] : x.a[0] < y.a[0];
  }
};

template <int kWords>
using Wide =
    std::conditional_t<kWords == 1, uint64_t, std::conditional_t<kWords == 2, unsigned __int128, Wide192>>;

}  // namespace semproj::lm
