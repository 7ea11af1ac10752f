#pragma once
// Bounds on scores, from rows that are read in one pass: as they are, or as narrow copies of them.

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "kernels/retrieve.h"
#include "kernels/simd/table.h"

namespace semproj {

// A query as it is compared, and what it is in bytes.
struct BoundedQuery {
  AlignedArray<float> values;  // for halves: of unit length, so that no product leaves the range
  std::vector<int8_t> bytes;
  float length = 0, error = 0, step = 0;
  int32_t bias = 0;  // 128 times the sum of the bytes

  BoundedQuery(const ComparedRows& queries, int64_t i, const simd::ScoreTable& table,
               const NarrowRows& narrow);
};

class Bounds {
 public:
  // The corpus is not prepared, or its lengths are known; then it may have narrow copies.
  Bounds(const simd::Table& table, const ComparedRows& corpus, const NarrowRows& narrow, Metric metric)
      : table_(table), corpus_(corpus), narrow_(narrow), metric_(metric) {}

  // Of the scores against rows [begin, end), at most kBlockColumns. Minus infinity for zero rows by cosine.
  // Returns a length that no row exceeds by more than a thousandth, less that of the query if the metric is
  // L1. Throws as ComparedRows::prepare for a row that is not finite.
  double find(const BoundedQuery& query, int64_t begin, int64_t end, float* lower, float* upper) const;

 private:
  double find_in_rows(const BoundedQuery& query, int64_t begin, int64_t end, float* lower,
                      float* upper) const;
  double look_closer(int64_t i, float* lower, float* upper) const;
  void find_in_copies(const BoundedQuery& query, int64_t begin, int64_t end, float* lower,
                      float* upper) const;
  float slack() const;

  const simd::Table& table_;
  const ComparedRows& corpus_;
  NarrowRows narrow_;
  Metric metric_;
};

}  // namespace semproj
