#pragma once
// Rows with more entries than components: the K x K system itself (see rowsolve.h).

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/aligned.h"
#include "core/parallel.h"
#include "kernels/rowsolve.h"
#include "kernels/rowsolve_entries.h"

namespace semproj {

// One long row after the other: the K x K system itself.
template <class T>
class LongRows {
 public:
  LongRows(const SharedSystem<T>& shared, Isa isa)
      : shared_(shared),
        k_(shared.factors.cols),
        stride_(padded(k_)),
        tables_(dense_table<T>(isa)),
        wide_(dense_table<double>(isa)) {}

  // Returns the row's minimum.
  template <class Index>
  double solve(const RowEntries<T, Index>& row, int64_t row_number, T* out) {
    allocate();
    if constexpr (std::is_same_v<T, float>) {
      if (shared_.whitened != nullptr && !has_negative(row)) {
        accumulate<T>(row, tables_.rows, block_.get());
        if (factor_and_refine(row.n)) return stored(row, out);
      }
    }
    accumulate<double>(row, wide_.rows, wide_block_.get());
    factor_wide(row_number);
    return stored(row, out);
  }

 private:
  template <class Index>
  double stored(const RowEntries<T, Index>& row, T* out) {
    return store_solution(shared_, row, right_.data(), tables_, wide_, solution_.data(), out);
  }

  // Weights below that of missing cells: what is taken from S again leaves its rounding behind.
  template <class Index>
  bool has_negative(const RowEntries<T, Index>& row) const {
    for (int64_t i = 0; i < row.n; ++i) {
      if (row.c(i) < shared_.missing_weight) return true;
    }
    return false;
  }

  void allocate() {
    if (matrix_) return;
    matrix_ = aligned_array<double>(static_cast<size_t>(stride_ * stride_));
    wide_factor_ = aligned_array<double>(static_cast<size_t>(stride_ * stride_));
    factor_ = aligned_array<T>(static_cast<size_t>(stride_ * stride_));
    block_ = aligned_array<T>(static_cast<size_t>(kSummedRows * stride_));
    wide_block_ = aligned_array<double>(static_cast<size_t>(kSummedRows * stride_));
    for (auto* v : {&right_, &solution_, &residual_, &wide_least_}) v->resize(static_cast<size_t>(stride_));
    least_.assign(static_cast<size_t>(stride_), T{0});
    step_.resize(static_cast<size_t>(stride_));
  }

  // matrix_ = S + sum of d y y', products in U; right_ = sum of c x y, in double.
  template <class U, class Index>
  void accumulate(const RowEntries<T, Index>& row, const simd::RowTable<U>& table, U* block) {
    std::fill_n(matrix_.get(), stride_ * stride_, 0.0);
    for (int64_t i = 0; i < k_; ++i) {
      std::copy_n(shared_.matrix + i * k_, k_, matrix_.get() + i * stride_);
    }
    std::fill(right_.begin(), right_.end(), 0.0);
    for (const double sign : {1.0, -1.0}) {
      int64_t filled = 0;
      const auto flush = [&] {
        table.column_gram(block, filled, stride_, stride_, sign, matrix_.get());
        filled = 0;
      };
      for (int64_t i = 0; i < row.n; ++i) {
        const double d = row.c(i) - shared_.missing_weight;
        if ((d < 0) != (sign < 0)) continue;
        if (i + 4 < row.n) prefetch_row(shared_.factors.row(row.index[i + 4]), k_);
        const T* y = shared_.factors.row(row.index[i]);
        tables_.rows.add_wide(row.c(i) * row.x(i), y, k_, right_.data());
        const U root = static_cast<U>(std::sqrt(std::abs(d)));
        U* into = block + filled * stride_;
        for (int64_t c = 0; c < k_; ++c) into[c] = root * static_cast<U>(y[c]);
        std::fill(into + k_, into + stride_, U{0});
        if (++filled < kSummedRows) continue;
        flush();
        check_interrupt();
      }
      if (filled > 0) flush();
      if (row.weight == nullptr && shared_.missing_weight <= 1) break;  // none is negative
    }
  }

  // In float32, with one step of refinement; false when that cannot be trusted.
  bool factor_and_refine(int64_t n) {
    double trace = 0;
    for (int64_t i = 0; i < k_; ++i) {
      const double* from = matrix_.get() + i * stride_;
      for (int64_t j = i; j < k_; ++j) factor_[i * stride_ + j] = static_cast<T>(from[j]);
      trace += from[i];
    }
    if (tables_.systems.factor(factor_.get(), k_, stride_, least_.data()) < k_) return false;
    // Roundings of the blocks are independent: their sum is relatively better the more of them there are.
    const double trusted = kTrustedCondition * std::sqrt(1.0 + static_cast<double>(n / kSummedRows));
    if (trace > trusted * shared_.least_eigenvalue) {
      const T inverse_norm = tables_.systems.inverse_norm(factor_.get(), k_, stride_, step_.data());
      if (!(trace * static_cast<double>(inverse_norm) <= trusted)) return false;
    }
    std::fill(solution_.begin(), solution_.end(), 0.0);
    residual_ = right_;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass > 0) {
        wide_.systems.subtract_product(matrix_.get(), k_, stride_, solution_.data(), residual_.data());
      }
      for (int64_t i = 0; i < k_; ++i) step_[i] = static_cast<T>(residual_[i]);
      tables_.systems.solve(factor_.get(), k_, stride_, step_.data());
      for (int64_t i = 0; i < k_; ++i) solution_[i] += static_cast<double>(step_[i]);
    }
    return true;
  }

  void factor_wide(int64_t row_number) {
    const double tolerance = 1e-15 * static_cast<double>(k_);
    for (int64_t i = 0; i < k_; ++i) {
      const double* from = matrix_.get() + i * stride_;
      std::copy(from + i, from + k_, wide_factor_.get() + i * stride_ + i);
      wide_least_[i] = tolerance * std::abs(from[i]);
    }
    if (wide_.systems.factor(wide_factor_.get(), k_, stride_, wide_least_.data()) < k_) {
      throw SingularSystem(row_number);
    }
    solution_ = right_;
    wide_.systems.solve(wide_factor_.get(), k_, stride_, solution_.data());
  }

  const SharedSystem<T>& shared_;
  int64_t k_, stride_;
  const simd::DenseTable<T>& tables_;
  const simd::DenseTable<double>& wide_;
  AlignedArray<double> matrix_, wide_factor_, wide_block_;
  AlignedArray<T> factor_, block_;
  std::vector<double> right_, solution_, residual_, wide_least_;
  std::vector<T> least_, step_;
};

}  // namespace semproj
