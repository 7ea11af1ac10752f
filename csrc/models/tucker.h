#pragma once
// One link of the chain of products of a sparse tensor with factor matrices.
//
// Unfolded along a mode, a tensor is a forest: below each row hang its indices in a second mode, below those
// the indices in a third, and so on; the lowest level, the fibres, are sparse rows over the last mode, which
// `project` multiplies with that mode's factor. From there each link goes one level up:
//
//   out[p] += sum over the children c of p of  factor[key[c]] (x) child[c]
//
// with child[c] a dense row of w elements, factor[key] one of r, and out[p] one of r w, the factor's index
// slow. Nothing is dense but the rows of the nodes in hand: the caller bounds memory by how many these are.
//
// Cost: 2 r w flops a child, which for a node with many children is a matrix product. A sum runs in T over at
// most 512 children, and in double over these partial sums.

#include <cstdint>

#include "core/views.h"

namespace semproj {

// `offsets` (out.rows + 1): children of each parent, counted as the whole level is. `children` holds the rows
// of the level from `first_child` on; those of a parent that are not among them are left out, so that a level
// can be added in pieces. Keys are below factor.rows and there is one for each row of `children`.
template <class T>
void fold_fibres(const int64_t* offsets, const int64_t* keys, const MatrixView<const T>& factor,
                 const MatrixView<const T>& children, int64_t first_child, const MatrixView<T>& out,
                 int n_threads);

}  // namespace semproj
