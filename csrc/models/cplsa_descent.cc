#include "models/cplsa_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/cplsa_vectors.h"

namespace semproj {
namespace {

constexpr double kFarthest = 1e8;  // nats that lambda may tilt by
constexpr double kRidge = 1e-3;    // of the gradient, over the radius: bends what is flat
constexpr double kSolved = 1e-3;   // of the largest move of the model's first step, to begin with
constexpr double kBestSolved = 1e-12;
constexpr int kGradients = 300;     // proximal gradients for one model
constexpr double kNothing = 1e-14;  // of h or lambda, by rounding
constexpr double kFlat = 1e-14;     // curvature, over the radius, that every topic is taken to have

}  // namespace

PairOutcome PairDescent::minimise(int64_t max_evaluations, float* multipliers) {
  const auto n = static_cast<size_t>(dual_.n_topics());
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double mass = dual_.mass(0) + dual_.mass(1), shorter = std::min(dual_.mass(0), dual_.mass(1));
  const double bound = std::min(kFarthest * shorter, kLargestLambda);
  for (auto* row : {&gradient_, &ridge_, &diagonal_, &steps_, &step_, &next_, &ahead_, &product_, &point_}) {
    row->resize(n);
  }
  now_.lambda.resize(n), trial_.lambda.resize(n);
  for (size_t t = 0; t < n; ++t) {
    const auto from = static_cast<double>(multipliers[t]);
    now_.lambda[t] = std::isfinite(from) ? std::clamp(from, -bound, bound) : 0.0;
  }
  dual_.evaluate(now_);
  if (shorter == 0) {  // a token that is just too improbable in double was all that a side had
    std::fill_n(multipliers, n, 0.0f);
    return {now_.value, 0.0, 1, true};
  }
  radius_ = shorter, solved_ = kSolved;
  const double allowed = coupling_.allowed_gap(mass);
  int64_t evaluations = 1;
  double before = std::numeric_limits<double>::infinity();
  ProximalStep found{};
  bool done = false;
  for (;;) {
    found = measure(allowed);
    if (prox_.failure().failed) return {none, none, evaluations, false};
    done = found.gap <= allowed && found.slack <= coupling_.slack_tol;
    if (done || evaluations >= max_evaluations) break;
    if (found.gap > before / 2) solved_ = std::max(solved_ * 0.1, kBestSolved);
    before = found.gap;
    const double predicted = minimise_model(), length = largest(step_);
    if (prox_.failure().failed) return {none, none, evaluations, false};
    if (!(predicted > 0 && length > kNothing * (largest(now_.lambda) + shorter))) break;
    for (size_t t = 0; t < n; ++t) trial_.lambda[t] = std::clamp(now_.lambda[t] + step_[t], -bound, bound);
    dual_.evaluate(trial_);
    ++evaluations;
    const double actual = gain_of_trial(predicted);
    if (!(actual > 0.5 * predicted)) {
      radius_ = length / 4;
    } else if (actual > 0.75 * predicted && length > 0.99 * radius_) {
      radius_ *= actual > 0.95 * predicted ? 10 : 3;
    }
    if (actual > 1e-4 * predicted) std::swap(now_, trial_);
  }
  std::copy(now_.lambda.begin(), now_.lambda.end(), multipliers);
  const double value = now_.value + prox_.conjugate(now_.lambda.data()) - found.missing;
  return {value, found.gap, evaluations, done};
}

// By steps of the diagonal; sets the model's gradient, ridge and steps, too.
ProximalStep PairDescent::measure(double allowed) {
  dual_.diagonal(now_, diagonal_.data());
  for (size_t t = 0; t < gradient_.size(); ++t) {
    gradient_[t] = now_.fractions[1][t] - now_.fractions[0][t];
    ridge_[t] = kRidge * std::abs(gradient_[t]) / radius_ + kFlat / radius_;
    steps_[t] = 1 / (diagonal_[t] + ridge_[t]);
  }
  return prox_.step(now_.lambda.data(), steps_.data(), now_.fractions[0].data(), now_.fractions[1].data(),
                    allowed, point_.data());
}

// What the trial gains in fact.
double PairDescent::gain_of_trial(double predicted) {
  const double rise = prox_.rise(now_.lambda.data(), trial_.lambda.data());
  if (predicted >= 1e3 * kNothing * std::abs(now_.value)) return now_.value - trial_.value - rise;
  // Values are too near to be told apart: the mean of the slopes at both ends tells.
  double slopes = dot(gradient_, step_);
  for (size_t t = 0; t < step_.size(); ++t) {
    slopes += step_[t] * (trial_.fractions[1][t] - trial_.fractions[0][t]);
  }
  return -slopes / 2 - rise;
}

void PairDescent::multiply(const std::vector<double>& v) {
  dual_.multiply(now_, v.data(), product_.data());
  for (size_t t = 0; t < v.size(); ++t) product_[t] += ridge_[t] * v[t];
}

double PairDescent::minimise_model() {
  const size_t n = step_.size();
  for (size_t t = 0; t < n; ++t) {
    steps_[t] = 1 / (2 * diagonal_[t] + ridge_[t]);
    step_[t] = ahead_[t] = 0;
  }
  double momentum = 1, first = 0;
  for (int k = 0; k < kGradients; ++k) {
    multiply(ahead_);
    for (size_t t = 0; t < n; ++t) {
      point_[t] = now_.lambda[t] + ahead_[t] - steps_[t] * (gradient_[t] + product_[t]);
    }
    if (!prox_.apply(point_.data(), steps_.data(), next_.data())) return 0;
    double uphill = 0, most = 0;
    for (size_t t = 0; t < n; ++t) {
      next_[t] = std::clamp(next_[t] - now_.lambda[t], -radius_, radius_);
      uphill += (ahead_[t] - next_[t]) * (next_[t] - step_[t]) / steps_[t];
      most = std::max(most, std::abs(next_[t] - ahead_[t]));
    }
    first = std::max(first, most);
    if (uphill > 0) momentum = 1;
    const double after = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    for (size_t t = 0; t < n; ++t) ahead_[t] = next_[t] + (momentum - 1) / after * (next_[t] - step_[t]);
    momentum = after;
    std::swap(step_, next_);
    if (most <= solved_ * first) break;
  }
  multiply(step_);
  for (size_t t = 0; t < n; ++t) point_[t] = now_.lambda[t] + step_[t];
  const double rise = prox_.rise(now_.lambda.data(), point_.data());
  return -(dot(gradient_, step_) + dot(step_, product_) / 2 + rise);
}

}  // namespace semproj
