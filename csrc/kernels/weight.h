#pragma once
// Term weights of one non-zero, so that weighting can be fused into whatever reads the counts.
//
//   log_tfidf   log2(f + 1) * g_j            g_j = log2(n / d_j)   (Platt et al. 2010, equations 4, 5 and 8)
//   tfidf       f * g_j
//   bm25        g_j * f (k1 + 1) / (f + k1 (1 - b + b L_i / mean L))
//
// f: count of term j in document i; L_i: the row's total count. Computed in double, rounded once.

#include <cmath>
#include <cstdint>

#include "core/views.h"

namespace semproj {

// Most counts are small integers: a table answers for these, with the bits of the formula.
class LogTable {
 public:
  static constexpr int kSize = 256;
  LogTable() {
    for (int i = 0; i < kSize; ++i) values_[i] = std::log2(i + 1.0);
  }
  double operator[](int i) const { return values_[i]; }

 private:
  double values_[kSize];
};

inline const LogTable log_table;

inline double log2_plus_one(double f) {
  const int i = f >= 0 && f < LogTable::kSize ? static_cast<int>(f) : 0;
  return i == f ? log_table[i] : std::log2(f + 1);
}

enum class WeightKind { none, log_tfidf, tfidf, bm25 };

struct Weighting {
  WeightKind kind = WeightKind::none;
  const double* term_weight = nullptr;  // g, one per column
  double k1 = 0, b = 0, mean_length = 1;

  template <class Value>
  double length_norm(const Value* data, int64_t n) const {
    if (kind != WeightKind::bm25) return 0;
    double length = 0;
    for (int64_t i = 0; i < n; ++i) length += static_cast<double>(data[i]);
    return k1 * (1 - b + b * length / mean_length);
  }

  // Calls use with the formula, a function (count, column, norm) of a type of its own: a loop inside `use`
  // has no switch in it.
  template <class Use>
  void with_formula(const Use& use) const {
    const double* g = term_weight;
    switch (kind) {
      case WeightKind::log_tfidf:
        return use([g](double f, int64_t j, double) { return log2_plus_one(f) * g[j]; });
      case WeightKind::tfidf:
        return use([g](double f, int64_t j, double) { return f * g[j]; });
      case WeightKind::bm25:
        return use([g, k = k1 + 1](double f, int64_t j, double norm) {
          return f > 0 ? g[j] * f * k / (f + norm) : 0.0;
        });
      default:
        return use([](double f, int64_t, double) { return f; });
    }
  }

  double operator()(double f, int64_t column, double norm) const {
    double weight = 0;
    with_formula([&](const auto& formula) { weight = formula(f, column, norm); });
    return weight;
  }
};

// out[i] = weight of non-zero i, for every row. Throws std::invalid_argument for a column out of range, a
// negative count or a weight that is not finite.
template <class Index, class Value, class Out>
void weight_rows(const CsrView<Index, Value>& rows, const Weighting& weighting, Out* out, int n_threads);

}  // namespace semproj
