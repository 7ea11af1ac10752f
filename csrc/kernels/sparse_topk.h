#pragma once
// Nearest sparse rows, by cosine or inner product: exact, and never dense.

#include <cstdint>

#include "core/views.h"
#include "kernels/inverted_rows.h"
#include "kernels/retrieve.h"

namespace semproj {

// As top_k: the same order, zeros and refusals. `is_used` of the inverted rows must have had the columns of
// all queries.
template <class Index, class Value>
void sparse_top_k(const CsrView<Index, Value>& queries, const InvertedRows& corpus, int64_t k, int64_t* ids,
                  float* scores, const RetrieveOptions& options);

// Which columns there are in some rows. Throws std::invalid_argument, beginning with the name of the rows,
// for one out of range.
template <class Index, class Value>
std::vector<char> used_columns(const CsrView<Index, Value>& rows, const char* name);

}  // namespace semproj
