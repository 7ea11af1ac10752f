#include "kernels/simd/duals.h"

#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

using V = Vec<double>;
constexpr int64_t kWide = kLanes<double>;

inline double total(V v) {
  double sum = 0;
  for (int l = 0; l < static_cast<int>(kWide); ++l) sum += v[l];
  return sum;
}

void prepare(const float* __restrict__ from, const float* __restrict__ d, const float* __restrict__ f1,
             const float* __restrict__ f2, const float* __restrict__ scales, int64_t n,
             double* __restrict__ at, double* __restrict__ duals, double* __restrict__ steps,
             double* __restrict__ slacks) {
  constexpr float kLeast = 1e-20f;
  for (int64_t t = 0; t < n; ++t) {
    const float a = f1[t] > kLeast ? f1[t] : kLeast, b = f2[t] > kLeast ? f2[t] : kLeast;
    // Where fractions are nearly equal, their difference has no digits left: the limit is as good.
    const float difference = a - b, sum = a + b;
    const float size = difference < 0 ? -difference : difference;
    const bool near = size < 1e-3f * sum;
    steps[t] = static_cast<double>((near ? 2 * scales[t] : d[t]) / (near ? sum : difference));
    slacks[t] = static_cast<double>(f1[t] - f2[t]);
    at[t] = static_cast<double>(from[t]);
    duals[t] = at[t] + static_cast<double>(d[t]);
  }
}

void along(const double* x, const double* y, double factor, int64_t n, double* out) {
  for (int64_t t = 0; t < n; t += kWide) store<double>(out + t, load(x + t) + factor * load(y + t));
}

double weighted(const double* weights, const double* x, const double* y, int64_t n) {
  V sum{};
  for (int64_t t = 0; t < n; t += kWide) sum += load(weights + t) * (load(x + t) - load(y + t));
  return total(sum);
}

double squares(const double* x, const double* y, const double* divisors, int64_t n) {
  V sum{};
  for (int64_t t = 0; t < n; t += kWide) {
    const V difference = load(x + t) - load(y + t);
    sum += difference * difference / load(divisors + t);
  }
  return total(sum);
}

DualGains gains(const double* moved, const double* start, double factor, const double* x, const double* y,
                int64_t n) {
  V sum{}, largest{};
  for (int64_t t = 0; t < n; t += kWide) {
    const V off = factor * (load(moved + t) - load(start + t)), size = off < V{} ? -off : off;
    largest = size > largest ? size : largest;
    sum += off * (load(x + t) - load(y + t));
  }
  double most = 0;
  for (int l = 0; l < static_cast<int>(kWide); ++l) most = largest[l] > most ? largest[l] : most;
  return {total(sum), most};
}

}  // namespace

DualTable dual_table() {
  return {.prepare = &prepare, .along = &along, .weighted = &weighted, .squares = &squares, .gains = &gains};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
