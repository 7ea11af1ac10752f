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

// The weight l that maximises (count - expected) d - expected (exp(d) - 1 - d) - penalties of l, d = l -
// before: a lower bound of F, the others being as they are, divided by `share` of what else changes.
double improved_weight(double weight, double count, double expected, const Penalty& penalty, double share);

}  // namespace semproj::lm
