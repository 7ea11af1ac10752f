#include "lm/discounts.h"

namespace semproj::lm {

Discount Discount::kneser_ney(std::span<const int64_t> n_of) {
  Discount discount;
  discount.smoothing_ = Smoothing::kneser_ney;
  discount.fell_back_ = n_of[1] == 0 || n_of[2] == 0 || n_of[3] == 0;
  if (!discount.fell_back_) {
    const auto n = [&](int r) { return static_cast<double>(n_of[r]); };
    const double y = n(1) / (n(1) + 2 * n(2));
    for (int j = 1; j <= 3; ++j) {
      const double d = j - (j + 1) * y * n(j + 1) / n(j);
      discount.values_.push_back(d);
      discount.fell_back_ |= !(0 <= d && d <= j);
    }
  }
  if (discount.fell_back_) discount.values_ = {0.5, 1.0, 1.5};
  return discount;
}

Discount Discount::good_turing(std::span<const int64_t> n_of, int k) {
  Discount discount;
  discount.smoothing_ = Smoothing::good_turing;
  const auto n = [&](int r) { return static_cast<double>(n_of[r]); };
  const double common = n_of[1] > 0 ? (k + 1) * n(k + 1) / n(1) : 1;
  for (int r = 1; r <= k; ++r) {
    double ratio = 0;
    if (common != 1 && n_of[r] > 0) ratio = ((r + 1) * n(r + 1) / (r * n(r)) - common) / (1 - common);
    if (!(0 < ratio && ratio <= 1)) {
      ratio = 1;
      discount.fell_back_ |= n_of[r] > 0;
    }
    discount.values_.push_back(ratio);
  }
  return discount;
}

}  // namespace semproj::lm
