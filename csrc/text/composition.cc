#include "text/composition.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "text/unicode.h"

namespace semproj::text {
namespace {

constexpr uint32_t kEnd = 0x30000;  // all that may change lie before
constexpr int kBlock = 32;

// Code points that never change: most letters of most scripts.
constexpr uint16_t kFixed[][2] = {{0, 0x2FF},       {0x388, 0x482},   {0x488, 0x590},  {0x2002, 0x20CF},
                                  {0x3040, 0x3098}, {0x309B, 0xA66E}, {0xAC00, 0xF8FF}};
// The bytes that begin code points of these ranges and no others, and those that continue one.
constexpr uint8_t kFixedBytes[][2] = {{0, 0xCB}, {0xCF, 0xD1}, {0xD3, 0xD5}, {0xE4, 0xE9}, {0xEB, 0xEC}};

constexpr bool is_fixed(uint32_t code) {
  for (const auto& [first, last] : kFixed) {
    if (code >= first && code <= last) return true;
  }
  return false;
}

constexpr bool ranges_hold() {
  for (const auto& [first, last] : tables::kMayChange) {
    for (const auto& [fixed_first, fixed_last] : kFixed) {
      if (first <= fixed_last && last >= fixed_first) return false;
    }
    if (first < kEnd && last >= kEnd) return false;
  }
  for (uint32_t lead = 0xC2; lead < 0xF0; ++lead) {
    const bool two = lead < 0xE0;
    const uint32_t begin = two ? (lead & 0x1F) << 6 : (lead & 0x0F) << 12,
                   end = begin + (two ? 1 << 6 : 1 << 12);
    for (const auto& [first, last] : kFixedBytes) {
      if (lead >= first && lead <= last && !(is_fixed(begin) && is_fixed(end - 1))) return false;
    }
  }
  return true;
}
static_assert(ranges_hold());

// Latin and Cyrillic letters, or the bytes of these and of most Greek ones: two ranges are quickly compared.
constexpr bool is_common(uint16_t code) {
  return (code <= kFixed[0][1]) | (static_cast<uint16_t>(code - kFixed[1][0]) <= kFixed[1][1] - kFixed[1][0]);
}
constexpr bool is_common(uint8_t byte) {
  return (byte <= kFixedBytes[0][1]) |
         (static_cast<uint8_t>(byte - kFixedBytes[1][0]) <= kFixedBytes[1][1] - kFixedBytes[1][0]);
}

template <class Unit, size_t n>
bool is_in(Unit unit, const Unit (&ranges)[n][2]) {
  bool inside = false;  // without a branch for each range
  for (const auto& range : ranges) inside |= static_cast<Unit>(unit - range[0]) <= range[1] - range[0];
  return inside;
}
bool is_known(uint16_t code) {
  return is_in(code, kFixed);
}
bool is_known(uint8_t byte) {
  return is_in(byte, kFixedBytes);
}

// Without an end in between, so that a compiler compares many at once.
template <class Unit>
bool all_fixed(const Unit* units) {
  Unit outside = 0;
  for (int i = 0; i < kBlock; ++i) outside |= is_common(units[i]) ? Unit{0} : static_cast<Unit>(-1);
  if (outside == 0) return true;
  outside = 0;
  for (int i = 0; i < kBlock; ++i) outside |= is_known(units[i]) ? Unit{0} : static_cast<Unit>(-1);
  return outside == 0;
}

// Finds the first block that may not be fixed; n if there is none. What is left after whole blocks is looked
// at together with units before it: bytes that continue a code point say nothing against it.
template <class Unit>
int64_t first_unknown(const Unit* units, int64_t n) {
  int64_t i = 0;
  if (n < kBlock) {
    while (i < n && is_common(units[i])) ++i;
    return i < n ? 0 : n;
  }
  for (; i + kBlock <= n; i += kBlock) {
    if (!all_fixed(units + i)) return i;
  }
  return all_fixed(units + n - kBlock) ? n : i;
}

class CodePoints {
 public:
  CodePoints() {
    for (const auto& [first, last] : tables::kMayChange) {
      for (uint32_t code = first; code <= last && code < kEnd; ++code) bits_[code / 64] |= 1ull << code % 64;
    }
  }

  bool has(uint32_t code) const { return code < kEnd && (bits_[code / 64] >> code % 64 & 1) != 0; }

 private:
  std::array<uint64_t, kEnd / 64> bits_{};
};

const CodePoints& changing() {
  static const CodePoints points;
  return points;
}

bool any_of_ucs2(const void* data, int64_t n) {
  const auto* codes = static_cast<const uint16_t*>(data);
  for (int64_t i = first_unknown(codes, n); i < n; i += first_unknown(codes + i, n - i)) {
    for (const int64_t end = std::min(n, i + kBlock); i < end; ++i) {
      if (changing().has(codes[i])) return true;
    }
  }
  return false;
}

bool any_of_ucs4(const void* data, int64_t n) {
  const auto* codes = static_cast<const uint32_t*>(data);
  const CodePoints& points = changing();
  return std::any_of(codes, codes + n, [&](uint32_t code) { return points.has(code); });
}

bool any_of_utf8(const void* data, int64_t n) {
  const auto* p = static_cast<const uint8_t*>(data);
  const uint8_t* const end = p + n;
  for (p += first_unknown(p, n); p < end; p += first_unknown(p, end - p)) {
    for (const uint8_t* const stop = end - p > kBlock ? p + kBlock : end; p < stop;) {
      uint32_t code = 0;
      const int length = decode_utf8(p, end, &code);
      if (length > 0 && changing().has(code)) return true;
      p += length > 0 ? length : 1;
    }
  }
  return false;
}

}  // namespace

bool may_compose(const TextRef& text) {
  switch (text.kind) {
    case TextKind::utf8:
      return any_of_utf8(text.data, text.length);
    case TextKind::ucs2:
      return any_of_ucs2(text.data, text.length);
    case TextKind::ucs4:
      return any_of_ucs4(text.data, text.length);
    default:
      return false;
  }
}

}  // namespace semproj::text
