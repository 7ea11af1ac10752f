#pragma once
// The dense Gram matrix of a sparse one.

#include "core/views.h"

namespace semproj {

// Lower triangle of out += alpha X'X, for X given by rows (indices sorted) and, as `columns`, transposed.
//
// Row i of the result gathers the rows of X in which column i occurs, each only up to i: half of sum r^2
// additions for rows of r entries, and few of them for frequent columns when these come first. The sums are
// in double, in a buffer that stays in the cache; scratch is one such row (8 n_cols bytes) per thread.
template <class Index, class Value>
void sparse_gram(const CsrView<Index, Value>& rows, const CsrView<Index, Value>& columns, double alpha,
                 const MatrixView<Value>& out, int n_threads);

}  // namespace semproj
