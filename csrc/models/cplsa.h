#pragma once
// Coupled PLSA (Platt, Toutanova and Yih 2010, section 2.5): the documents of a pair have mixtures of their
// own, and the expected fractions of topics f1, f2 of their tokens are tied by posterior regularisation.
//
// Of all posteriors q, those that minimise KL(q || p) + coupling ||f1 - f2|| are
//
//   q1(t | w) ~ theta1_t exp(-lambda_t / n1) phi_tw      q2(t | w) ~ theta2_t exp(+lambda_t / n2) phi_tw
//
// with the lambda that minimises the convex h = sum_w n_w log Z_w(lambda), Z the sums over t, among those
// with |lambda_t| <= coupling for the l1 norm, |lambda| <= coupling for l2. Its gradient is f2 - f1; h at the
// minimum is the regularised log likelihood of the pair. An evaluation is that of two documents with tilted
// mixtures: exponentials for each topic, none for tokens, and all that EM needs is what the last one leaves.
//
// By Jensen's inequality h(lambda + d) - h(lambda) <= n1 (sum f1 exp(-d / n1) - 1) + n2 (sum f2 exp(d / n2) -
// 1), where every topic is by itself and has its minimum at d = log(f1 / f2) / (1 / n1 + 1 / n2): a step that
// cannot raise h, cut to the interval if need be. Its curvature, f1 / n1 + f2 / n2, is that of h only where
// no token is sure of its topic. So the first evaluation also sums squared posteriors, and steps are longer
// by bound over true second derivative, up to 20 times; they are accelerated by Anderson's method over the
// last few. One that raises h is taken back and done by the bound alone. For the l2 ball, steps minimise a
// quadratic of the same curvature.
//
// A pair is done when its gap is at most tol (n1 + n2), where the gap is coupling ||f1 - f2|| - lambda . (f1
// - f2), an upper bound of what is missing of the minimum, or when the fractions are equal up to rounding;
// for an infinite coupling when max |f1 - f2| is at most tol. Where these steps give up, as rounding or flat
// stretches of h keep the gap from falling, Newton's method in double takes over (cplsa_newton.h). It gives
// up after max_evaluations of both, with one more where the last step is taken back. An infinite coupling
// counts as 20 n of the shorter document: that moves a token against odds of e^40 already, and pairs that
// would need more are not done. Nor are those whose posteriors float32 has no room for.
//
// Cost: an evaluation is 2 T multiply-adds for each non-zero of the pair, on rows that the first has brought
// into the second-level cache; about 20 operations on T numbers are between two of them.

#include <cmath>

#include "kernels/topics.h"

namespace semproj {

constexpr double kLargestTilt = 20;  // nats that a token's topic is moved by: more would underflow in float32
constexpr double kLargestLambda = 1e38;   // float32 has room for the sum of two
constexpr float kLargestProduct = 1e37f;  // of a token's ratio and a tilted mixture, which words add up

// out = a user's proximal map of n topics, see cplsa_prox.h; not 0 if it raised.
using ProximalFunction = int32_t (*)(const double* duals, const double* couplings, const double* steps,
                                     double* out, int64_t n);

struct Coupling {
  double weight;  // may be infinite
  bool l2;
  double tol;
  int64_t max_evaluations;
  ProximalFunction prox = nullptr;  // of another penalty than the norms
  double slack_tol = 0;             // of its slack, see cplsa_prox.h

  // Fractions are made equal.
  bool equal() const { return prox == nullptr && std::isinf(weight); }

  // Of a pair that is done.
  double allowed_gap(double tokens) const {
    constexpr double kFractionRounding = 5e-7;  // of ||f1 - f2||
    if (equal()) return tol;
    return tol * tokens + (std::isinf(weight) ? 0.0 : kFractionRounding * weight);
  }
};

// What a user's function was given when it raised, or what it returned was not finite.
struct FailedCall {
  bool failed = false, raised = false;
  double dual = 0, coupling = 0, step = 0;
};

struct CoupledSweep {
  double log_likelihood;  // regularised
  double log_prior;
  int64_t evaluations;
  int64_t failed_pair = -1;  // the first whose call failed: nothing of the sweep is of use
  FailedCall failure{};
};

// One of each for a pair.
struct PairReports {
  double* gaps;
  uint8_t* converged;
};

// One sweep over the pairs of documents 2 i and 2 i + 1. `multipliers` (pairs x T) are where lambda starts
// and become what it was. Without `update` theta and words stay. A likelihood that is not a number says that
// counts are too large for float32.
CoupledSweep cplsa_sweep(TopicCorpus& corpus, TopicWords& words, const MatrixView<float>& theta,
                         const MatrixView<float>& multipliers, const PairReports& reports, double alpha,
                         double beta, const Coupling& coupling, bool update, int n_threads, Isa isa);

struct PairSide {
  const CsrView<int32_t, float>& documents;
  const TopicWords& words;
  MatrixView<const float> theta;
  MatrixView<float> fractions;  // out
};

// The projections of pairs by themselves; `evaluations` are negative for pairs that did not converge.
void project_posteriors(const PairSide& first, const PairSide& second, const MatrixView<float>& multipliers,
                        double* gaps, int64_t* evaluations, const Coupling& coupling, int n_threads, Isa isa);

}  // namespace semproj
