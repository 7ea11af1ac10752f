#pragma once
// Pieces of text for messages, which are UTF-8 whatever the text is.

#include <string>
#include <string_view>

namespace semproj::lm {

bool is_utf8(std::string_view text);

// In quotes, and cut if it is long. Bytes that are not UTF-8, and controls, as \xff.
std::string quoted(std::string_view text);

}  // namespace semproj::lm
