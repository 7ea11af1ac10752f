#pragma once
// The projection of a pair (see cplsa.h) by Newton's method in double: for the few pairs where steps topic by
// topic in float32 lead nowhere, as those with tokens that are sure of their topics until lambda is large.
//
// A step minimises the quadratic of h within a box of its own, |d_t| <= radius, and that of lambda (l1). In
// such a box of one nat the Hessian changes by a constant factor only, so that a constant part of what the
// best lambda in reach has to offer is gained by each: it converges, however sharp posteriors are, and
// quadratically in the end (box-constrained Newton, as for the scaling of matrices). The radius grows where
// the quadratic tells the truth and shrinks where it does not. The quadratic is minimised by conjugate
// gradients on the topics that no bound holds, projected onto the box (More and Toraldo 1991).
//
// For the l2 ball, h + mu |lambda|^2 / 2 is minimised, for the mu that makes lambda as long as the coupling.
//
// Cost: a step is an evaluation and some tens of products with the Hessian, each as much as an evaluation.

#include <vector>

#include "models/cplsa_dual.h"

namespace semproj {

struct PairOutcome {
  double log_likelihood;
  double gap;
  int64_t evaluations;
  bool converged;
};

class PairNewton {
 public:
  PairNewton(const TopicWords& first, const TopicWords& second, const Coupling& coupling)
      : coupling_(coupling), dual_(first, second) {}

  void set_side(int side, const float* theta, const SideTokens& tokens) {
    dual_.set_side(side, theta, tokens);
  }
  const float* counts(int side) const { return dual_.counts(side); }

  // From these multipliers, which become the best ones, rounded; results are those of what they were before.
  PairOutcome minimise(int64_t max_evaluations, float* multipliers);
  const std::vector<double>& fractions(int side) const { return now_.fractions[side]; }
  bool tilted_in_float32(int side, float* tilted) { return dual_.tilted_in_float32(now_, side, tilted); }

 private:
  // Until the gap, or in the ball what is left of the gradient, is at most `target`, or rounding ends it.
  void descend(double mu, double target);
  void minimise_in_ball(double target);
  double next_mu(double mu, double length);
  double gap() const;
  double left_of_gradient(double mu) const;
  // step_ = the best of the quadratic model in the box; returns by how much it is better than none.
  double minimise_model(double mu);
  bool move_in_box(double part, double& value);
  double part_inside() const;
  double free_residual() const;
  void conjugate_gradients(double residual);
  void multiply(const std::vector<double>& v);  // product_ = (H + ridge) v

  Coupling coupling_;
  PairDual dual_;
  PairDual::Point now_, trial_;
  double bound_ = 0, shorter_ = 0, radius_ = 0, solved_ = 0;
  int64_t evaluations_ = 0, most_evaluations_ = 0;
  std::vector<double> gradient_, ridge_, diagonal_, low_, high_;
  std::vector<double> step_, next_, residual_, direction_, rest_, search_, product_;
  std::vector<char> free_;
};

}  // namespace semproj
