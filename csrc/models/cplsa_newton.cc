#include "models/cplsa_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/cplsa_vectors.h"

namespace semproj {
namespace {

constexpr double kFarthest = 1e8;  // nats that lambda may tilt by: double still tells a 1e-8th of one
constexpr double kRidge = 1e-3;    // of the gradient, over the radius: bends what is flat
constexpr double kSolved = 1e-6;   // of the squared residual of the quadratic model, to begin with
constexpr double kBestSolved = 1e-24;
constexpr int kFaces = 30;          // of the box that a minimisation of the model may visit
constexpr int kGradients = 300;     // conjugate gradients in one of them
constexpr double kNothing = 1e-14;  // of h or lambda, by rounding
constexpr double kEqual = 1e-8;     // fractions that are called so for an infinite coupling

}  // namespace

PairOutcome PairNewton::minimise(int64_t max_evaluations, float* multipliers) {
  const auto n = static_cast<size_t>(dual_.n_topics());
  const double mass = dual_.mass(0) + dual_.mass(1);
  shorter_ = std::min(dual_.mass(0), dual_.mass(1));
  const bool infinite = std::isinf(coupling_.weight);
  bound_ = std::min({coupling_.weight, (infinite ? kLargestTilt : kFarthest) * shorter_, kLargestLambda});
  for (auto* row : {&gradient_, &ridge_, &diagonal_, &low_, &high_, &step_, &next_, &residual_, &direction_,
                    &rest_, &search_, &product_}) {
    row->resize(n);
  }
  free_.resize(n);
  now_.lambda.resize(n);
  for (size_t t = 0; t < n; ++t) {
    const auto from = static_cast<double>(multipliers[t]);
    now_.lambda[t] = std::isfinite(from) ? std::clamp(from, -bound_, bound_) : 0.0;
  }
  dual_.evaluate(now_);
  if (shorter_ == 0) {  // a token that is just too improbable in double was all that a side had
    std::fill_n(multipliers, n, 0.0f);
    return {now_.value, 0.0, 1, true};
  }
  evaluations_ = 1, most_evaluations_ = max_evaluations, radius_ = shorter_, solved_ = kSolved;
  const double target =
      infinite ? std::min(kEqual, coupling_.tol) : 0.1 * coupling_.tol * mass + 1e-9 * coupling_.weight;
  if (coupling_.l2 && !infinite) {
    minimise_in_ball(target);
  } else {
    descend(0.0, target);
  }
  std::copy(now_.lambda.begin(), now_.lambda.end(), multipliers);
  return {now_.value, gap(), evaluations_, gap() <= coupling_.allowed_gap(mass)};
}

double PairNewton::gap() const {
  double size = 0, product = 0, most = 0;
  for (size_t t = 0; t < now_.lambda.size(); ++t) {
    const double apart = now_.fractions[0][t] - now_.fractions[1][t];
    most = std::max(most, std::abs(apart));
    size += coupling_.l2 ? apart * apart : std::abs(apart);
    product += now_.lambda[t] * apart;
  }
  if (std::isinf(coupling_.weight)) return most;
  return coupling_.weight * (coupling_.l2 ? std::sqrt(size) : size) - product;
}

double PairNewton::left_of_gradient(double mu) const {
  double squares = 0;
  for (size_t t = 0; t < now_.lambda.size(); ++t) {
    const double slope = now_.fractions[1][t] - now_.fractions[0][t] + mu * now_.lambda[t];
    const bool held = slope < 0 ? now_.lambda[t] >= bound_ : now_.lambda[t] <= -bound_;
    if (!held) squares += slope * slope;
  }
  return coupling_.weight * std::sqrt(squares);
}

void PairNewton::descend(double mu, double target) {
  const bool ball = coupling_.l2 && !std::isinf(coupling_.weight);
  double before = std::numeric_limits<double>::infinity();
  radius_ = std::max(radius_, 0.01 * shorter_);  // that of another mu may have been lost in rounding
  for (;;) {
    const double left = ball ? left_of_gradient(mu) : gap();
    if (left <= target || evaluations_ >= most_evaluations_) return;
    // What the model leaves may be all that is left, where some curvatures are far below those of a topic.
    if (left > before / 2) solved_ = std::max(solved_ * 1e-3, kBestSolved);
    before = left;
    const double predicted = minimise_model(mu);
    const double length = largest(step_);
    if (!(predicted > 0 && length > kNothing * (largest(now_.lambda) + shorter_))) return;
    trial_.lambda.resize(step_.size());
    for (size_t t = 0; t < step_.size(); ++t) {
      trial_.lambda[t] = std::clamp(now_.lambda[t] + step_[t], -bound_, bound_);
    }
    dual_.evaluate(trial_);
    ++evaluations_;
    const double change = mu / 2 * (dot(now_.lambda, now_.lambda) - dot(trial_.lambda, trial_.lambda));
    double actual = now_.value - trial_.value + change;
    if (predicted < 1e3 * kNothing * std::abs(now_.value)) {
      // Values are too near to be told apart: the mean of the slopes at both ends tells.
      double slopes = dot(gradient_, step_);
      for (size_t t = 0; t < step_.size(); ++t) {
        slopes += step_[t] * (trial_.fractions[1][t] - trial_.fractions[0][t] + mu * trial_.lambda[t]);
      }
      actual = -slopes / 2;
    }
    if (!(actual > 0.5 * predicted)) {
      radius_ = length / 4;
    } else if (actual > 0.75 * predicted && length > 0.99 * radius_) {
      radius_ *= actual > 0.95 * predicted ? 10 : 3;
    }
    if (actual > 1e-4 * predicted) std::swap(now_, trial_);
  }
}

// |lambda| falls with mu, whose best is |f1 - f2| / coupling.
void PairNewton::minimise_in_ball(double target) {
  const double weight = bound_;
  double low = 0, high = 2 / weight, squares = 0;
  for (size_t t = 0; t < now_.lambda.size(); ++t) {
    const double apart = now_.fractions[0][t] - now_.fractions[1][t];
    squares += apart * apart;
  }
  double mu = std::sqrt(squares) / weight;
  for (int i = 0; i < 100; ++i) {
    descend(mu, std::min(0.3 * target, 0.1 * left_of_gradient(mu)));
    const double length = std::sqrt(dot(now_.lambda, now_.lambda));
    if (evaluations_ >= most_evaluations_ || (length <= weight && gap() <= target)) break;
    (length > weight ? low : high) = mu;
    const bool narrow = high - low <= 1e-15 * high;
    if (length <= weight * (1 + 1e-12) && narrow) break;
    const double guess = next_mu(mu, length);
    if (guess > low && guess < high) {
      mu = guess;
    } else {
      mu = low > 0 ? std::sqrt(low * high) : high / 100;
    }
  }
  const double length = std::sqrt(dot(now_.lambda, now_.lambda));
  if (length > weight) {
    for (double& each : now_.lambda) each *= weight / length;
    dual_.evaluate(now_);
    ++evaluations_;
  }
}

// Newton's method for 1 / |lambda| = 1 / coupling, whose slope is lambda . (H + mu)^-1 lambda / |lambda|^3.
double PairNewton::next_mu(double mu, double length) {
  dual_.diagonal(now_, diagonal_.data());
  for (size_t t = 0; t < diagonal_.size(); ++t) {
    free_[t] = true;
    ridge_[t] = mu + 1e-12 / (bound_ * bound_);
    diagonal_[t] += ridge_[t];
    residual_[t] = now_.lambda[t];
  }
  conjugate_gradients(free_residual());
  return mu + (length / bound_ - 1) * length * length / dot(direction_, now_.lambda);
}

void PairNewton::multiply(const std::vector<double>& v) {
  dual_.multiply(now_, v.data(), product_.data());
  for (size_t t = 0; t < v.size(); ++t) product_[t] += ridge_[t] * v[t];
}

// Squared, of topics that are free, each by its own curvature.
double PairNewton::free_residual() const {
  double sum = 0;
  for (size_t t = 0; t < residual_.size(); ++t) {
    if (free_[t]) sum += residual_[t] * residual_[t] / diagonal_[t];
  }
  return sum;
}

// direction_ = (H + ridge)^-1 residual_, among topics that are free.
void PairNewton::conjugate_gradients(double residual) {
  const size_t n = residual_.size();
  double now = residual;
  for (size_t t = 0; t < n; ++t) {
    rest_[t] = residual_[t];
    search_[t] = free_[t] ? rest_[t] / diagonal_[t] : 0;
    direction_[t] = 0;
  }
  for (int k = 0; k < kGradients && now > solved_ * residual; ++k) {
    multiply(search_);
    const double curvature = dot(search_, product_);
    if (!(curvature > 0)) break;
    const double part = now / curvature, before = std::exchange(now, 0.0);
    for (size_t t = 0; t < n; ++t) {
      if (!free_[t]) continue;
      direction_[t] += part * search_[t];
      rest_[t] -= part * product_[t];
      now += rest_[t] * rest_[t] / diagonal_[t];
    }
    for (size_t t = 0; t < n; ++t) {
      if (free_[t]) search_[t] = rest_[t] / diagonal_[t] + now / before * search_[t];
    }
  }
}

double PairNewton::minimise_model(double mu) {
  const size_t n = step_.size();
  dual_.diagonal(now_, diagonal_.data());
  for (size_t t = 0; t < n; ++t) {
    gradient_[t] = now_.fractions[1][t] - now_.fractions[0][t] + mu * now_.lambda[t];
    ridge_[t] = mu + kRidge * std::abs(gradient_[t]) / radius_;
    diagonal_[t] += ridge_[t];
    low_[t] = std::max(-bound_ - now_.lambda[t], -radius_);
    high_[t] = std::min(bound_ - now_.lambda[t], radius_);
    step_[t] = 0;
    residual_[t] = -gradient_[t];
  }
  double value = 0, first = 0;
  for (int face = 0; face < kFaces; ++face) {
    // No curvature is more than twice the diagonal's, as no row has a sum below zero: this cannot fail.
    for (size_t t = 0; t < n; ++t) direction_[t] = diagonal_[t] > 0 ? residual_[t] / (2 * diagonal_[t]) : 0;
    move_in_box(1.0, value);
    for (size_t t = 0; t < n; ++t) {
      free_[t] = diagonal_[t] > 0 && (residual_[t] < 0 ? step_[t] > low_[t] : step_[t] < high_[t]);
    }
    const double left = free_residual();
    first = std::max(first, left);
    if (!(left > solved_ * first)) break;
    conjugate_gradients(left);
    const double inside = part_inside();
    bool moved = false;
    for (double part = 1; part > inside && !moved; part /= 4) moved = move_in_box(part, value);
    if (!moved) move_in_box(inside, value);
  }
  return -value;
}

// How much of direction_ the box has room for, at most all: so far the model falls.
double PairNewton::part_inside() const {
  double part = 1;
  for (size_t t = 0; t < step_.size(); ++t) {
    const double room = direction_[t] < 0 ? low_[t] - step_[t] : high_[t] - step_[t];
    if (std::abs(direction_[t]) * part > std::abs(room)) part = room / direction_[t];
  }
  return part;
}

// If that lowers the model, whose value it is then.
bool PairNewton::move_in_box(double part, double& value) {
  for (size_t t = 0; t < step_.size(); ++t) {
    next_[t] = std::clamp(step_[t] + part * direction_[t], low_[t], high_[t]);
  }
  multiply(next_);
  const double reached = dot(gradient_, next_) + dot(next_, product_) / 2;
  if (!(reached < value)) return false;
  value = reached;
  std::swap(step_, next_);
  for (size_t t = 0; t < step_.size(); ++t) residual_[t] = -gradient_[t] - product_[t];
  return true;
}

}  // namespace semproj
