#pragma once
// The loss of all cosines between the rows of two views, row i of both being a pair, and its gradient.
//
//   C_ij = u_i . v_j for rows of unit length. A pair should be more similar than u_i to other v_j (forward)
//   and than other u_i to v_j (backward).
//   softmax:   - log of exp(scale C_ii) / sum over j of exp(scale C_ij), the mean of all i
//   logistic:  log(1 + exp(-scale (C_ii - C_ij))), the mean of all i and j != i (Yih and others 2011, eq. 2)
//
// Cost. The m x m cosines are made in blocks that stay in the second-level cache: a product for the block,
// its exponentials, which serve both directions, and two products for the gradients: 6 m^2 k flops. Softmax
// needs the sums of rows and columns before: 2 m^2 k more. Memory: a block for each thread, a few numbers for
// each row.
//
// Threads. In round r the task of block i of rows has block i + r of columns: a task owns its rows' and its
// columns' gradients, nothing is added up twice, and sums are in the order of rounds for any number of
// threads.

#include "core/cpu.h"
#include "core/views.h"

namespace semproj {

enum class ContrastLoss { softmax, logistic };

// Which rows of u and v belong together although they are not of one pair: pair i has query queries[i] and
// document documents[i], and row q of `listed` has all documents of query q. These are not compared. Without
// queries, all pairs stand against each other.
struct Partners {
  const int64_t *queries = nullptr, *documents = nullptr;
  CsrView<int32_t, int32_t> listed;
};

struct Contrast {
  ContrastLoss loss;
  double scale;              // at most 40, so that exponentials have room in float32
  double forward, backward;  // weights of the two directions
  Partners partners = {};
};

// Rows have unit length, or less. Writes the gradients by the rows of u and of v; returns the loss. T is
// float or double. The caller sees to it that BLAS runs single-threaded meanwhile.
template <class T>
double contrast_gradient(const MatrixView<const T>& u, const MatrixView<const T>& v, const Contrast& contrast,
                         const MatrixView<T>& u_gradient, const MatrixView<T>& v_gradient, Isa isa,
                         int n_threads);

// dots[e] = u_i . v_j for edge e of row i = rows[e] and row j = columns[e]. Sums are of float64.
template <class T>
void edge_dots(const MatrixView<const T>& u, const MatrixView<const T>& v, const int64_t* rows,
               const int64_t* columns, int64_t n_edges, double* dots, int n_threads);

// Rows g become g / sqrt(|g|^2 + floor^2); writes 1 / sqrt(|g|^2 + floor^2), or 0 for a row of zeros without
// a floor, and for one whose length is no normal number.
template <class T>
void smooth_unit_rows(const MatrixView<T>& rows, double floor, T* inverses, int n_threads);

// The gradient by u = g / sqrt(|g|^2 + floor^2) becomes the gradient by g: (d - u (u . d)) / sqrt(...).
template <class T>
void through_unit_rows(const MatrixView<const T>& units, const T* inverses, const MatrixView<T>& gradient,
                       int n_threads);

// One step of Adam on some rows of a projection: its moments change with its rows, and those of rows without
// a gradient stay. `step` counts from 1.
struct AdamStep {
  double rate, first_decay, second_decay;
  int64_t step;
};
template <class T>
void adam_rows(const MatrixView<T>& projection, const MatrixView<T>& first, const MatrixView<T>& second,
               const int64_t* rows, const MatrixView<const T>& gradient, const AdamStep& step, int n_threads);

}  // namespace semproj
