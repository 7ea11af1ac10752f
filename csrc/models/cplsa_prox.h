#pragma once
// A user's penalty of the slack f1 - f2 of a pair (see cplsa.h), known by a proximal map alone.
//
// With a penalty W of a topic's slack, h + W*(lambda) is to be minimised, W* the conjugate of W: that of the
// l1 norm is 0 where |lambda| <= coupling, and infinite elsewhere. The user's function is
//
//   prox(dual, coupling, step) = argmin_x  step W*(x) + (x - dual)^2 / 2
//
// A step is that of the bound of h (cplsa.h), d = scale log(f1 / f2), followed by the map: x = prox(lambda +
// d, s) with s = d / (f1 - f2), so that for a clip to +-coupling it is the built-in one of l1, bit for bit. As
// s is the inverse of a second derivative, (x - lambda)^2 / s is twice what h + W* has above its minimum, to
// second order; that is the gap.
//
// One call serves all topics of a pair: the function is compiled into a loop over arrays, and its address is
// all there is here. At 100 topics and 200 tokens an evaluation of h is 5 microseconds, and the calls around it
// are 0.2 where the loop is vectorised.
//
// What else is needed is found by the map too. W*' (u) is (u - prox(u)) / s for a tiny s: its integral between
// two points, by Gauss's rule, tells how much W* rises, and that from 0 what it is. A map that does not move
// with its argument holds its topic there.

#include <vector>

#include "models/cplsa.h"

namespace semproj {

class ProximalMap {
 public:
  ProximalMap(const Coupling& coupling, int64_t n_topics);

  explicit operator bool() const { return function_ != nullptr; }

  // The step from `from`, whose fractions are f1 and f2, by d, each cut to +-most. Returns the gap; not a
  // number if the function failed, here and below.
  double step(const float* from, const float* d, const float* f1, const float* f2, const float* scales,
              float most, float* out);
  // 1 for topics that moved the last step, 0 for those that the map holds.
  void free_topics(float* out);
  // To the nearest point where the conjugate is finite.
  void cut_to_domain(float* x);
  // The conjugate's rise from one point to another, and what it is.
  double rise(const float* from, const float* to);
  double conjugate(const float* at) { return rise(nullptr, at); }

  // The call that went wrong, of this pair so far.
  const FailedCall& failure() const { return failure_; }
  void begin_pair() { failure_ = {}; }

 private:
  bool call(const double* duals, const double* steps);

  ProximalFunction function_;
  int64_t n_topics_, n_;
  double tiny_ = 1;  // step of the integrals
  std::vector<double> coupling_, from_, duals_, steps_, tiny_steps_, out_, kept_;
  std::vector<double> points_, start_, way_;
  FailedCall failure_;
};

}  // namespace semproj
