#pragma once
// Nearest rows and true ranks by brute force: exact, and the scores are never all in memory.

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

// The rank of row i of B for query row i of A (forward), and of row i of A for query row i of B: one plus the
// number of others whose score is at least the pair's, less a margin for rounding (see margin_of). 0 for a
// pair with a zero row, which has no cosine.
void true_ranks(const MatrixView<const float>& a, const MatrixView<const float>& b, int64_t* forward,
                int64_t* backward, const RetrieveOptions& options);

}  // namespace semproj
