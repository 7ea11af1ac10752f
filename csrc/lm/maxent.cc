#include "lm/maxent.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

constexpr int kCycles = 8, kSteps = 30;
constexpr double kSmallStep = 1e-5;

// The root of a falling function with the slope, between 0 and `far`, by Newton's method; bisection where
// that leaves the bracket. f(x) returns the value and the slope.
template <class F>
double falling_root(double x, double far, const F& f) {
  double low = std::min(0.0, far), high = std::max(0.0, far);
  x = std::clamp(x, low, high);
  for (int step = 0; step < kSteps; ++step) {
    const auto [value, slope] = f(x);
    (value > 0 ? low : high) = x;
    double next = x - value / slope;
    if (!(next >= low && next <= high)) next = (low + high) / 2;
    const double change = std::abs(next - x);
    x = next;
    if (change < kSmallStep) break;
  }
  return x;
}

struct ValueSlope {
  double value, slope;
};

// max over l of count l - total log(others + base e^l) - penalties.
double best_weight(double l, double count, double total, double others, double base, const Penalty& penalty) {
  if (!(others > 0)) return 0.0;  // it is certain, whatever its weight
  const double at_zero = count - total * base / (others + base);
  if (std::abs(at_zero) <= penalty.alpha) return 0.0;
  const double sign = at_zero > 0 ? 1.0 : -1.0, start = at_zero - sign * penalty.alpha;
  return falling_root(l, start * penalty.variance, [&](double x) {
    const double e = base * std::exp(x), p = e / (others + e);
    return ValueSlope{count - sign * penalty.alpha - total * p - x / penalty.variance,
                      -total * p * (1 - p) - 1 / penalty.variance};
  });
}

// The state of one thread on its way through a tree.
class Walk {
 public:
  Walk(const HistoryForest& forest, const ForestWeights& w, const std::vector<std::vector<double>>& factors,
       const Penalty& penalty, bool solve)
      : forest_(forest),
        w_(w),
        factors_(factors),
        penalty_(penalty),
        solve_(solve),
        n_levels_(forest.levels.size()),
        row_(static_cast<size_t>(forest.most_labels)),
        expected_(row_.size()),
        since_(row_.size()),
        saved_(n_levels_) {}

  double walk(const HistoryTree& tree, double* expected_of_labels) {
    const auto n = static_cast<size_t>(tree.labels_end - tree.labels_begin);
    z_ = 0;
    for (size_t y = 0; y < n; ++y) {
      row_[y] = factors_[0][static_cast<size_t>(tree.labels_begin) + y];
      z_ += row_[y];
      expected_[y] = since_[y] = 0;
    }
    inverse_sum_ = log_z_sum_ = 0;
    for (int64_t node = tree.nodes_begin; node < tree.nodes_end; ++node) visit(0, node);
    for (size_t y = 0; y < n; ++y) {
      settle(y);
      expected_of_labels[y] = expected_[y];
    }
    return log_z_sum_;
  }

 private:
  struct Saved {
    double row, expected;
  };

  void settle(size_t y) {
    expected_[y] += row_[y] * (inverse_sum_ - since_[y]);
    since_[y] = inverse_sum_;
  }

  void visit(size_t d, int64_t node) {
    const HistoryLevel& level = forest_.levels[d];
    const auto at = static_cast<size_t>(node);
    if (d + 1 == n_levels_) {
      leaf(level, at);
      return;
    }
    const size_t context = level.contexts.empty() ? at : static_cast<size_t>(level.contexts[at]);
    const auto begin = static_cast<size_t>(level.starts[context]),
               end = static_cast<size_t>(level.starts[context + 1]);
    const size_t n = end - begin;
    std::vector<Saved>& saved = saved_[d];
    if (saved.size() < n) saved.resize(n);
    const double z = z_, *factors = factors_[d + 1].data() + begin;
    const int32_t* labels = level.labels.data() + begin;
    for (size_t i = 0; i < n; ++i) {
      const auto y = static_cast<size_t>(labels[i]);
      settle(y);
      saved[i] = {row_[y], expected_[y]};
      row_[y] *= factors[i];
      z_ += row_[y] - saved[i].row;
    }
    for (int64_t child = level.children[at]; child < level.children[at + 1]; ++child) visit(d + 1, child);
    double* expectations = w_.expectations[d + 1] + begin;
    for (size_t i = 0; i < n; ++i) {
      const auto y = static_cast<size_t>(labels[i]);
      settle(y);
      expectations[i] += expected_[y] - saved_[d][i].expected;
      row_[y] = saved_[d][i].row;
    }
    z_ = z;
    patience_.spend(static_cast<int64_t>(4 * n + 8));
  }

