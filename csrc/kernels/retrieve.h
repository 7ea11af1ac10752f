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

// Rows that a query must not find: rows[starts[q]] to rows[starts[q + 1]], ascending; one list for all if
// there is one query's.
struct SkippedRows {
  const int64_t* starts = nullptr;
  const int64_t* rows = nullptr;
  bool one_for_all = false;
};

// Narrow copies of rows: row i is scale[i] times its codes (bytes less 128, or halves), but for a vector of
// at most length error[i].
struct NarrowRows {
  const uint8_t* bytes = nullptr;  // one of the two
  const uint16_t* halves = nullptr;
  const float* scale = nullptr;
  const float* error = nullptr;
  bool exists() const { return scale != nullptr; }
};

// What is known of a corpus beforehand: the lengths of its rows if they are prepared (see prepare_rows),
// which of them are not asked for, and copies for cosine or inner product, if they are prepared.
struct CorpusOptions {
  const double* lengths = nullptr;
  double longest = 0;  // of the lengths, if they are given
  SkippedRows skipped;
  NarrowRows narrow;
};

// The k best corpus rows of each query, best first, smaller ids first among equals: `ids` and `scores` are
// (queries x k), contiguous. Needs 1 <= k <= corpus rows < 2^32. Scores of the distances are the distances.
// By cosine, zero vectors find nothing and are not found. Where there are fewer rows than k, the id is -1 and
// the score NaN.
void top_k(const MatrixView<const float>& queries, const MatrixView<const float>& corpus, int64_t k,
           int64_t* ids, float* scores, const RetrieveOptions& options, const CorpusOptions& known = {});

// Writes the rows as they are compared to `out`, and their lengths. Throws as ComparedRows::prepare.
void prepare_rows(const MatrixView<const float>& rows, const MatrixView<float>& out, double* lengths,
                  const RetrieveOptions& options);

}  // namespace semproj
