#pragma once
// The Gibbs sampler of Bayesian tensor factorisation: words, and sums over the cells of a slice.
//
// Cell (i, j) of slice k is normal with mean V_i' M_k V_j and precision alpha, M_k = diag(P_k) for a
// symmetric slice (Zhang and others 2014, section 3). A word is drawn from equation 4,
//
//   V_i ~ N(m, C^-1),  C = Lambda + alpha sum_k M_k G_ik M_k',  C m = Lambda mu + alpha sum_k M_k s_ik
//   G_ik = sum of w V_j V_j',  s_ik = sum of w R_ij V_j     over the cells of i in slice k
//
// with alpha w the precision of a cell: w is 1, or what a user's function said. Kernels are given the roots
// of all w, by which a cell's vector and its value are multiplied as they are gathered.
//
// so that M_k is applied once a word, not once a cell. Words of a class share no cell and are drawn in
// parallel; classes come one after the other: an exact Gibbs chain. With C = U'U, V_i = U^-1 (U'^-1 (C m) +
// e), where e is a function of (seed, sweep, word) alone.
//
// Cost of a sweep over n cells at D dimensions: n D^2 multiply-adds for the words, which have a cell twice,
// n D^2 / 2 for the slices, D^3 / 6 a word. Memory moved: a vector for each cell of a word, at random, from a
// table that is a few MB. Products are in T and summed in T over 256 cells, then in double; the D x D system
// is double.

#include <cstdint>

#include "core/cpu.h"
#include "core/views.h"

namespace semproj {

// The neighbours of each word and the values of its cells, as neighbor_lists makes them (bptf_graph.h).
template <class T>
struct WordLists {
  const int64_t* indptr;
  const int32_t* words;
  const T* values;
  int64_t n_lists;
  const T* roots = nullptr;  // of the weights of the cells; none: all are 1
};

// What all words' conditionals share.
struct WordConditional {
  const double* precision;        // Lambda, D x D
  const double* precision_mean;   // Lambda mu
  const double* maps;             // M of each list, D x D: V_i' M V_j is what a cell is about
  const unsigned char* diagonal;  // whether M is
  double alpha;
};

struct Draw {
  uint64_t seed;
  uint32_t sweep;
  int n_threads = 1;
  Isa isa = Isa::baseline;
};

// Vectors are rows, here and below: `padded(D)` elements of T apart and zero behind D.

// Draws the words of each class in turn; `bounds` has n_classes + 1. Returns the word whose system is not
// positive definite, or -1.
template <class T>
int64_t draw_words(const MatrixView<T>& vectors, const WordLists<T>& lists, const WordConditional& shared,
                   const int32_t* words, const int64_t* bounds, int64_t n_classes, const Draw& draw);

// G and s of one list of words [begin, begin + grams.rows): the upper triangle of G, row by row.
template <class T>
void list_grams(const MatrixView<const T>& vectors, const WordLists<T>& lists, int64_t list, int64_t begin,
                const MatrixView<double>& grams, const MatrixView<double>& sums, int n_threads, Isa isa);

// gram (D x D) = sum of w X X', sum (D) = sum of w R X, over cells with X = V_i V_j, element by element.
template <class T>
void cell_sums(const MatrixView<const T>& vectors, const int32_t* rows, const int32_t* cols, const T* values,
               const T* roots, int64_t n, double* gram, double* sum, int n_threads, Isa isa);

// out[c] = left[rows[c]] . right[cols[c]]
template <class T>
void pair_products(const MatrixView<const T>& left, const MatrixView<const T>& right, const int32_t* rows,
                   const int32_t* cols, int64_t n, T* out, int n_threads, Isa isa);

struct Residuals {
  double squares, sizes;  // sums, that of squares weighted by w
};

// Of values minus pair_products.
template <class T>
Residuals residual_sums(const MatrixView<const T>& left, const MatrixView<const T>& right,
                        const int32_t* rows, const int32_t* cols, const T* values, const T* roots, int64_t n,
                        int n_threads, Isa isa);

}  // namespace semproj