  void leaf(const HistoryLevel& level, size_t at) {
    const auto begin = static_cast<size_t>(level.starts[at]), end = static_cast<size_t>(level.starts[at + 1]);
    const size_t n = end - begin;
    const int32_t *labels = level.labels.data() + begin, *counts = level.counts.data() + begin;
    double* weights = w_.weights[n_levels_] + begin;
    if (values_.size() < n) values_.resize(n);
    double rest = z_, own = 0, total = 0;
    for (size_t i = 0; i < n; ++i) {
      const double base = row_[static_cast<size_t>(labels[i])];
      rest -= base;
      values_[i] = weights[i] == 0 ? base : base * std::exp(weights[i]);
      own += values_[i];
      total += counts[i];
    }
    rest = std::max(rest, 0.0);  // all labels may be here
    if (solve_) own = solve_leaf(labels, counts, weights, n, rest, own, total);
    const double z = rest + own, r = total / z;
    inverse_sum_ += r;
    for (size_t i = 0; i < n; ++i) {
      const auto y = static_cast<size_t>(labels[i]);
      expected_[y] += r * (values_[i] - row_[y]);
    }
    if (w_.expectations[n_levels_] != nullptr) {
      for (size_t i = 0; i < n; ++i) w_.expectations[n_levels_][begin + i] = r * values_[i];
    }
    log_z_sum_ += total * std::log(z);
    patience_.spend(static_cast<int64_t>(60 * n + 20));
  }

  // The sum of all values but one, also where that one is nearly all of it.
  double own_but(size_t i, size_t n, double own) const {
    const double left = own - values_[i];
    if (left > kNothing * own) return left;
    double sum = 0;
    for (size_t j = 0; j < n; ++j) sum += j == i ? 0 : values_[j];
    return sum;
  }

  double solve_leaf(const int32_t* labels, const int32_t* counts, double* weights, size_t n, double rest,
                    double own, double total) {
    for (int cycle = 0; cycle < kCycles; ++cycle) {
      double most = 0;
      for (size_t i = 0; i < n; ++i) {
        const double base = row_[static_cast<size_t>(labels[i])], others = rest + own_but(i, n, own);
        const double l = best_weight(weights[i], counts[i], total, others, base, penalty_);
        const double change = std::abs(l - weights[i]);
        if (change == 0) continue;
        weights[i] = l;
        const double value = l == 0 ? base : base * std::exp(l);
        own += value - values_[i];
        values_[i] = value;
        most = std::max(most, change);
      }
      own = 0;
      for (size_t i = 0; i < n; ++i) own += values_[i];
      if (n == 1 || most < kEnough) break;
    }
    return own;
  }

  static constexpr double kNothing = 1e-6;
  static constexpr double kEnough = 1e-3;  // the next sweep goes on from here

  const HistoryForest& forest_;
  const ForestWeights& w_;
  const std::vector<std::vector<double>>& factors_;
  Penalty penalty_;
  bool solve_;
  size_t n_levels_;
  std::vector<double> row_, expected_, since_, values_;
  std::vector<std::vector<Saved>> saved_;
  double z_ = 0, inverse_sum_ = 0, log_z_sum_ = 0;
  Patience patience_;
};

constexpr int64_t kGrain = 1 << 16;  // features in a task

