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

void PairProjector::exchange_fractions() {
  for (Side& side : sides_) std::swap(side.fractions, side.kept);
}

}  // namespace semproj
