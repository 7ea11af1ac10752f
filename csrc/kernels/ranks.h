#pragma once
// Ranks of rows that belong to a query among all others: exact, and the scores are never all in memory.

#include <cstdint>

#include "kernels/retrieve.h"

namespace semproj {

// The rank of row i of B for query row i of A (forward), and of row i of A for query row i of B: one plus the
// number of others whose score is at least the pair's, less a margin for rounding (see margin_of). 0 for a
// pair with a zero row, which has no cosine.
void true_ranks(const MatrixView<const float>& a, const MatrixView<const float>& b, int64_t* forward,
                int64_t* backward, const RetrieveOptions& options);

// Corpus rows to be found, query by query: of query i the rows gold[starts[i]] to gold[starts[i + 1]].
struct GoldRows {
  const int64_t* starts;
  const int64_t* rows;
};

// Of each row to be found: how many of the corpus rows [0, rivals) are nearer to its query, and how many
// others are as near, up to the same margin. Both are -1 for a pair with a zero row, which has no cosine.
void gold_ranks(const MatrixView<const float>& queries, const MatrixView<const float>& corpus, int64_t rivals,
                const GoldRows& gold, int64_t* nearer, int64_t* tied, const RetrieveOptions& options);

}  // namespace semproj
