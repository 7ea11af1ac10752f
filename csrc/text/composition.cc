#include "text/composition.h"

#include <algorithm>
#include <array>

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

bool all_fixed(const uint16_t* codes) {
  uint16_t outside = 0;
  for (int i = 0; i < kBlock; ++i) {
    bool inside = false;  // without a branch for each range
    for (const auto& range : kFixed)
      inside |= static_cast<uint16_t>(codes[i] - range[0]) <= range[1] - range[0];
    outside |= static_cast<uint16_t>(!inside);
  }
  return outside == 0;
}

// Bytes of Latin letters by their largest, which a compiler finds for many at once; others one by one.
bool all_fixed(const uint8_t* bytes) {
  static constexpr auto kFixedByte = [] {
    std::array<bool, 256> fixed{};
    for (const auto& [first, last] : kFixedBytes) {
      for (int byte = first; byte <= last; ++byte) fixed[byte] = true;
    }
    return fixed;
  }();
  uint8_t largest = 0;
  for (int i = 0; i < kBlock; ++i) largest = std::max(largest, bytes[i]);
  if (largest <= kFixedBytes[0][1]) return true;
  bool fixed = true;
  for (int i = 0; i < kBlock; ++i) fixed &= kFixedByte[bytes[i]];
  return fixed;
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
  const CodePoints& points = changing();
  for (int64_t i = 0; i < n;) {
    if (n - i >= kBlock && all_fixed(codes + i)) {
      i += kBlock;
      continue;
    }
    for (const int64_t end = std::min(n, i + kBlock); i < end; ++i) {
      if (points.has(codes[i])) return true;
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
  const CodePoints& points = changing();
  while (p < end) {
    if (end - p >= kBlock && all_fixed(p)) {
      p += kBlock;
      continue;
    }
    for (const uint8_t* const stop = end - p > kBlock ? p + kBlock : end; p < stop;) {
      uint32_t code = 0;
      const int length = decode_utf8(p, end, &code);
      if (length > 0 && points.has(code)) return true;
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
