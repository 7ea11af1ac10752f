// The steps of PairProjector, and their acceleration by Anderson's method.

#include <algorithm>
#include <array>
#include <cmath>

#include "models/cplsa_pair.h"

namespace semproj {
namespace {

// Solves the n x n positive definite system in place, by Cholesky; false when it is singular.
template <size_t most>
bool solve(std::array<std::array<double, most>, most>& a, std::array<double, most>& b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      if (i == j) {
        if (!(sum > 0)) return false;
        a[i][i] = std::sqrt(sum);
      } else {
        a[i][j] = sum / a[j][j];
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (int64_t i = n; i-- > 0;) {
    for (int64_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return true;
}

}  // namespace

void PairProjector::plain_step() {
  if (prox_) {
    proximal_step(multipliers_.get());
    return;
  }
  const float *f1 = sides_[0].fractions.get(), *f2 = sides_[1].fractions.get();
  if (!coupling_.l2 || std::isinf(coupling_.weight)) {
    const auto most = std::isinf(coupling_.weight) ? kLargestLambda : weight_;
    table_.balance(f1, f2, multipliers_.get(), scales_.get(), static_cast<float>(most), stride_, step_.get());
    if (std::isinf(coupling_.weight)) cut_to_constraint(step_.get());
    return;
  }
  const auto a = static_cast<float>(1 / sides_[0].mass), b = static_cast<float>(1 / sides_[1].mass);
  for (int64_t t = 0; t < stride_; ++t) {
    gradient_[t] = f1[t] - f2[t];
    curvature_[t] = (f1[t] * a + f2[t] * b) * sharpness_[t] + kLeastFraction;
  }
  step_in_ball();
}

ProximalStep PairProjector::proximal_step(const float* multipliers) {
  const float *f1 = sides_[0].fractions.get(), *f2 = sides_[1].fractions.get();
  const auto most = static_cast<float>(weight_);
  table_.balance(f1, f2, nothing_.get(), scales_.get(), most, stride_, moves_.get());
  return prox_.step(multipliers, moves_.get(), f1, f2, scales_.get(), most, allowed(), step_.get());
}

// Of a topic, sum_w n_w q (1 - q) / n^2 on each side: q^2 is x^2 phi^2 / s^2 with x the tilted mixture.
void PairProjector::measure_sharpness() {
  const float scale = mass_of_bound();
  const float inverse[] = {static_cast<float>(1 / sides_[0].mass), static_cast<float>(1 / sides_[1].mass)};
  for (int64_t t = 0; t < stride_; ++t) {
    float bound = kLeastFraction, less = 0;
    for (int s = 0; s < 2; ++s) {
      const float x = sides_[s].tilted[t] * inverse[s];
      bound += sides_[s].fractions[t] * inverse[s];
      less += x * (x * sides_[s].squares[t]);  // x^2 may overflow, and its product with 0 is no number
    }
    const float part = less / bound;  // far above 1, or no number, only where squares overflowed
    sharpness_[t] = part < 2 ? std::max(1 - part, kLeastSharpness) : 1.0f;
    weights_[t] = std::sqrt(bound * sharpness_[t]);
    scales_[t] = scale / sharpness_[t];
  }
  bounded_ = false;
}

void PairProjector::use_bound() {
  std::fill_n(sharpness_.get(), stride_, 1.0f);
  std::fill_n(scales_.get(), stride_, mass_of_bound());
  bounded_ = true;
}

// Minimises the quadratic with gradient and curvature at lambda within the ball: with c the curvature,
// x = (c lambda + gradient) / (c + mu) with the mu >= 0 that makes it short enough. |x| is convex and falls
// with mu, so Newton's method for 1 / |x| = 1 / coupling comes from below.
void PairProjector::step_in_ball() {
  const auto length = [&](double mu, double* slope) {
    double squares = 0, change = 0;
    for (int64_t t = 0; t < n_topics_; ++t) {
      const double c = stiffness_ * static_cast<double>(curvature_[t]);
      const double x =
          (c * static_cast<double>(multipliers_[t]) + static_cast<double>(gradient_[t])) / (c + mu);
      step_[t] = static_cast<float>(x);
      squares += x * x;
      change += x * x / (c + mu);
    }
    *slope = change;
    return std::sqrt(squares);
  };
  double mu = 0, slope = 0;
  for (int i = 0; i < 30; ++i) {
    const double now = length(mu, &slope);
    if (now <= weight_ * (1 + 1e-6)) break;
    mu += (now / weight_ - 1) * now * now / slope;
  }
  cut_to_constraint(step_.get());
}

void PairProjector::cut_to_constraint(float* multipliers) const {
  const auto most = static_cast<float>(weight_);
  if (coupling_.equal() && most > 0) {
    // What is added to all of them changes nothing: the middle of their range goes to zero.
    const auto [low, high] = std::minmax_element(multipliers, multipliers + n_topics_);
    const float middle = (*low + *high) / 2;
    for (int64_t t = 0; t < n_topics_; ++t) multipliers[t] -= middle;
  }
  if (std::isinf(coupling_.weight) || !coupling_.l2) {
    for (int64_t t = 0; t < stride_; ++t) multipliers[t] = std::clamp(multipliers[t], -most, most);
    return;
  }
  double squares = 0;
  for (int64_t t = 0; t < n_topics_; ++t) {
    squares += static_cast<double>(multipliers[t]) * static_cast<double>(multipliers[t]);
  }
  if (squares <= weight_ * weight_) return;
  const auto scale = static_cast<float>(weight_ / std::sqrt(squares));
  for (int64_t t = 0; t < n_topics_; ++t) multipliers[t] *= scale;
}

// Residuals are weighted by the root of the first curvature, so that topics count as much as they matter.
void PairProjector::remember_step() {
  const float *__restrict__ step = step_.get(), *__restrict__ from = multipliers_.get(),
              *__restrict__ weights = weights_.get();
  float* __restrict__ last_step = last_step_.get(), * __restrict__ residual = residual_.get();
  if (n_steps_ == 0) {
    for (int64_t t = 0; t < stride_; ++t) residual[t] = weights[t] * (step[t] - from[t]);
  } else {
    const int64_t at = (n_steps_ - 1) % kRemembered * stride_;
    float* __restrict__ residual_change = residual_changes_.get() + at, * __restrict__ step_change =
                                                                            step_changes_.get() + at;
    for (int64_t t = 0; t < stride_; ++t) {
      const float now = weights[t] * (step[t] - from[t]);
      residual_change[t] = now - residual[t];
      step_change[t] = step[t] - last_step[t];
      residual[t] = now;
    }
    n_remembered_ = std::min(n_remembered_ + 1, kRemembered);
  }
  std::copy_n(step, stride_, last_step);
  ++n_steps_;
}

bool PairProjector::combine_steps() {
  const int64_t m = n_remembered_;
  if (m == 0) return false;
  // Topics that the box holds do not move: they have no part in the combination.
  const bool boxed = prox_ || (!coupling_.l2 && !std::isinf(coupling_.weight));
  const auto most = static_cast<float>(weight_);
  float* __restrict__ free = free_.get(), * __restrict__ candidate = candidate_.get();
  const float* __restrict__ step = step_.get();
  if (prox_) {
    prox_.free_topics(free);
  } else if (boxed) {
    for (int64_t t = 0; t < stride_; ++t) free[t] = std::abs(step[t]) < most ? 1.0f : 0.0f;
  }
  float products[kRemembered];
  const auto multiply = [&](const float* __restrict__ row) {
    if (boxed) {
      for (int64_t t = 0; t < stride_; ++t) candidate[t] = free[t] * row[t];
    }
    rows_.products(residual_changes_.get(), m, stride_, boxed ? candidate : row, products);
  };
  std::array<std::array<double, kRemembered>, kRemembered> gram;
  std::array<double, kRemembered> right;
  for (int64_t i = 0; i < m; ++i) {
    multiply(residual_changes_.get() + i * stride_);
    for (int64_t j = 0; j < m; ++j) gram[i][j] = static_cast<double>(products[j]);
    gram[i][i] *= 1 + 1e-6;  // float32 products of changes that are nearly collinear
  }
  multiply(residual_.get());
  for (int64_t i = 0; i < m; ++i) right[i] = static_cast<double>(products[i]);
  if (!solve<kRemembered>(gram, right, m)) {
    n_remembered_ = n_steps_ = 0;
    return false;
  }
  float coefficients[kRemembered];
  for (int64_t i = 0; i < m; ++i) coefficients[i] = static_cast<float>(right[i]);
  rows_.combine(coefficients, step_changes_.get(), m, stride_, candidate_.get());
  for (int64_t t = 0; t < stride_; ++t) candidate[t] = step[t] - (boxed ? free[t] : 1.0f) * candidate[t];
  cut_to_constraint(candidate_.get());
  if (prox_) prox_.cut_to_domain(candidate_.get());
  return true;
}

}  // namespace semproj
