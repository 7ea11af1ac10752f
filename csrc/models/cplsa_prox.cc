#include "models/cplsa_prox.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kLeastFraction = 1e-20f;  // as simd's balance has it
constexpr double kTinyStep = 1e-6;        // of a step, to see where it leads; of a dual, for slopes
constexpr double kNoStep = 1e-30;         // of a step, to be in the domain and otherwise where it was
constexpr double kNudge = 1e-3;           // of a move, to see whether the map is flat
constexpr int64_t kLanes = 8;             // sums of their own, so that loops can be vectorised

// Gauss's rule with two nodes in each half of the way.
constexpr std::array<double, 4> kAlong{0.10566243270259357, 0.39433756729740643, 0.60566243270259357,
                                       0.89433756729740643};

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
  for (auto* row : {&from_, &duals_, &steps_, &tiny_steps_, &out_, &kept_, &points_, &start_, &way_, &slacks_, &no_steps_}) {
    row->resize(static_cast<size_t>(n_), 0.0);
  }
  for (auto* row : {&steps_, &tiny_steps_}) std::fill(row->begin(), row->end(), 1.0);  // behind the topics, too
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

// Of the step to kept_ = prox(duals_, steps_) from from_, whose fractions differ by slacks_.
ProximalStep ProximalMap::measure(double allowed) {
  const bool stepped = call(duals_.data(), steps_.data());
  std::swap(out_, kept_);
  if (!stepped) return {kNan, kNan, kNan};
  const double *reached = kept_.data(), *from = from_.data(), *step = steps_.data();
  const double squares = sum_of(n_, [=](int64_t t) {
    const double move = reached[t] - from[t];
    return move * move / step[t];
  });
  const double least = *std::min_element(steps_.begin(), steps_.begin() + n_topics_);
  std::fill(no_steps_.begin(), no_steps_.end(), kNoStep * least);
  if (squares > allowed) return {squares, kNan, squares / 2};  // more is not asked for
  // Into the domain first: float32 has rounded from_.
  if (!call(from, no_steps_.data())) return {kNan, kNan, kNan};
  std::swap(out_, start_);
  const double tiny = kTinyStep * least, inverse = 1 / tiny;
  double* points = points_.data();
  for (int64_t t = 0; t < n_; ++t) points[t] = start_[t] + tiny * slacks_[t], tiny_steps_[t] = tiny;
  if (!call(points, tiny_steps_.data())) return {kNan, kNan, kNan};
  for (int64_t t = 0; t < n_; ++t) points[t] = (out_[t] - start_[t]) * inverse;
  const double gap = sum_of(n_, [=](int64_t t) { return points[t] * (reached[t] - from[t]); });
  double lanes[kLanes] = {};
  for (int64_t t = 0; t < n_; t += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = std::max(lanes[l], std::abs(points[t + l]));
  }
  return {gap, *std::max_element(lanes, lanes + kLanes), gap - squares / 2};
}

ProximalStep ProximalMap::step(const float* from, const float* d, const float* f1, const float* f2,
                               const float* scales, float most, double allowed,
 float* out) {
  double* __restrict__ at = from_.data(), * __restrict__ dual = duals_.data();
  double *__restrict__ step = steps_.data(), *__restrict__ slack = slacks_.data();
  for (int64_t t = 0; t < n_topics_; ++t) {
    const float a = f1[t] > kLeastFraction ? f1[t] : kLeastFraction;
    const float b = f2[t] > kLeastFraction ? f2[t] : kLeastFraction;
    // Where fractions are nearly equal, their difference has no digits left: the limit is as good.
    const float limit = 2 * scales[t] / (a + b), quotient = d[t] / (a - b);
    step[t] = static_cast<double>(std::abs(a - b) < 1e-3f * (a + b) ? limit : quotient);
    slack[t] = static_cast<double>(f1[t] - f2[t]);
    at[t] = static_cast<double>(from[t]);
    dual[t] = at[t] + static_cast<double>(d[t]);
  }
  const ProximalStep found = measure(allowed);
  const auto bound = static_cast<double>(most);
  for (int64_t t = 0; t < n_topics_; ++t) {
    out[t] = static_cast<float>(std::min(std::max(kept_[t], -bound), bound));
  }
  return found;
}

ProximalStep ProximalMap::step(const double* from, const double* steps, const double* f1, const double* f2,
 double allowed, double* out) {
  for (int64_t t = 0; t < n_topics_; ++t) {
    from_[t] = from[t], steps_[t] = steps[t], slacks_[t] = f1[t] - f2[t];
    duals_[t] = from[t] + steps[t] * slacks_[t];
  }
  const ProximalStep found = measure(allowed);
  std::copy_n(kept_.begin(), n_topics_, out);
  return found;
}

bool ProximalMap::apply(const double* duals, const double* steps, double* out) {
  const bool done = call(duals, steps);
  std::copy_n(out_.begin(), n_topics_, out);
  return done;
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
  if (!call(points_.data(), no_steps_.data())) return;
  for (int64_t t = 0; t < n_topics_; ++t) x[t] = static_cast<float>(out_[t]);
}

template <class T>
double ProximalMap::rise(const T* from, const T* to) {
  double *start = start_.data(), *way = way_.data(), *dual = points_.data(), *tiny = tiny_steps_.data();
  double most = 0;
  for (int64_t t = 0; t < n_topics_; ++t) {
    const auto end = static_cast<double>(to[t]);
    start[t] = from == nullptr ? 0.0 : static_cast<double>(from[t]);
    const double size = std::max(std::abs(start[t]), std::abs(end));
    tiny[t] = size > 0 ? kTinyStep * size : 1.0;
    way[t] = end - start[t];
    most = std::max(most, size);
  }
  if (most == 0) return 0;
  std::fill(way + n_topics_, way + n_, 0.0);
  const auto slopes = [&](double along) {
    for (int64_t t = 0; t < n_; ++t) dual[t] = start[t] + along * way[t];
    if (!call(dual, tiny)) return kNan;
    const double* out = out_.data();
    return sum_of(n_, [=](int64_t t) { return way[t] / tiny[t] * (dual[t] - out[t]); });
  };
  if (from != nullptr && std::is_same_v<T, float>) return slopes(0.5);  // these steps are short
  double sum = 0;
  for (const double along : kAlong) sum += slopes(along);
  return sum / static_cast<double>(kAlong.size());
}

template double ProximalMap::rise(const float*, const float*);
template double ProximalMap::rise(const double*, const double*);

}  // namespace semproj
