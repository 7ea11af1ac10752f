#pragma once
// Nearest rows of a few queries, looked for in one pass over the rows: results are those of the tiles of a
// batch, bit for bit.

#include <cstdint>

#include "kernels/retrieve.h"

namespace semproj {

// Whether top_k does it so.
bool are_few(Metric metric, int64_t queries, int64_t depth);

// As top_k.
void few_top_k(const MatrixView<const float>& queries, const MatrixView<const float>& corpus, int64_t k,
               int64_t* ids, float* scores, const RetrieveOptions& options, const CorpusOptions& known);

}  // namespace semproj
