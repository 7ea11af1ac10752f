#pragma once
// Letters and their marks may be one code point or several. Normalization Form C has one wherever there is
// one.

#include "text/tokenize.h"

namespace semproj::text {

// Whether any code point of the text, looked at by itself, may be another one in Normalization Form C. If
// none is, the text is in that form.
bool may_compose(const TextRef& text);

}  // namespace semproj::text
