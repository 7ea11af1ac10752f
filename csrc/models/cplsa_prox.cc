#include "models/cplsa_prox.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/parallel.h"
#include "kernels/dispatch.h"

namespace semproj {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTinyStep = 1e-6;  // of a step, to see where it leads; of a dual, for slopes
constexpr double kNoStep = 1e-30;   // of a step, to be in the domain and otherwise where it was
constexpr double kNudge = 1e-3;     // of a move, to see whether the map is flat

// Gauss's rule with two nodes in each half of the way.
constexpr std::array<double, 4> kAlong{0.10566243270259357, 0.39433756729740643, 0.60566243270259357,
                                       0.89433756729740643};

}  // namespace

// Behind the topics, steps are 1 and everything else is 0: sums may be over whole rows.
ProximalMap::ProximalMap(const Coupling& coupling, int64_t n_topics, Isa isa)
    : table_(simd_table(isa).duals),
      function_(coupling.prox),
      n_topics_(n_topics),
      n_(block_count(n_topics, simd::kDualLanes) * simd::kDualLanes) {
  if (function_ == nullptr) return;
  for (auto* row : {&from_, &duals_, &slacks_, &out_, &kept_, &points_, &start_, &way_, &weights_}) {
    row->resize(static_cast<size_t>(n_), 0.0);
  }
  for (auto* row : {&steps_, &tiny_steps_, &no_steps_, &ones_}) row->resize(static_cast<size_t>(n_), 1.0);
  coupling_.assign(static_cast<size_t>(n_), coupling.weight);
}

// out_ = prox(duals, steps). What the function leaves out is not a number.
bool ProximalMap::call(const double* duals, const double* steps) {
  std::fill_n(out_.begin(), n_topics_, kNan);
  const bool raised = function_(duals, coupling_.data(), steps, out_.data(), n_topics_) != 0;
  if (!raised && std::isfinite(table_.weighted(ones_.data(), out_.data(), out_.data(), n_))) return true;
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
  const double squares = table_.squares(kept_.data(), from_.data(), steps_.data(), n_);
  const double least = *std::min_element(steps_.begin(), steps_.begin() + n_topics_);
  std::fill_n(no_steps_.begin(), n_topics_, kNoStep * least);
  if (squares > allowed) return {squares, kNan, squares / 2};  // more is not asked for
  // Into the domain first: float32 has rounded from_.
  if (!call(from_.data(), no_steps_.data())) return {kNan, kNan, kNan};
  std::swap(out_, start_);
  const double tiny = kTinyStep * least;
  table_.along(start_.data(), slacks_.data(), tiny, n_, points_.data());
  std::fill_n(tiny_steps_.begin(), n_topics_, tiny);
  if (!call(points_.data(), tiny_steps_.data())) return {kNan, kNan, kNan};
  const simd::DualGains found =
      table_.gains(out_.data(), start_.data(), 1 / tiny, kept_.data(), from_.data(), n_);
  return {found.sum, found.largest, found.sum - squares / 2};
}

ProximalStep ProximalMap::step(const float* from, const float* d, const float* f1, const float* f2,
                               const float* scales, float most, double allowed, float* out) {
  table_.prepare(from, d, f1, f2, scales, n_topics_, from_.data(), duals_.data(), steps_.data(),
                 slacks_.data());
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

// Of the way from start_, a part of it along: the sum of slopes times lengths.
double ProximalMap::slopes(double part) {
  table_.along(start_.data(), way_.data(), part, n_, points_.data());
  if (!call(points_.data(), tiny_steps_.data())) return kNan;
  return table_.weighted(weights_.data(), points_.data(), out_.data(), n_);
}

template <class T>
double ProximalMap::rise(const T* from, const T* to) {
  double most = 0;
  for (int64_t t = 0; t < n_topics_; ++t) {
    const auto end = static_cast<double>(to[t]), begin = from == nullptr ? 0.0 : static_cast<double>(from[t]);
    const double size = std::abs(begin) + std::abs(end), tiny = kTinyStep * size + kNoStep;
    start_[t] = begin, way_[t] = end - begin, tiny_steps_[t] = tiny;
    weights_[t] = (end - begin) / tiny;
    most += size;
  }
  if (most == 0) return 0;
  if (from != nullptr && std::is_same_v<T, float>) return slopes(0.5);  // these steps are short
  double sum = 0;
  for (const double part : kAlong) sum += slopes(part);
  return sum / static_cast<double>(kAlong.size());
}

template double ProximalMap::rise(const float*, const float*);
template double ProximalMap::rise(const double*, const double*);

}  // namespace semproj
