#pragma once
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): random numbers as a pure function of (key, counter), so a
// draw does not depend on which thread makes it or on what was drawn before.

#include <array>
#include <cmath>
#include <cstdint>

namespace semproj {

using Philox4 = std::array<uint32_t, 4>;

inline Philox4 philox(uint64_t key, Philox4 c) {
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// Two independent standard normals from two 32-bit words each (Box-Muller on 52 significant bits).
inline std::array<double, 2> philox_normals(uint64_t key, const Philox4& counter) {
  const Philox4 r = philox(key, counter);
  const auto unit = [](uint32_t hi, uint32_t lo) {  // in (0, 1)
    return (static_cast<double>((uint64_t{hi} << 20) | (lo >> 12)) + 0.5) * 0x1p-52;
  };
  const double radius = std::sqrt(-2.0 * std::log(unit(r[0], r[1])));
  const double angle = 6.283185307179586476925 * unit(r[2], r[3]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace semproj
