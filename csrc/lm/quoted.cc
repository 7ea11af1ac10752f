#include "lm/quoted.h"

#include <cstdint>

#include "text/unicode.h"

namespace semproj::lm {
namespace {

// The length of the character at `at`, 0 if there is none.
size_t character_length(std::string_view text, size_t at) {
  const auto* first = reinterpret_cast<const uint8_t*>(text.data());
  uint32_t code = 0;
  return static_cast<size_t>(text::decode_utf8(first + at, first + text.size(), &code));
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string quoted(std::string_view text) {
  constexpr size_t kMost = 40;  // bytes
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "'";
  size_t at = 0;
  while (at < text.size() && at < kMost) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const size_t length = byte == '\t' ? 1 : byte < 0x20 || byte == 0x7F ? 0 : character_length(text, at);
    if (length == 0) {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      ++at;
    } else {
      out += text.substr(at, length);
      at += length;
    }
  }
  return out += at < text.size() ? "...'" : "'";
}

}  // namespace semproj::lm
