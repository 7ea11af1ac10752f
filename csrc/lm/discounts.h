#pragma once
// What is taken from counts, so that there is something for what has not been seen.
//
// Kneser-Ney (Chen and Goodman 1999, equation 26), with Y = n1 / (n1 + 2 n2):
//   D_j = j - (j + 1) Y n_{j+1} / n_j    for counts j = 1, 2, and 3 or more.
// Good-Turing (Katz 1987), with common = (k + 1) n_{k+1} / n_1: a count r of at most k is multiplied by
//   d_r = ((r + 1) n_{r+1} / (r n_r) - common) / (1 - common).
// n_r is how many n-grams of an order have the count r, those that will be cut among them.

#include <cstdint>
#include <span>
#include <vector>

namespace semproj::lm {

enum class Smoothing { kneser_ney, good_turing };

class Discount {
 public:
  // n_of[r] for r from 1 on. Where they give no discount in its range, Kneser-Ney takes 0.5, 1 and 1.5, and
  // Good-Turing leaves that count as it is.
  static Discount kneser_ney(std::span<const int64_t> n_of);
  static Discount good_turing(std::span<const int64_t> n_of, int k);

  double discounted(uint64_t count) const {
    const size_t n = values_.size();
    const auto value = static_cast<double>(count);
    if (smoothing_ == Smoothing::kneser_ney) return value - values_[count < n ? count - 1 : n - 1];
    return count <= n ? value * values_[count - 1] : value;
  }

  // D_1 to D_3, or d_1 to d_k.
  const std::vector<double>& values() const { return values_; }
  bool fell_back() const { return fell_back_; }

 private:
  Smoothing smoothing_ = Smoothing::kneser_ney;
  std::vector<double> values_;
  bool fell_back_ = false;
};

}  // namespace semproj::lm
