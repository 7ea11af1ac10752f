#pragma once
// Training of an exponential n-gram model on a forest of histories.
//
// Objective, to be maximised over all weights l of features f, O_f their counts in the text:
//   F = sum_f O_f l_f - sum over histories h of N(h) log Z(h) - alpha sum_f |l_f| - sum_f l_f^2 / (2
//   variance)
// Histories are leaves; all labels that come after one have a feature there. So the weights of a leaf are a
// small problem of their own, given the others: a sweep solves it, label by label, each by Newton's method in
// one dimension with its soft threshold. For all other features it finds how often the model expects them,
//   E_f = sum over h below the context of f of N(h) p(label of f | h),
// with which they are improved between sweeps.
//
// Cost. exp(sum of weights) of each label is kept in a row, which changes where a node has a feature, and
// changes back behind it; Z changes along. Expectations of a label grow by row[y] times the sum of N / Z
// since row[y] last changed. So a node costs a few operations for each of its features, however many labels
// there are, and a leaf some exponentials for each of its own. Memory: nothing but the forest, weights and
// expectations; for each thread a few numbers for each label.
//
// Threads take trees, the largest first, and own what is below them; expectations of level 0, where trees
// share it, are summed in the order of trees. All sums are of doubles.

#include <vector>

#include "lm/history_forest.h"

namespace semproj::lm {

struct Penalty {
  double alpha, variance;
};

// By level, from 0 on: a weight for each feature; expectations of all but the last level, and of that one too
// unless it is null.
struct ForestWeights {
  std::vector<double*> weights, expectations;
};

// Solves leaves if `solve`. Returns sum_f O_f l_f - sum_h N(h) log Z(h).
double sweep_forest(const HistoryForest& forest, const ForestWeights& w, const Penalty& penalty, bool solve,
                    int n_threads);

// How the weights of a level above the leaves are improved. For each feature the bound
//   O d - E (exp(share d) - 1) / share - penalties of l,   d = l - before,
// is maximised. It is a bound of F when one of `share` levels changes; a step may go further than that.
struct Improvement {
  double share;
  double momentum;  // how far to go on, beyond the maximum, in the direction from the one of the last sweep
};

// `reached` are those maxima: the last ones come in, unless momentum is 0, and those of this sweep go out. A
// weight that momentum would take to the other side of 0 becomes 0.
void improve_weights(double* weights, double* reached, const double* expected, const int64_t* counts,
                     int64_t n, const Penalty& penalty, const Improvement& how, int n_threads);
void improve_weights(double* weights, double* reached, const double* expected, const int32_t* counts,
                     int64_t n, const Penalty& penalty, const Improvement& how, int n_threads);

// alpha sum_f |l_f| + sum_f l_f^2 / (2 variance).
double penalty_of(const double* weights, int64_t n, const Penalty& penalty, int n_threads);

}  // namespace semproj::lm
