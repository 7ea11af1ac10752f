#include "models/cplsa_pair.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/dispatch.h"

namespace semproj {
namespace {

constexpr double kRounding = 3e-7;      // of h, for each token
constexpr int64_t kPatience = 40;       // evaluations in which the gap must have fallen
constexpr int64_t kMostInFloat32 = 60;  // evaluations before Newton's method takes over
constexpr int64_t kFewEvaluations = 8;  // too few to share with it
constexpr double kSameMass = 1e-6;
constexpr float kLeastFraction = 1e-20f;  // below it, topics are alike

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
                             bool posteriors, Isa isa)
    : coupling_(coupling),
      prox_(coupling, first.n_topics(), isa),
      posteriors_(posteriors),
      words_{&first, &second},
      table_(simd_table(isa).topics),
      rows_(simd_table(isa).float32.rows),
      n_topics_(first.n_topics()),
      stride_(first.stride()),
      sides_{Side(first, isa), Side(second, isa)} {
  for (auto* row : {&multipliers_, &step_, &candidate_, &weights_, &residual_, &last_step_, &gradient_,
                    &curvature_, &free_, &sharpness_, &scales_, &nothing_, &moves_}) {
    *row = aligned_zeros<float>(static_cast<size_t>(stride_));
  }
  for (auto* rows : {&residual_changes_, &step_changes_}) {
    *rows = aligned_zeros<float>(static_cast<size_t>(kRemembered * stride_));
  }
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
  evaluated_ = lost_tokens_ = false;
  prox_.begin_pair();
  weight_ = followed_coupling();
  cut_to_constraint(multipliers_.get());  // to zero when a side is empty
  Evaluation now = evaluate(multipliers_.get(), true);
  const double allowed = this->allowed();
  const int64_t in_all = coupling_.max_evaluations;
  const int64_t most = in_all <= kFewEvaluations ? in_all : std::min(in_all / 2, kMostInFloat32);
  int64_t evaluations = 1, best_at = 1;
  double best_gap = now.gap;
  bool current = true;  // whether tilted mixtures and ratios are those of multipliers_
  const auto failed = [&](const Evaluation& next) {  // the gap is not finite where float32 had no room
    const double rise = prox_ ? prox_.rise(multipliers_.get(), candidate_.get()) : 0;
    return !(next.value + rise <= now.value + kRounding * mass && std::isfinite(next.gap));
  };
  const auto near = [&] { return now.gap <= allowed && now.slack <= coupling_.slack_tol; };
  while (!near() && std::isfinite(now.gap) && !lost_tokens_ && evaluations < most &&
         evaluations - best_at < kPatience) {
    if (!prox_) plain_step();  // which the evaluation has done, to know the gap
    remember_step();
    bool combined = combine_steps();
    if (!combined) std::copy_n(step_.get(), stride_, candidate_.get());
    exchange_fractions();
    Evaluation next = evaluate(candidate_.get());
    ++evaluations;
    while (!prox_.failure().failed && failed(next) && evaluations < most) {
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
    current = !failed(next);
    if (!current) break;
    std::swap(multipliers_, candidate_);
    now = next;
    if (now.gap < 0.9 * best_gap) best_gap = now.gap, best_at = evaluations;
  }
  if (prox_.failure().failed) return {std::numeric_limits<double>::quiet_NaN(), now.gap, evaluations, false};
  const bool done = weight_ == 0 || (near() && !lost_tokens_ && (!posteriors_ || words_can_add()));
  if (!done && evaluations < in_all && std::isfinite(now.value)) {
    return prox_ ? project_in_double(descent_, evaluations) : project_in_double(newton_, evaluations);
  }
  if (!current) now = evaluate(multipliers_.get()), ++evaluations;
  return {regularised(now), now.gap, evaluations, done};
}

// The regularised log likelihood at the minimum.
double PairProjector::regularised(const Evaluation& at) {
  return at.value - missing(at) + (prox_ && weight_ > 0 ? prox_.conjugate(multipliers_.get()) : 0.0);
}

template <class Solver>
PairOutcome PairProjector::project_in_double(std::unique_ptr<Solver>& solver, int64_t evaluations) {
  if constexpr (std::is_same_v<Solver, PairDescent>) {
    if (!solver) solver = std::make_unique<PairDescent>(*words_[0], *words_[1], coupling_, prox_);
  } else {
    if (!solver) solver = std::make_unique<PairNewton>(*words_[0], *words_[1], coupling_);
  }
  for (int s = 0; s < 2; ++s) solver->set_side(s, sides_[s].theta.get(), sides_[s].tokens);
  PairOutcome found = solver->minimise(coupling_.max_evaluations - evaluations, multipliers_.get());
  if (prox_.failure().failed) return found;
  found.evaluations += evaluations;
  for (int s = 0; s < 2; ++s) {
    Side& side = sides_[s];
    std::copy_n(solver->fractions(s).begin(), n_topics_, side.fractions.get());
    if (!posteriors_) continue;
    if (!solver->tilted_in_float32(s, side.tilted.get())) found.converged = false;
    side.pass.run(side.tilted.get(), side.tokens.words, solver->counts(s), side.tokens.n, side.ratios);
  }
  return found;
}

// Whether float32 has room for ratios times tilted mixtures, which words add up.
bool PairProjector::words_can_add() const {
  for (const Side& side : sides_) {
    float lanes[simd::kTopicLanes] = {};
    for (const float* x = side.tilted.get(); x < side.tilted.get() + stride_; x += simd::kTopicLanes) {
      for (int64_t l = 0; l < simd::kTopicLanes; ++l) lanes[l] = x[l] > lanes[l] ? x[l] : lanes[l];
    }
    const float mixture = *std::max_element(lanes, lanes + simd::kTopicLanes);
    if (static_cast<float>(side.mass) * mixture <= kLargestProduct * simd::kLeastProbability) continue;
    if (!(*std::max_element(side.ratios, side.ratios + side.tokens.n) * mixture <= kLargestProduct))
      return false;
  }
  return true;
}

// How much h is above its minimum where fractions are not yet equal, by its gradient and second derivatives:
// without it, objectives would fall where a sweep's projections are more exact than the last one's.
double PairProjector::missing(const Evaluation& at) const {
  if (prox_) return at.missing;
  if (weight_ == 0 || !coupling_.equal()) return 0;
  const auto a = static_cast<float>(1 / sides_[0].mass), b = static_cast<float>(1 / sides_[1].mass);
  double sum = 0;
  for (int64_t t = 0; t < n_topics_; ++t) {
    const float f1 = sides_[0].fractions[t], f2 = sides_[1].fractions[t];
    const float curvature = (f1 * a + f2 * b) * sharpness_[t] + kLeastFraction;
    sum += static_cast<double>((f1 - f2) * (f1 - f2) / curvature);
  }
  return sum / 2;
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

// Tilting may take a token below the least probability, or lift it above that.
bool PairProjector::has_all(const TokenSums (&sums)[2]) const {
  return std::abs(sums[0].mass - sides_[0].mass) <= kSameMass * sides_[0].mass &&
         std::abs(sums[1].mass - sides_[1].mass) <= kSameMass * sides_[1].mass;
}

PairProjector::Evaluation PairProjector::evaluate(const float* multipliers, bool first) {
  TokenSums sums[2];
  const bool squares = first && weight_ > 0;
  evaluate_sides(multipliers, squares, sums);
  lost_tokens_ = !has_all(sums);
  // Tokens of probability zero, which no tilt makes any more probable: fractions are of the others.
  if (first && lost_tokens_) {
    std::fill_n(candidate_.get(), stride_, 0.0f);
    evaluate_sides(candidate_.get(), false, sums);
    for (int s = 0; s < 2; ++s) sides_[s].mass = sums[s].mass;
    weight_ = followed_coupling();
    cut_to_constraint(multipliers_.get());
    evaluate_sides(multipliers_.get(), squares, sums);
    lost_tokens_ = !has_all(sums);
  }
  for (Side& side : sides_) {
    const auto scale = static_cast<float>(side.mass > 0 ? 1 / side.mass : 0);
    table_.fractions(side.tilted.get(), side.pass.sums(), scale, stride_, side.fractions.get());
  }
  const double value = sums[0].log_likelihood + sums[1].log_likelihood;
  if (weight_ == 0) return {value, 0.0};
  if (first) measure_sharpness();
  if (prox_) {
    const ProximalStep found = proximal_step(multipliers);
    return {value, found.gap, found.slack, found.missing};
  }
  const bool infinite = coupling_.equal();
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

void PairProjector::exchange_fractions() {
  for (Side& side : sides_) std::swap(side.fractions, side.kept);
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
