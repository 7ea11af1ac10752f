#pragma once
// 64 characters at a time: which are letters or digits, which are not ASCII, and their bytes (narrowed from
// the wider units of a Python string, in lower case on request).

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace semproj::text {

inline constexpr int kBlock = 64;

struct BlockMasks {
  uint64_t words;  // bit i: character i is an ASCII letter or digit; meaningless where not ASCII
  uint64_t wide;   // bit i: character i is not ASCII
};

template <bool kLower, class Unit>
BlockMasks read_block_scalar(const Unit* in, char* out) {
  BlockMasks masks{0, 0};
  for (int i = 0; i < kBlock; ++i) {
    const uint32_t c = in[i];
    const bool upper = c - 'A' < 26u, word = upper || c - 'a' < 26u || c - '0' < 10u;
    masks.words |= uint64_t{word} << i;
    masks.wide |= uint64_t{c >= 0x80} << i;
    out[i] = static_cast<char>(kLower && upper ? c + 32 : c);
  }
  return masks;
}

#ifdef __SSE2__

inline __m128i load128(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}

// 16 characters as bytes; whatever is not ASCII becomes a byte with the high bit set.
inline __m128i load_narrow(const uint8_t* p) {
  return load128(p);
}

inline __m128i load_narrow(const uint16_t* p) {
  // packus takes its input as signed, so units above 0x7FFF are first moved to where it saturates to 0xFF.
  const auto positive = [](__m128i v) {
    return _mm_or_si128(_mm_and_si128(v, _mm_set1_epi16(0x7FFF)),
                        _mm_and_si128(_mm_srli_epi16(v, 1), _mm_set1_epi16(0x4000)));
  };
  return _mm_packus_epi16(positive(load128(p)), positive(load128(p + 8)));
}

inline __m128i load_narrow(const uint32_t* p) {
  const __m128i low = _mm_packs_epi32(load128(p), load128(p + 4));
  const __m128i high = _mm_packs_epi32(load128(p + 8), load128(p + 12));
  return _mm_packus_epi16(low, high);
}

// 0xFF where first <= v < first + count. SSE2 compares only signed bytes, hence the shift to -128.
inline __m128i in_range(__m128i v, char first, int count) {
  const __m128i shifted = _mm_add_epi8(v, _mm_set1_epi8(static_cast<char>(-128 - first)));
  return _mm_cmplt_epi8(shifted, _mm_set1_epi8(static_cast<char>(-128 + count)));
}

template <bool kLower, class Unit>
BlockMasks read_block(const Unit* in, char* out) {
  BlockMasks masks{0, 0};
  for (int i = 0; i < kBlock; i += 16) {
    __m128i v = load_narrow(in + i);
    const __m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
    const __m128i letters = in_range(folded, 'a', 26);
    const __m128i words = _mm_or_si128(letters, in_range(v, '0', 10));
    masks.words |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(words))) << i;
    masks.wide |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(v))) << i;
    if constexpr (kLower) v = _mm_or_si128(v, _mm_and_si128(letters, _mm_set1_epi8(0x20)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), v);
  }
  return masks;
}

#else

template <bool kLower, class Unit>
BlockMasks read_block(const Unit* in, char* out) {
  return read_block_scalar<kLower>(in, out);
}

#endif

}  // namespace semproj::text
