#pragma once
// A user's penalty of the slack f1 - f2 of a pair (see cplsa.h), known by a proximal map alone.
//
// With a penalty W of a topic's slack, h + W*(lambda) is to be minimised, W* the conjugate of W: that of the
// l1 norm is 0 where |lambda| <= coupling, and infinite elsewhere. The user's function is
//
//   prox(dual, coupling, step) = argmin_x  step W*(x) + (x - dual)^2 / 2
//
// A step is that of the bound of h (cplsa.h), d = scale log(f1 / f2), followed by the map: x = prox(lambda +
// d, s) with s = d / (f1 - f2), so that for a clip to +-coupling it is the built-in one of l1, bit for bit.
//
// With a tiny step the map tells the slack that W leaves lambda: r is how far f1 - f2 is from the nearest
// such one, and r (x - lambda) what is to be gained to second order, twice, or to first order where the map
// stops the step; for a clip that is the duality gap of l1. Second derivatives may be wrong where tokens are
// sure of their topics: a pair is done when that gap is small and no |r| above slack_tol. The integral of W*'
// between two points, by Gauss's rule, tells how much W* rises, and that from 0 what it is. A map that does
// not move with its argument holds its topic there.
//
// One call serves all topics of a pair: the function is compiled into a loop over arrays, and its address is
// all there is here. At 100 topics a call takes 0.03 microseconds where that loop is vectorised, and the
// arithmetic around it twice that; an evaluation of h takes 1 to 5.

#include <vector>

#include "kernels/simd/duals.h"
#include "models/cplsa.h"

namespace semproj {

struct ProximalStep {
  double gap;      // what is missing of the minimum, or up to twice that
  double slack;    // the largest |r|
  double missing;  // of the minimum
};

class ProximalMap {
 public:
  ProximalMap(const Coupling& coupling, int64_t n_topics, Isa isa);

  explicit operator bool() const { return function_ != nullptr; }

  // The step from `from`, whose fractions are f1 and f2, by d, each cut to +-most. Where the gap is seen to
  // be more than is allowed, no more is found out. It is not a number if the function failed; so are results
  // below.
  ProximalStep step(const float* from, const float* d, const float* f1, const float* f2, const float* scales,
                    float most, double allowed, float* out);
  // 1 for topics that moved the last step, 0 for those that the map holds.
  void free_topics(float* out);
  // To the nearest point where the conjugate is finite.
  void cut_to_domain(float* x);
  // The conjugate's rise from one point to another, and what it is.
  template <class T>
  double rise(const T* from, const T* to);
  template <class T>
  double conjugate(const T* at) {
    return rise<T>(nullptr, at);
  }

  // The same in double: a step from `from` with these steps, one for each topic, and fractions.
  ProximalStep step(const double* from, const double* steps, const double* f1, const double* f2,
                    double allowed, double* out);
  // out = prox(duals, steps).
  bool apply(const double* duals, const double* steps, double* out);

  // The call that went wrong, of this pair so far.
  const FailedCall& failure() const { return failure_; }
  void begin_pair() { failure_ = {}; }

 private:
  bool call(const double* duals, const double* steps);
  ProximalStep measure(double allowed);

  double slopes(double part);

  const simd::DualTable& table_;
  ProximalFunction function_;
  int64_t n_topics_, n_;
  std::vector<double> coupling_, from_, duals_, steps_, slacks_, tiny_steps_, no_steps_, out_, kept_;
  std::vector<double> points_, start_, way_, weights_, ones_;
  FailedCall failure_;
};

}  // namespace semproj
