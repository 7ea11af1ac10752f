#pragma once
// The dual function h of a pair of documents (see cplsa.h), in double, at any lambda: what Newton's method
// for pairs that single precision cannot follow is made of.
//
// Odds of topics are exponentials of what lies below the largest of a document; where they would underflow,
// of the largest that a word has. So no lambda is too far, and only tokens count that plain EM counts too:
// those of probability at least kLeastProbability at lambda = 0.
//
// Cost: an evaluation and a product with the Hessian are 2 T multiply-adds for each non-zero, and T
// exponentials for a document, or for a word. Memory: 8 T bytes for each non-zero at a point.

#include <array>
#include <vector>

#include "models/cplsa.h"

namespace semproj {

struct SideTokens {
  const int32_t* words;
  const float* counts;
  int64_t n;
};

class PairDual {
 public:
  struct Point {
    std::vector<double> lambda;
    double value = 0;                               // h
    std::array<std::vector<double>, 2> fractions;   // f1, f2
    std::array<std::vector<double>, 2> posteriors;  // T of each token
  };

  PairDual(const TopicWords& first, const TopicWords& second);

  void set_side(int side, const float* theta, const SideTokens& tokens);
  double mass(int side) const { return sides_[side].mass; }
  // The counts of a side's tokens, zeros for those that are left out.
  const float* counts(int side) const { return sides_[side].counts.data(); }
  int64_t n_topics() const { return n_topics_; }

  void evaluate(Point& at);
  // out = H v, of the Hessian H at a point, and its diagonal. H has no positive element beside its diagonal.
  void multiply(const Point& at, const double* v, double* out) const;
  void diagonal(const Point& at, double* out) const;

  // theta exp(-+ lambda / n) of a side up to a factor, for posteriors in float32: no token's probability
  // falls below what it was without lambda. False when float32 has no such row that leads to the same
  // fractions.
  bool tilted_in_float32(const Point& at, int side, float* tilted);

 private:
  struct Side {
    const TopicWords& words;
    SideTokens tokens{};
    const float* theta = nullptr;
    std::vector<double> logs{};  // of theta
    std::vector<float> counts{};
    double mass = 0, inverse = 0, sign = 1;

    const float* row(int64_t i) const { return words.data() + tokens.words[i] * words.stride(); }
  };

  template <class Add>
  void add_tokens(const Point& at, double* out, const Add& add) const;
  void tilt_with_steps(const Side& side, const Point& at, double most, float* tilted);

  int64_t n_topics_;
  std::array<Side, 2> sides_;
  std::vector<double> exponents_, odds_;
  std::vector<int64_t> order_;
};

}  // namespace semproj
