#pragma once
// Nearest rows by cosine or inner product, looked for among rows of narrow numbers and settled by the rows
// themselves: results are those of top_k, bit for bit.

#include <cstdint>

#include "kernels/retrieve.h"

namespace semproj {

// Row i is scale[i] times its codes (bytes less 128, or halves), but for a vector of at most length error[i].
struct NarrowRows {
  const uint8_t* bytes = nullptr;  // one of the two
  const uint16_t* halves = nullptr;
  const float* scale = nullptr;
  const float* error = nullptr;
};

// As top_k, for a prepared corpus.
void narrow_top_k(const MatrixView<const float>& queries, const MatrixView<const float>& corpus,
                  const NarrowRows& narrow, int64_t k, int64_t* ids, float* scores,
                  const RetrieveOptions& options, const CorpusOptions& known);

}  // namespace semproj
