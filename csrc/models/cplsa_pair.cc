#include "models/cplsa_pair.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/dispatch.h"

namespace semproj {
namespace {

constexpr double kRounding = 3e-7;          // of h, for each token
constexpr double kFractionRounding = 5e-7;  // of ||f1 - f2||
constexpr double kLargestTilt = 20;         // nats that a token's topic is moved by: more would underflow
constexpr int64_t kPatience = 40;           // evaluations in which the gap must have fallen
constexpr float kLeastSharpness = 0.05f;
constexpr float kLeastFraction = 1e-20f;  // below it, topics are alike

AlignedArray<float> zeros(int64_t n) {
  auto row = aligned_array<float>(static_cast<size_t>(n));
  std::fill_n(row.get(), n, 0.0f);
  return row;
}

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

PairProjector::PairProjector(const TopicWords& first, const TopicWords& second, const Coupling& coupling,
                             Isa isa)
    : coupling_(coupling),
      table_(simd_table(isa).topics),
      rows_(simd_table(isa).float32.rows),
      n_topics_(first.n_topics()),
      stride_(first.stride()),
      sides_{Side(first, isa), Side(second, isa)} {
  for (auto* row : {&multipliers_, &step_, &candidate_, &weights_, &residual_, &last_step_, &gradient_,
                    &curvature_, &free_, &sharpness_, &scales_}) {
    *row = zeros(stride_);
  }
  residual_changes_ = zeros(kRemembered * stride_);
  step_changes_ = zeros(kRemembered * stride_);
}

PairOutcome PairProjector::project(const SideTokens& first, const SideTokens& second, float* ratios_first,
                                   float* ratios_second) {
  sides_[0].tokens = first, sides_[0].ratios = ratios_first;
  sides_[1].tokens = second, sides_[1].ratios = ratios_second;
  double mass = 0;
  for (Side& side : sides_) {
    side.mass = 0;
    for (int64_t i = 0; i < side.tokens.n; ++i) side.mass += static_cast<double>(side.tokens.counts[i]);
    mass += side.mass;
  }
  n_remembered_ = n_steps_ = 0;
  stiffness_ = 1;
  evaluated_ = false;
  weight_ = std::min(coupling_.weight, kLargestTilt * std::min(sides_[0].mass, sides_[1].mass));
  cut_to_constraint(multipliers_.get());  // to zero when a side is empty
  Evaluation now = evaluate(multipliers_.get(), true);
  const double allowed = allowed_gap();
  int64_t evaluations = 1, best_at = 1;
  double best_gap = now.gap;
  bool current = true;  // whether tilted mixtures and ratios are those of multipliers_
  while (now.gap > allowed && evaluations < coupling_.max_evaluations && evaluations - best_at < kPatience) {
    plain_step();
    remember_step();
    bool combined = combine_steps();
    if (!combined) std::copy_n(step_.get(), stride_, candidate_.get());
    exchange_fractions();
    Evaluation next = evaluate(candidate_.get());
    ++evaluations;
    while (next.value > now.value + kRounding * mass && evaluations < coupling_.max_evaluations) {
      n_remembered_ = n_steps_ = 0;
      if (!combined && bounded_) {
        if (!coupling_.l2) break;  // cannot be but by rounding
        stiffness_ *= 4;
      }
      combined = false;
      use_bound();
      exchange_fractions();
      plain_step();
      exchange_fractions();
      std::copy_n(step_.get(), stride_, candidate_.get());
      next = evaluate(candidate_.get());
      ++evaluations;
    }
    current = !(next.value > now.value + kRounding * mass);
    if (!current) break;
    std::swap(multipliers_, candidate_);
    now = next;
    if (now.gap < 0.9 * best_gap) best_gap = now.gap, best_at = evaluations;
  }
  if (!current) now = evaluate(multipliers_.get()), ++evaluations;
  return {now.value - missing(), now.gap, evaluations, now.gap <= allowed};
}

// How much h is above its minimum where fractions are not yet equal, by its gradient and second derivatives:
// without it, the objective of a fit would fall when a sweep's projections are more exact than the last
// one's.
double PairProjector::missing() const {
  if (weight_ == 0 || !std::isinf(coupling_.weight)) return 0;
  const auto a = static_cast<float>(1 / sides_[0].mass), b = static_cast<float>(1 / sides_[1].mass);
  double sum = 0;
  for (int64_t t = 0; t < n_topics_; ++t) {
    const float f1 = sides_[0].fractions[t], f2 = sides_[1].fractions[t];
    const float curvature = (f1 * a + f2 * b) * sharpness_[t] + kLeastFraction;
    sum += static_cast<double>((f1 - f2) * (f1 - f2) / curvature);
  }
  return sum / 2;
}

double PairProjector::allowed_gap() const {
  if (std::isinf(coupling_.weight)) return coupling_.tol;
  return coupling_.tol * (sides_[0].mass + sides_[1].mass) + kFractionRounding * coupling_.weight;
}

void PairProjector::evaluate_sides(const float* multipliers, bool squares, TokenSums (&sums)[2]) {
  const bool cached = evaluated_ && sides_[0].pass.fits_cache(sides_[0].tokens.n + sides_[1].tokens.n);
  evaluated_ = true;
  second_first_ = !second_first_;  // the side that was last is still in cache
  for (int i = 0; i < 2; ++i) {
    const int s = second_first_ ? 1 - i : i;
    Side& side = sides_[s];
    const double sign = s == 0 ? -1 : 1;
    const double scale = one_is_empty() ? 0 : sign / side.mass;
    table_.tilt(side.theta.get(), multipliers, static_cast<float>(scale), stride_, side.tilted.get());
    if (squares) std::fill_n(side.squares.get(), stride_, 0.0f);
    sums[s] = side.pass.run(side.tilted.get(), side.tokens.words, side.tokens.counts, side.tokens.n,
                            side.ratios, cached, squares ? side.squares.get() : nullptr);
  }
}

PairProjector::Evaluation PairProjector::evaluate(const float* multipliers, bool first) {
  TokenSums sums[2];
  const bool squares = first && weight_ > 0;
  evaluate_sides(multipliers, squares, sums);
  // Tokens of probability zero, which no tilt makes any more probable: fractions are of the others.
  if (first && (sums[0].mass < 0.999999 * sides_[0].mass || sums[1].mass < 0.999999 * sides_[1].mass)) {
    for (int s = 0; s < 2; ++s) sides_[s].mass = sums[s].mass;
    weight_ = std::min(weight_, kLargestTilt * std::min(sides_[0].mass, sides_[1].mass));
    cut_to_constraint(multipliers_.get());
    evaluate_sides(multipliers_.get(), squares, sums);
  }
  for (Side& side : sides_) {
    const auto scale = static_cast<float>(side.mass > 0 ? 1 / side.mass : 0);
    table_.fractions(side.tilted.get(), side.pass.sums(), scale, stride_, side.fractions.get());
  }
  const double value = sums[0].log_likelihood + sums[1].log_likelihood;
  if (weight_ == 0) return {value, 0.0};
  if (first) measure_sharpness();
  const bool infinite = std::isinf(coupling_.weight);
  const simd::PairSums found =
      table_.compare(sides_[0].fractions.get(), sides_[1].fractions.get(), multipliers,
                     infinite ? 0.0f : static_cast<float>(coupling_.weight), stride_);
  if (infinite) {
    const bool known = std::isfinite(found.squares);  // what is not a number is never the largest
    return {value, known ? found.largest : std::numeric_limits<double>::infinity()};
  }
  if (coupling_.l2) return {value, coupling_.weight * std::sqrt(found.squares) - found.product};
  return {value, found.l1_gap};
}

void PairProjector::plain_step() {
  const float *f1 = sides_[0].fractions.get(), *f2 = sides_[1].fractions.get();
  if (!coupling_.l2 || std::isinf(coupling_.weight)) {
    const auto most = std::isinf(coupling_.weight) ? coupling_.weight : weight_;
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

void PairProjector::exchange_fractions() {
  for (Side& side : sides_) std::swap(side.fractions, side.kept);
}

// Of a topic, sum_w n_w q (1 - q) / n^2 on each side: q^2 is x^2 phi^2 / s^2 with x the tilted mixture.
void PairProjector::measure_sharpness() {
  const auto scale = static_cast<float>(1 / (1 / sides_[0].mass + 1 / sides_[1].mass));
  const float inverse[] = {static_cast<float>(1 / sides_[0].mass), static_cast<float>(1 / sides_[1].mass)};
  for (int64_t t = 0; t < stride_; ++t) {
    float bound = kLeastFraction, less = 0;
    for (int s = 0; s < 2; ++s) {
      const float x = sides_[s].tilted[t] * inverse[s];
      bound += sides_[s].fractions[t] * inverse[s];
      less += x * x * sides_[s].squares[t];
    }
    sharpness_[t] = std::clamp(1 - less / bound, kLeastSharpness, 1.0f);
    weights_[t] = std::sqrt(bound * sharpness_[t]);
    scales_[t] = scale / sharpness_[t];
  }
  bounded_ = false;
}

void PairProjector::use_bound() {
  const auto scale = static_cast<float>(1 / (1 / sides_[0].mass + 1 / sides_[1].mass));
  std::fill_n(sharpness_.get(), stride_, 1.0f);
  std::fill_n(scales_.get(), stride_, scale);
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
  if (std::isinf(coupling_.weight) && most > 0) {
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
  const bool boxed = !coupling_.l2 && !std::isinf(coupling_.weight);
  const auto most = static_cast<float>(weight_);
  float* __restrict__ free = free_.get(), * __restrict__ candidate = candidate_.get();
  const float* __restrict__ step = step_.get();
  if (boxed) {
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
  return true;
}

}  // namespace semproj
