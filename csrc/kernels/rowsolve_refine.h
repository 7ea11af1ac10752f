#pragma once
// Badly conditioned short rows, by steps of refinement (see rowsolve.h).

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/aligned.h"
#include "kernels/rowsolve.h"
#include "kernels/rowsolve_entries.h"

namespace semproj {

// A row's solution in double, by steps in T: what q leaves of the right side is found in double from Y
// itself,
//
//   r = b - S q - sum of d y (y . q),     q += L^-T (w - R' (I + R R')^-1 R w),  w = L^-1 r
//
// so that roundings of R and of its factor only slow it down. 2 n K + K^2 multiply-adds in double and
// 2 n K + n^2 + 2 K^2 in T a step.
template <class T>
class Refinement {
 public:
  Refinement(const SharedSystem<T>& shared, Isa isa)
      : shared_(shared),
        k_(shared.factors.cols),
        stride_(padded(k_)),
        tables_(dense_table<T>(isa)),
        wide_(dense_table<double>(isa)) {}

  // `gathered` are the rows of R, `factor` that of I + R R', `factor_stride` apart. Writes q and returns the
  // minimum; nothing when the steps do not become small.
  template <class Index>
  std::optional<double> solve(const RowEntries<T, Index>& row, const T* gathered, const T* factor,
                              int64_t factor_stride, T* out) {
    allocate(row.n);
    for (int64_t i = 0; i < row.n; ++i) prefetch_row(shared_.factors.row(row.index[i]), k_);
    std::fill(right_.begin(), right_.end(), 0.0);
    for (int64_t i = 0; i < row.n; ++i) {
      tables_.rows.add_wide(row.c(i) * row.x(i), shared_.factors.row(row.index[i]), k_, right_.data());
    }
    std::fill(solution_.begin(), solution_.end(), 0.0);
    residual_ = right_;
    for (int step = 0; step < kSteps; ++step) {
      if (step > 0) find_residual(row);
      find_step(row.n, gathered, factor, factor_stride);
      double largest = 0, largest_step = 0;
      for (int64_t c = 0; c < k_; ++c) {
        const auto change = static_cast<double>(step_[c]);
        solution_[c] += change;
        largest = std::max(largest, std::abs(solution_[c]));
        largest_step = std::max(largest_step, std::abs(change));
      }
      if (step > 0 && largest_step <= kSmallStep * largest) {
        return store_solution(shared_, row, right_.data(), tables_, wide_, solution_.data(), out);
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr int kSteps = 4;
  static constexpr double kSmallStep = 1e-4;  // of the solution: the next one would be as much smaller again

  void allocate(int64_t n) {
    coefficients_.resize(static_cast<size_t>(std::max<int64_t>(n, coefficients_.size())));
    if (!transposed_.empty()) return;
    for (auto* v : {&right_, &solution_, &residual_}) v->resize(static_cast<size_t>(stride_));
    for (auto* v : {&rounded_, &white_, &change_, &step_}) v->assign(static_cast<size_t>(stride_), T{0});
    matrix_.assign(static_cast<size_t>(k_ * stride_), 0.0);
    for (int64_t i = 0; i < k_; ++i) std::copy_n(shared_.matrix + i * k_, k_, matrix_.begin() + i * stride_);
    transposed_.resize(static_cast<size_t>(stride_ * stride_));
    for (int64_t i = 0; i < stride_; ++i) {
      for (int64_t j = 0; j < stride_; ++j) transposed_[j * stride_ + i] = shared_.inverse[i * stride_ + j];
    }
  }

  template <class Index>
  void find_residual(const RowEntries<T, Index>& row) {
    wide_.rows.combine(solution_.data(), matrix_.data(), k_, stride_, residual_.data());
    for (int64_t c = 0; c < k_; ++c) residual_[c] = right_[c] - residual_[c];
    for (int64_t i = 0; i < row.n; ++i) {
      const T* y = shared_.factors.row(row.index[i]);
      const double d = row.c(i) - shared_.missing_weight;
      tables_.rows.add_wide(-d * tables_.rows.dot_wide(y, solution_.data(), k_), y, k_, residual_.data());
    }
  }

  void find_step(int64_t n, const T* gathered, const T* factor, int64_t factor_stride) {
    for (int64_t c = 0; c < k_; ++c) rounded_[c] = static_cast<T>(residual_[c]);
    tables_.rows.combine(rounded_.data(), transposed_.data(), k_, stride_, white_.data());
    tables_.rows.products(gathered, n, stride_, white_.data(), coefficients_.data());
    tables_.systems.solve(factor, n, factor_stride, coefficients_.data());
    tables_.rows.combine(coefficients_.data(), gathered, n, stride_, change_.data());
    for (int64_t c = 0; c < stride_; ++c) white_[c] -= change_[c];
    tables_.rows.combine(white_.data(), shared_.inverse, k_, stride_, step_.data());
  }

  const SharedSystem<T>& shared_;
  int64_t k_, stride_;
  const simd::DenseTable<T>& tables_;
  const simd::DenseTable<double>& wide_;
  std::vector<double> matrix_;  // S, padded
  std::vector<T> transposed_;   // L^-T
  std::vector<double> right_, solution_, residual_;
  std::vector<T> rounded_, white_, change_, step_, coefficients_;
};

}  // namespace semproj
