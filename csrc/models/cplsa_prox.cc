#include "models/cplsa_prox.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kLeastFraction = 1e-20f;  // as simd's balance has it
constexpr double kTinyStep = 1e-6;        // of a step, for slopes of the conjugate
constexpr double kNudge = 1e-3;           // of a move, to see whether the map is flat
constexpr int64_t kLanes = 8;             // sums of their own, so that loops can be vectorised
constexpr int kParts = 4;                 // of the way from 0 to a dual

// Gauss's rule with two nodes in [0, 1].
constexpr std::array<double, 2> kNodes{0.21132486540518712, 0.78867513459481288};

// The sum of value(t) for t below n, a multiple of kLanes.
template <class Value>
double sum_of(int64_t n, const Value& value) {
  double lanes[kLanes] = {};
  for (int64_t t = 0; t < n; t += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += value(t + l);
  }
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

}  // namespace

ProximalMap::ProximalMap(const Coupling& coupling, int64_t n_topics)
    : function_(coupling.prox), n_topics_(n_topics), n_(block_count(n_topics, kLanes) * kLanes) {
  if (function_ == nullptr) return;
  for (auto* row : {&from_, &duals_, &steps_, &tiny_steps_, &out_, &kept_, &points_, &start_, &way_}) {
    row->resize(static_cast<size_t>(n_), 0.0);
  }
  coupling_.assign(static_cast<size_t>(n_), coupling.weight);
}

// out_ = prox(duals, steps). What the function leaves out is not a number; behind the topics there are zeros.
bool ProximalMap::call(const double* duals, const double* steps) {
  std::fill_n(out_.begin(), n_topics_, kNan);
  const bool raised = function_(duals, coupling_.data(), steps, out_.data(), n_topics_) != 0;
  const double* out = out_.data();
  const double sum = sum_of(n_, [=](int64_t t) { return out[t] - out[t]; });
  if (!raised && sum == 0) return true;
  if (failure_.failed) return false;
  for (int64_t t = 0; t < n_topics_ && !failure_.failed; ++t) {
    if (!std::isfinite(out_[t])) failure_ = {true, raised, duals[t], coupling_[t], steps[t]};
  }
  return false;
}

double ProximalMap::step(const float* from, const float* d, const float* f1, const float* f2,
                         const float* scales, float most, float* out) {
  double* __restrict__ at = from_.data(), * __restrict__ dual = duals_.data();
  double *__restrict__ step = steps_.data(), *__restrict__ reached = kept_.data();
  float least = std::numeric_limits<float>::infinity();
  for (int64_t t = 0; t < n_topics_; ++t) {
    const float a = f1[t] > kLeastFraction ? f1[t] : kLeastFraction;
    const float b = f2[t] > kLeastFraction ? f2[t] : kLeastFraction;
    // Where fractions are nearly equal, their difference has no digits left: the limit is as good.
    const float limit = 2 * scales[t] / (a + b), quotient = d[t] / (a - b);
    const float mine = std::abs(a - b) < 1e-3f * (a + b) ? limit : quotient;
    step[t] = static_cast<double>(mine);
    least = mine < least ? mine : least;
    at[t] = static_cast<double>(from[t]);
    dual[t] = at[t] + static_cast<double>(d[t]);
  }
  std::fill(step + n_topics_, step + n_, 1.0);
  std::fill(tiny_steps_.begin(), tiny_steps_.end(), tiny_ = kTinyStep * static_cast<double>(least));
  if (!call(dual, step)) return kNan;
  const auto bound = static_cast<double>(most);
  std::copy_n(out_.begin(), n_topics_, reached);
  for (int64_t t = 0; t < n_topics_; ++t) {
    out[t] = static_cast<float>(std::min(std::max(reached[t], -bound), bound));
  }
  return sum_of(n_, [=](int64_t t) {
    const double move = std::min(std::max(reached[t], -bound), bound) - at[t];
    return move * move / step[t];
  });
}

void ProximalMap::free_topics(float* out) {
  for (int64_t t = 0; t < n_topics_; ++t) {
    points_[t] = duals_[t] - kNudge * (duals_[t] - from_[t]) - kTinyStep * steps_[t];
  }
  const bool done = call(points_.data(), steps_.data());
  for (int64_t t = 0; t < n_topics_; ++t) out[t] = done && out_[t] != kept_[t] ? 1.0f : 0.0f;
}

void ProximalMap::cut_to_domain(float* x) {
  for (int64_t t = 0; t < n_topics_; ++t) points_[t] = static_cast<double>(x[t]);
  if (!call(points_.data(), tiny_steps_.data())) return;
  for (int64_t t = 0; t < n_topics_; ++t) x[t] = static_cast<float>(out_[t]);
}

double ProximalMap::rise(const float* from, const float* to) {
  const int parts = from == nullptr ? kParts : 1;
  double *start = start_.data(), *way = way_.data(), *dual = points_.data();
  const double* out = out_.data();
  for (int64_t t = 0; t < n_topics_; ++t) {
    start[t] = from == nullptr ? 0.0 : static_cast<double>(from[t]);
    way[t] = static_cast<double>(to[t]) - start[t];
  }
  std::fill(way + n_topics_, way + n_, 0.0);
  double sum = 0;
  for (int part = 0; part < parts; ++part) {
    for (const double node : kNodes) {
      const double along = (part + node) / parts;
      for (int64_t t = 0; t < n_; ++t) dual[t] = start[t] + along * way[t];
      if (!call(dual, tiny_steps_.data())) return kNan;
      sum += sum_of(n_, [=](int64_t t) { return way[t] * (dual[t] - out[t]); });
    }
  }
  return sum / (static_cast<double>(kNodes.size()) * parts * tiny_);
}

}  // namespace semproj
