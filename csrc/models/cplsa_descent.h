#pragma once
// The projection of a pair (see cplsa.h) under a user's penalty (cplsa_prox.h), in double: for the few pairs
// where steps topic by topic in float32 lead nowhere. As cplsa_newton.h has it for the norms: a step
// minimises the quadratic of h, plus the conjugate of the penalty, within a box |d_t| <= radius that grows
// where the quadratic tells the truth and shrinks where it does not.
//
// The model is minimised by accelerated proximal gradients, whose momentum starts anew where it leads uphill.
// No curvature of h is more than twice that of the diagonal of its Hessian, so that steps by this diagonal
// cannot fail. In one variable, the least of a convex function within an interval is the least of all, cut to
// the interval: the box needs nothing of the map.
//
// Cost: a step is an evaluation and some tens of products with the Hessian, each as much as an evaluation.

#include <vector>

#include "models/cplsa_newton.h"
#include "models/cplsa_prox.h"

namespace semproj {

class PairDescent {
 public:
  PairDescent(const TopicWords& first, const TopicWords& second, const Coupling& coupling, ProximalMap& prox)
      : coupling_(coupling), prox_(prox), dual_(first, second) {}

  void set_side(int side, const float* theta, const SideTokens& tokens) {
    dual_.set_side(side, theta, tokens);
  }
  const float* counts(int side) const { return dual_.counts(side); }

  // From these multipliers, which become the best ones, rounded; results are those of what they were before.
  PairOutcome minimise(int64_t max_evaluations, float* multipliers);
  const std::vector<double>& fractions(int side) const { return now_.fractions[side]; }
  bool tilted_in_float32(int side, float* tilted) { return dual_.tilted_in_float32(now_, side, tilted); }

 private:
  ProximalStep measure(double allowed);
  // step_ = the best of the model in the box; returns by how much it is better than none.
  double minimise_model();
  void multiply(const std::vector<double>& v);  // product_ = (H + ridge) v
  double gain_of_trial(double predicted);

  Coupling coupling_;
  ProximalMap& prox_;
  PairDual dual_;
  PairDual::Point now_, trial_;
  double radius_ = 0, solved_ = 0;
  std::vector<double> gradient_, ridge_, diagonal_, steps_, step_, next_, ahead_, product_, point_;
};

}  // namespace semproj
