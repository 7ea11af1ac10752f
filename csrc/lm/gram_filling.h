#pragma once
// Fills the table of an order with all of its n-grams.
//
// N-grams are dealt to pieces of the table that fit a cache, key and values together: in arrays of their own
// each would be fetched from memory by itself. The bytes of the table follow from the order in which n-grams
// come, not from the number of threads.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lm/gram_table.h"

namespace semproj::lm {

// What 8 bits stand for: of log_probs, then of back-offs, whose first is -0 and whose second is 0. Rising
// from the first and from the third on.
struct Codebook {
  std::array<float, 256> log_probs, backoffs;
};

// What is stored of numbers; without a codebook they are float32.
uint32_t stored_log_prob(const Codebook* codebook, float log_prob);
uint32_t stored_backoff(const Codebook* codebook, float backoff);

// N-grams, in the order they came.
struct GramRows {
  std::span<const uint64_t> keys;
  std::span<const float> log_probs, backoffs;  // no back-offs in the last order
};

// Beside the table, what filling takes for each n-gram.
inline constexpr int64_t kFillingBytes = 16;

// Fills the lines of an empty table. False if there are too few; the keys of n-grams that come again are
// added to `twice`.
bool fill_table(const GramRows& rows, const GramTable& table, const Codebook* codebook, int n_threads,
                uint64_t* lines, std::vector<uint64_t>* twice);

}  // namespace semproj::lm
