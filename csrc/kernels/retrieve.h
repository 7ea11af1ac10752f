#pragma once
// Nearest rows by brute force: exact, and the scores are never all in memory.

#include <cstdint>

#include "kernels/score_blocks.h"

namespace semproj {

struct RetrieveOptions {
  Metric metric = Metric::cosine;
  int n_threads = 1;
  Isa isa = Isa::baseline;
};

// The k best corpus rows of each query, best first, smaller ids first among equals: `ids` and `scores` are
// (queries x k), contiguous. Needs 1 <= k <= corpus rows < 2^32. Scores of the distances are the distances.
void top_k(const MatrixView<const float>& queries, const MatrixView<const float>& corpus, int64_t k,
           int64_t* ids, float* scores, const RetrieveOptions& options);

}  // namespace semproj
