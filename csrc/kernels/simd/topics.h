#pragma once
// The inner loops of topic models, compiled once per instruction set.
//
// A row has `stride` floats, a multiple of kTopicLanes, zero behind the topics; rows begin at cache lines.

#include <cstdint>

namespace semproj::simd {

constexpr int64_t kTopicLanes = 16;
constexpr int64_t kTopicSegment = 256;       // terms that are summed in float32 before anything wider
constexpr float kLeastProbability = 1e-30f;  // a token below it is left out: its quotient might overflow

struct TokenSums {
  double log_likelihood;  // sum of n log s
  double mass;            // sum of n, both over the words with s >= kLeastProbability
};

struct PairSums {
  double largest;  // |f1 - f2|
  double squares;  // sum of (f1 - f2)^2
  double product;  // lambda . (f1 - f2)
  double l1_gap;   // sum of weight |f1 - f2| - lambda (f1 - f2), whose terms are at least 0
};

struct TopicTable {
  // Up to kTopicSegment words of a document: s = theta . row of the word, ratios = n / s (0 for a word that
  // is left out), sums += ratio * row. Rows of the words that follow are prefetched
  // meanwhile, unless they are in a near cache already. If `squares` is given, squares += (n / s^2) * row^2
  // too.
  TokenSums (*document)(const float* theta, const float* rows, int64_t stride, const int32_t* words,
                        const float* counts, int64_t n, float* ratios, float* sums, float* squares,
                        bool cached);
  // out += sum over i of coefficients[i] * row ids[i]; wider than float32 when there are more than
  // kTopicSegment.
  void (*combine)(const float* rows, int64_t stride, const uint16_t* ids, const float* coefficients,
                  int64_t n, float* out);
  // Sum of natural logarithms of positive numbers.
  double (*sum_logs)(const float* x, int64_t n);
  // out = x exp(scale * y), within 2e-7; exponents are cut at +-80. `n` is a multiple of kTopicLanes.
  void (*tilt)(const float* x, const float* y, float scale, int64_t n, float* out);
  // out = prior + x y for the first n of `stride` topics, 0 behind. Returns its sum.
  double (*expected)(const float* x, const float* y, float prior, int64_t n, int64_t stride, float* out);
  // out = x y, elements below 1e-30 made 0. `n` is a multiple of kTopicLanes.
  void (*multiply)(const float* x, const float* y, int64_t n, float* out);

  // For pairs of documents; `n` is a multiple of kTopicLanes.
  // out = x y scale
  void (*fractions)(const float* x, const float* y, float scale, int64_t n, float* out);
  PairSums (*compare)(const float* f1, const float* f2, const float* lambda, float weight, int64_t n);
  // out = lambda + scales log(f1 / f2), cut to [-most, most]. Fractions below 1e-20 count as that.
  void (*balance)(const float* f1, const float* f2, const float* lambda, const float* scales, float most,
                  int64_t n, float* out);
};

}  // namespace semproj::simd
