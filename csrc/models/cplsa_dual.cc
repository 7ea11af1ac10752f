#include "models/cplsa_dual.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace semproj {
namespace {

constexpr double kNoUnderflow = 600;  // nats below the largest exponent that double has room for
constexpr double kLargestStep = 40;   // nats between neighbouring topics, in float32: more are as good
constexpr double kLargestRange = 80;  // nats, of all topics, in float32
constexpr double kSameFractions = 5e-7;

}  // namespace

PairDual::PairDual(const TopicWords& first, const TopicWords& second)
    : n_topics_(first.n_topics()), sides_{Side{first}, Side{second}} {
  sides_[0].sign = -1;
  for (Side& side : sides_) side.logs.resize(static_cast<size_t>(n_topics_));
  exponents_.resize(static_cast<size_t>(n_topics_));
  odds_.resize(static_cast<size_t>(n_topics_));
}

void PairDual::set_side(int s, const float* theta, const SideTokens& tokens) {
  Side& side = sides_[s];
  side.theta = theta, side.tokens = tokens, side.mass = 0;
  side.counts.assign(tokens.counts, tokens.counts + tokens.n);
  for (int64_t t = 0; t < n_topics_; ++t) side.logs[t] = std::log(static_cast<double>(theta[t]));
  for (int64_t i = 0; i < tokens.n; ++i) {
    double probability = 0;
    for (int64_t t = 0; t < n_topics_; ++t) {
      probability += static_cast<double>(theta[t]) * static_cast<double>(side.row(i)[t]);
    }
    if (probability < static_cast<double>(simd::kLeastProbability)) side.counts[i] = 0;
    side.mass += static_cast<double>(side.counts[i]);
  }
  side.inverse = side.mass > 0 ? 1 / side.mass : 0;
}

void PairDual::evaluate(Point& at) {
  const double none = -std::numeric_limits<double>::infinity();
  at.value = 0;
  for (int s = 0; s < 2; ++s) {
    const Side& side = sides_[s];
    double high = none, low = -none;
    for (int64_t t = 0; t < n_topics_; ++t) {
      exponents_[t] = side.logs[t] + side.sign * at.lambda[t] * side.inverse;
      if (side.theta[t] > 0) high = std::max(high, exponents_[t]), low = std::min(low, exponents_[t]);
    }
    const bool together = high - low <= kNoUnderflow;
    for (int64_t t = 0; together && t < n_topics_; ++t) odds_[t] = std::exp(exponents_[t] - high);
    auto& fractions = at.fractions[s];
    fractions.assign(static_cast<size_t>(n_topics_), 0.0);
    at.posteriors[s].resize(static_cast<size_t>(side.tokens.n * n_topics_));
    for (int64_t i = 0; i < side.tokens.n; ++i) {
      const float* row = side.row(i);
      double* q = at.posteriors[s].data() + i * n_topics_;
      const auto count = static_cast<double>(side.counts[i]);
      if (count == 0) {
        std::fill_n(q, n_topics_, 0.0);
        continue;
      }
      double most = together ? high : none;
      if (!together) {
        for (int64_t t = 0; t < n_topics_; ++t) {
          if (row[t] > 0) most = std::max(most, exponents_[t]);
        }
        for (int64_t t = 0; t < n_topics_; ++t) odds_[t] = row[t] > 0 ? std::exp(exponents_[t] - most) : 0.0;
      }
      double sum = 0;
      for (int64_t t = 0; t < n_topics_; ++t) sum += q[t] = odds_[t] * static_cast<double>(row[t]);
      for (int64_t t = 0; t < n_topics_; ++t) {
        q[t] /= sum;
        fractions[t] += count * q[t];
      }
      at.value += count * (most + std::log(sum));
    }
    for (double& f : fractions) f *= side.inverse;
  }
}

// out = 0, then add(q, weight) for all tokens, with weight the part of the Hessian that a token has.
template <class Add>
void PairDual::add_tokens(const Point& at, double* out, const Add& add) const {
  std::fill_n(out, n_topics_, 0.0);
  for (int s = 0; s < 2; ++s) {
    const Side& side = sides_[s];
    for (int64_t i = 0; i < side.tokens.n; ++i) {
      const double* q = at.posteriors[s].data() + i * n_topics_;
      add(q, static_cast<double>(side.counts[i]) * side.inverse * side.inverse);
    }
  }
}

void PairDual::multiply(const Point& at, const double* v, double* out) const {
  add_tokens(at, out, [&](const double* q, double weight) {
    double mean = 0;
    for (int64_t t = 0; t < n_topics_; ++t) mean += q[t] * v[t];
    for (int64_t t = 0; t < n_topics_; ++t) out[t] += weight * q[t] * (v[t] - mean);
  });
}

void PairDual::diagonal(const Point& at, double* out) const {
  add_tokens(at, out, [&](const double* q, double weight) {
    for (int64_t t = 0; t < n_topics_; ++t) out[t] += weight * q[t] * (1 - q[t]);
  });
}

// Topics in the order of their exponents, which begin at 0 and grow by `most` from one to the next at most.
void PairDual::tilt_with_steps(const Side& side, const Point& at, double most, float* tilted) {
  order_.clear();
  for (int64_t t = 0; t < n_topics_; ++t) {
    exponents_[t] = side.sign * at.lambda[t] * side.inverse;
    tilted[t] = 0;
    if (side.theta[t] > 0) order_.push_back(t);
  }
  std::sort(order_.begin(), order_.end(),
            [&](int64_t a, int64_t b) { return exponents_[a] < exponents_[b]; });
  double sum = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    const int64_t t = order_[i];
    if (i > 0) sum += std::min(most, exponents_[t] - exponents_[order_[i - 1]]);
    tilted[t] =
        static_cast<float>(static_cast<double>(side.theta[t]) * std::exp(std::min(sum, kLargestRange)));
  }
}

bool PairDual::tilted_in_float32(const Point& at, int s, float* tilted) {
  const Side& side = sides_[s];
  for (double most = kLargestStep; most > 1e-3; most *= 0.75) {
    tilt_with_steps(side, at, most, tilted);
    const auto largest = static_cast<double>(*std::max_element(tilted, tilted + n_topics_));
    std::fill(odds_.begin(), odds_.end(), 0.0);
    double ratios = 0;
    for (int64_t i = 0; i < side.tokens.n; ++i) {
      if (side.counts[i] == 0) continue;
      const float* row = side.row(i);
      double sum = 0;
      for (int64_t t = 0; t < n_topics_; ++t)
        sum += static_cast<double>(tilted[t]) * static_cast<double>(row[t]);
      const double ratio = static_cast<double>(side.counts[i]) / sum;
      ratios = std::max(ratios, ratio);
      for (int64_t t = 0; t < n_topics_; ++t) odds_[t] += ratio * static_cast<double>(row[t]);
    }
    if (ratios * largest > static_cast<double>(kLargestProduct)) continue;
    double apart = 0;
    for (int64_t t = 0; t < n_topics_; ++t) {
      apart += std::abs(odds_[t] * static_cast<double>(tilted[t]) * side.inverse - at.fractions[s][t]);
    }
    return apart <= kSameFractions;
  }
  return false;
}

}  // namespace semproj
