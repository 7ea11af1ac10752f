#pragma once
// In how many windows of texts words and pairs of words are.
//
// A window has `width` words in a row; a document that is not longer is one window. A word is in the windows
// from where it comes in to where it leaves. When it leaves, its time is added up, and so is what it shared
// with each of its partners that is still there. Cost: one step for each word of the text, and for each that
// is counted one for each of its partners, whatever the width.

#include <cstdint>
#include <span>
#include <vector>

namespace semproj::text {

// Pairs by word: partners[i] for i in [starts[w], starts[w + 1]) are those of word w, and slots[i] is the
// number of their pair, the same for both.
struct PartnerView {
  std::span<const int64_t> starts;
  std::span<const int32_t> partners;
  std::span<const int32_t> slots;
  int64_t n_pairs;
};

struct WindowCounts {
  int64_t windows = 0;
  std::vector<int64_t> words, pairs;
};

// Document d is ids[starts[d] .. starts[d + 1]); ids from the number of words on are other words. With
// `forget_repeats` a word is gone when any of its tokens leaves, until the next one comes in: as gensim
// counts.
WindowCounts count_windows(std::span<const int64_t> starts, std::span<const int32_t> ids,
                           const PartnerView& partners, int64_t width, bool forget_repeats, int n_threads);

}  // namespace semproj::text
