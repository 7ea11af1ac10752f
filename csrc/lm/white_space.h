#pragma once
// Where words and lines end, 64 characters at a time.

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace semproj::lm {

struct SpaceMasks {
  uint64_t spaces;  // bit i: character i is ASCII white space, as Python's bytes.split() has it
  uint64_t lines;   // bit i: it ends a line
};

inline bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

inline SpaceMasks find_spaces(const char* p) {
  SpaceMasks masks{0, 0};
#ifdef __SSE2__
  for (int i = 0; i < 64; i += 16) {
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    const __m128i controls =
        _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8('\t' - 1)), _mm_cmplt_epi8(c, _mm_set1_epi8('\r' + 1)));
    const __m128i spaces = _mm_or_si128(controls, _mm_cmpeq_epi8(c, _mm_set1_epi8(' ')));
    const __m128i lines = _mm_cmpeq_epi8(c, _mm_set1_epi8('\n'));
    masks.spaces |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(spaces))) << i;
    masks.lines |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(lines))) << i;
  }
#else
  for (int i = 0; i < 64; ++i) {
    masks.spaces |= uint64_t{is_space(p[i])} << i;
    masks.lines |= uint64_t{p[i] == '\n'} << i;
  }
#endif
  return masks;
}

}  // namespace semproj::lm
