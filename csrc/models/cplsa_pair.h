#pragma once
// The projection of the posteriors of one pair of documents (see cplsa.h), and a worker's memory for it:
// about 20 rows of topics.

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernels/simd/rows.h"
#include "models/cplsa_descent.h"

namespace semproj {

constexpr float kLeastFraction = 1e-20f;  // below it, topics are alike

// Its steps are in cplsa_steps.cc.
class PairProjector {
 public:
  // With `posteriors`, a pair is done only if float32 has room for the posteriors of its tokens.
  PairProjector(const TopicWords& first, const TopicWords& second, const Coupling& coupling, bool posteriors,
                Isa isa);

  // Rows that the caller fills before it projects: the mixtures and where lambda starts.
  float* theta(int side) { return sides_[side].theta.get(); }
  float* multipliers() { return multipliers_.get(); }

  // Leaves lambda in multipliers(), and the tilted mixtures and ratios with which posteriors are made.
  PairOutcome project(const SideTokens& first, const SideTokens& second, float* ratios_first,
                      float* ratios_second);
  float* tilted(int side) { return sides_[side].tilted.get(); }
  const float* fractions(int side) const { return sides_[side].fractions.get(); }

  // The tilted mixture becomes what EM makes of the side's expected counts.
  bool update_tilted(int side, float prior) { return sides_[side].pass.update(tilted(side), prior); }

  const simd::TopicTable& table() const { return table_; }
  // The call of a user's function that went wrong in the last pair.
  const FailedCall& failure() const { return prox_.failure(); }

 private:
  static constexpr int64_t kRemembered = 6;
  static constexpr float kLeastSharpness = 0.05f;

  struct Side {
    Side(const TopicWords& words, Isa isa)
        : pass(words, isa),
          theta(pass.new_row()),
          tilted(pass.new_row()),
          fractions(pass.new_row()),
          kept(pass.new_row()),
          squares(pass.new_row()) {}
    DocumentPass pass;
    AlignedArray<float> theta, tilted, fractions, kept, squares;
    SideTokens tokens{};
    float* ratios = nullptr;
    double mass = 0;
  };

  struct Evaluation {
    double value;  // h
    double gap;
    double slack = 0, missing = 0;
  };

  Evaluation evaluate(const float* multipliers, bool first = false);
  void evaluate_sides(const float* multipliers, bool squares, TokenSums (&sums)[2]);
  bool has_all(const TokenSums (&sums)[2]) const;
  template <class Solver>
  PairOutcome project_in_double(std::unique_ptr<Solver>& solver, int64_t evaluations);
  bool words_can_add() const;
  // The fractions of where we are, kept while a candidate is evaluated.
  void exchange_fractions();
  // How much less than f1 / n1 + f2 / n2 the second derivatives are; or, from then on, not at all.
  void measure_sharpness();
  void use_bound();
  // 1 / (1 / n1 + 1 / n2), cut so that float32 has room for it over any sharpness.
  float mass_of_bound() const {
    const double mass = 1 / (1 / sides_[0].mass + 1 / sides_[1].mass);
    return static_cast<float>(std::min(mass, kLargestLambda * static_cast<double>(kLeastSharpness)));
  }
  // The coupling of this pair, as far as float32 can follow it; 0 with an empty side.
  double followed_coupling() const {
    const double furthest = kLargestTilt * std::min(sides_[0].mass, sides_[1].mass);
    return std::min({prox_ ? furthest : coupling_.weight, furthest, kLargestLambda});
  }
  double allowed() const { return coupling_.allowed_gap(sides_[0].mass + sides_[1].mass); }
  bool one_is_empty() const { return !(sides_[0].mass > 0 && sides_[1].mass > 0); }
  double missing(const Evaluation& at) const;
  double regularised(const Evaluation& at);

  // step_ = the next lambda from the fractions of the last evaluation.
  void plain_step();
  ProximalStep proximal_step(const float* multipliers);
  void step_in_ball();
  // candidate_ = Anderson's combination of this step and those before; false when there is nothing to
  // combine.
  bool combine_steps();
  void remember_step();
  void cut_to_constraint(float* multipliers) const;

  Coupling coupling_;
  ProximalMap prox_;
  bool posteriors_;
  double weight_ = 0;  // followed_coupling()
  std::array<const TopicWords*, 2> words_;
  const simd::TopicTable& table_;
  const simd::RowTable<float>& rows_;
  int64_t n_topics_, stride_;
  std::array<Side, 2> sides_;
  AlignedArray<float> multipliers_, step_, candidate_, weights_, residual_, last_step_;
  AlignedArray<float> gradient_, curvature_, free_, sharpness_, scales_, nothing_, moves_;
  AlignedArray<float> residual_changes_, step_changes_;  // kRemembered rows each
  int64_t n_remembered_ = 0, n_steps_ = 0;
  bool evaluated_ = false;  // this pair, so that its rows may be in cache
  bool second_first_ = false;
  bool bounded_ = false;                // whether steps are those of the bound
  bool lost_tokens_ = false;            // by tilting
  double stiffness_ = 1;                // of the quadratic of step_in_ball
  std::unique_ptr<PairNewton> newton_;  // made when a pair needs it
  std::unique_ptr<PairDescent> descent_;
};

}  // namespace semproj
