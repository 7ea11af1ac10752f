#pragma once
// A sparse matrix times a sparse matrix.
//
//   C[i, :] = sum over k of A[i, k] B[k, :]
//
// Row by row (Gustavson): a dense row of sums, and a bit for each column touched. The bits are walked in
// order, so that sorted rows cost no sorting. Each element is summed by one thread, in the order of the row's
// entries, in the type of the result. Cost: about 2 ns a product and 3 ns an element of the result, and a
// 64th of a nanosecond a column and row. Memory: the result twice, and 4 or 8 bytes a column for each thread.

#include <cstdint>
#include <vector>

#include "core/views.h"

namespace semproj {

// Rows of the result in parts of consecutive rows.
template <class Value>
struct ProductPart {
  std::vector<int32_t> indices;
  std::vector<Value> data;
  std::vector<int64_t> lengths;  // of each row
};

// b must be valid; the rows of a are checked here. Throws std::invalid_argument for a column of a out of
// range or a value that is not finite. Elements that cancel to zero stay in the result.
template <class Value, class Index, class In>
std::vector<ProductPart<Value>> multiply_sparse(const CsrView<Index, In>& a, const CsrView<int32_t, float>& b,
                                                int n_threads);

// Joins the parts: arrays of n_rows + 1, n_entries and n_entries. Frees them.
template <class Value>
void join_parts(std::vector<ProductPart<Value>>* parts, int64_t* indptr, int32_t* indices, Value* data,
                int n_threads);

}  // namespace semproj
