#pragma once
// What the tokenizer knows of one code point, and UTF-8 in both directions.

#include <cstdint>

#include "text/unicode_tables.h"

namespace semproj::text {

enum CharacterKind : uint8_t {
  kSeparator = 0,
  kWord = 1,  // letters and numbers
  kMark = 2,  // combining marks: part of a word that has begun, never its beginning
};

inline const tables::Record& character(uint32_t code) {
  const uint32_t block = tables::kStage1[code >> tables::kBlockBits];
  const uint32_t low = code & ((1u << tables::kBlockBits) - 1);
  return tables::kRecords[tables::kStage2[(block << tables::kBlockBits) + low]];
}

inline bool is_surrogate(uint32_t code) {
  return (code & 0xFFFFF800u) == 0xD800u;
}

// Writes at most 4 bytes and returns how many.
inline int encode_utf8(uint32_t code, char* out) {
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<char>(0xC0 | (code >> 6));
    out[1] = static_cast<char>(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<char>(0xE0 | (code >> 12));
    out[1] = static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out[2] = static_cast<char>(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | (code >> 18));
  out[1] = static_cast<char>(0x80 | ((code >> 12) & 0x3F));
  out[2] = static_cast<char>(0x80 | ((code >> 6) & 0x3F));
  out[3] = static_cast<char>(0x80 | (code & 0x3F));
  return 4;
}

// Reads one code point and returns its length, or 0 where the bytes are not UTF-8 (overlong forms,
// surrogates, values above U+10FFFF and sequences cut off at `end` are not).
inline int decode_utf8(const uint8_t* p, const uint8_t* end, uint32_t* code) {
  const auto tail = [&](int i) { return (p[i] & 0xC0) == 0x80; };
  const uint32_t lead = p[0];
  if (lead < 0x80) {
    *code = lead;
    return 1;
  }
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) {
    if (end - p < 2 || !tail(1)) return 0;
    *code = (lead & 0x1F) << 6 | (p[1] & 0x3Fu);
    return 2;
  }
  if (lead < 0xF0) {
    if (end - p < 3 || !tail(1) || !tail(2)) return 0;
    *code = (lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    return *code < 0x800 || is_surrogate(*code) ? 0 : 3;
  }
  if (lead > 0xF4 || end - p < 4 || !tail(1) || !tail(2) || !tail(3)) return 0;
  *code = (lead & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
  return *code < 0x10000 || *code > 0x10FFFF ? 0 : 4;
}

}  // namespace semproj::text
