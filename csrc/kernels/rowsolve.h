#pragma once
// Weighted ridge regressions that share their features: one small system for each row of a sparse matrix.
//
// Row r of the result minimises, over q of length K,
//
//   sum_i W_ri (y_i . q - X_ri)^2 + reg |q|^2        W_ri = c_ri where X has an entry, w0 where it has none
//
// so that (S + sum_i d_ri y_i y_i') q = sum_i c_ri X_ri y_i, with d = c - w0 and S = w0 Y'Y + reg I shared by
// all rows (Srebro and Jaakkola 2003; equation 4 of Guo and Diab 2012). With S = L L', t_i = L^-1 y_i for all
// i once, R the rows sqrt(d) t of the n entries of a row, and v = c x / sqrt(d):
//
//   short rows   q = L^-T R' a,  (I + R R') a = v        n^2 K / 2 + n^3 / 6 + n K + K^2 / 2 multiply-adds
//   long rows    the K x K system in Y                   n K^2 / 2 + K^3 / 6
//
// The costs cross at n = K, and so does the conditioning for a small ridge: R R' is singular above it. Rows
// of at most kSideBySide entries are solved 16 at a time, one system in each lane, so that square roots and
// divisions are not waited for. All c = w0: q = S^-1 of the right side, no system at all. A row with some d
// <= 0 is solved as a long one.
//
// Memory moved: n K elements of T (or Y) a row, at random, fetched one row ahead.
//
// Precision. The error of a float32 solve is about 1e-7 times the condition of its matrix. A short row is
// trusted when the trace bounds the condition of I + R R', and the rows of R do not cancel in R' a; otherwise
// its solution is refined, with residuals in double from Y itself (rowsolve_refine.h: two to four times the
// cost), and when that does not settle it goes the long way. There the matrix is summed in T over 64 entries
// and then in double, the right side in double; the matrix is factored in T and the solution is refined once
// with the double matrix. When its condition, bounded by the trace or else estimated, is too bad, the row is
// done again in double throughout. The minimum of a row is c x^2 - b . q; where that cancels it is summed
// from what q leaves. A row's bits depend neither on the other rows nor on the threads.

#include <cstdint>
#include <stdexcept>

#include "core/cpu.h"
#include "core/views.h"

namespace semproj {

// The shared part, for factors Y (n x K) of type T. Rows of `whitened` and `inverse` are `padded(K)` apart
// and zero behind K.
template <class T>
struct SharedSystem {
  MatrixView<const T> factors;  // Y
  const T* whitened;            // row i is t_i = L^-1 y_i; null when S is singular: all rows are long then
  const T* inverse;             // L^-1
  const double* matrix;         // S, K x K
  double least_eigenvalue;      // of S, about; 0 when S is singular
  double missing_weight;        // w0
};

// A row's system that has no unique solution.
class SingularSystem : public std::runtime_error {
 public:
  explicit SingularSystem(int64_t row) : std::runtime_error("singular system"), row_(row) {}
  int64_t row() const { return row_; }

 private:
  int64_t row_;
};

int64_t padded(int64_t n_components);

struct RowSolveOptions {
  int64_t longest_short = -1;  // rows of more entries are long; -1: K
  int n_threads = 1;
  Isa isa = Isa::baseline;
};

// Solves all rows of X into `out`. `weights` has a c for each entry of X, in its order; null: 1. Returns the
// sum of the minima without the constant part (sum of W X^2 is in it): sum over rows of c x^2 - b . q.
// Indices must be in range. Throws SingularSystem.
template <class T, class Index>
double solve_rows(const CsrView<Index, T>& x, const T* weights, const SharedSystem<T>& shared,
                  const MatrixView<T>& out, const RowSolveOptions& options);

// out (K x K, contiguous) = Y'Y, summed in T over at most 64 rows and then in double; few rows all in double.
template <class T>
void table_gram(const MatrixView<const T>& factors, double* out, int n_threads, Isa isa);

}  // namespace semproj