// Sums block by block, and those of blocks in order.
template <class Term>
double sum_of(int64_t n, int n_threads, const Term& term) {
  std::vector<double> parts(static_cast<size_t>(block_count(n, kGrain)));
  parallel_for(static_cast<int64_t>(parts.size()), n_threads, [&](int64_t task, int) {
    const Block block = block_at(n, kGrain, task);
    double sum = 0;
    for (int64_t i = block.begin; i < block.end; ++i) sum += term(i);
    parts[static_cast<size_t>(task)] = sum;
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

double improved(double weight, double count, double expected, const Penalty& penalty, double share) {
  const double at_zero = count - expected * std::exp(-share * weight);
  if (std::abs(at_zero) <= penalty.alpha) return 0.0;
  const double sign = at_zero > 0 ? 1.0 : -1.0, start = at_zero - sign * penalty.alpha;
  return falling_root(weight, start * penalty.variance, [&](double x) {
    const double e = expected * std::exp(share * (x - weight));
    return ValueSlope{count - sign * penalty.alpha - e - x / penalty.variance,
                      -share * e - 1 / penalty.variance};
  });
}

template <class Count>
void improve(double* weights, double* reached, const double* expected, const Count* counts, int64_t n,
             const Penalty& penalty, const Improvement& how, int n_threads) {
  parallel_for(block_count(n, kGrain), n_threads, [&](int64_t task, int) {
    const Block block = block_at(n, kGrain, task);
    Patience patience;
    for (int64_t f = block.begin; f < block.end; ++f) {
      const double to = improved(weights[f], static_cast<double>(counts[f]), std::max(expected[f], 0.0),
                                 penalty, how.share);
      const double further = how.momentum == 0 ? to : to + how.momentum * (to - reached[f]);
      weights[f] = further * to > 0 ? further : 0.0;
      reached[f] = to;
      patience.spend(100);
    }
  });
}

}  // namespace

void improve_weights(double* weights, double* reached, const double* expected, const int64_t* counts,
                     int64_t n, const Penalty& penalty, const Improvement& how, int n_threads) {
  improve(weights, reached, expected, counts, n, penalty, how, n_threads);
}

void improve_weights(double* weights, double* reached, const double* expected, const int32_t* counts,
                     int64_t n, const Penalty& penalty, const Improvement& how, int n_threads) {
  improve(weights, reached, expected, counts, n, penalty, how, n_threads);
}

double penalty_of(const double* weights, int64_t n, const Penalty& penalty, int n_threads) {
  return sum_of(n, n_threads, [&](int64_t f) {
    return penalty.alpha * std::abs(weights[f]) + weights[f] * weights[f] / (2 * penalty.variance);
  });
}

double sweep_forest(const HistoryForest& forest, const ForestWeights& w, const Penalty& penalty, bool solve,
                    int n_threads) {
  const size_t n_levels = forest.levels.size();
  std::vector<std::vector<double>> factors(n_levels);
  for (size_t d = 0; d < n_levels; ++d) {
    const size_t n = d == 0 ? forest.label_counts.size() : forest.levels[d - 1].labels.size();
    factors[d].resize(n);
    parallel_for(block_count(static_cast<int64_t>(n), kGrain), n_threads, [&](int64_t task, int) {
      const Block block = block_at(static_cast<int64_t>(n), kGrain, task);
      for (int64_t f = block.begin; f < block.end; ++f) {
        factors[d][static_cast<size_t>(f)] = std::exp(w.weights[d][f]);
        w.expectations[d][f] = 0;
      }
    });
  }
  const size_t n_trees = forest.trees.size();
  std::vector<std::vector<double>> expected(n_trees);
  std::vector<double> log_z(n_trees);
  std::vector<Walk> walks;
  for (int i = 0; i < n_threads; ++i) walks.emplace_back(forest, w, factors, penalty, solve);
  parallel_for(static_cast<int64_t>(n_trees), n_threads, [&](int64_t task, int worker) {
    const auto t = static_cast<size_t>(forest.largest_first[static_cast<size_t>(task)]);
    const HistoryTree& tree = forest.trees[t];
    expected[t].resize(static_cast<size_t>(tree.labels_end - tree.labels_begin));
    log_z[t] = walks[static_cast<size_t>(worker)].walk(tree, expected[t].data());
  });
  double log_likelihood = 0;
  for (size_t t = 0; t < n_trees; ++t) {
    double* out = w.expectations[0] + forest.trees[t].labels_begin;
    for (size_t y = 0; y < expected[t].size(); ++y) out[y] += expected[t][y];
    log_likelihood -= log_z[t];
  }
  const auto dot = [&](const double* weights, const auto& counts) {
    log_likelihood += sum_of(static_cast<int64_t>(counts.size()), n_threads, [&](int64_t f) {
      return weights[f] * static_cast<double>(counts[static_cast<size_t>(f)]);
    });
  };
  dot(w.weights[0], forest.label_counts);
  for (size_t d = 0; d < n_levels; ++d) dot(w.weights[d + 1], forest.levels[d].counts);
  return log_likelihood;
}

}  // namespace semproj::lm
