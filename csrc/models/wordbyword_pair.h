#pragma once
// Expected alignments of one sentence pair, under IBM Model 1 and under the HMM of Vogel, Ney and Tillmann
// (1996).

#include <cstdint>
#include <vector>

#include "core/cpu.h"
#include "kernels/simd/rows.h"

namespace semproj {

// How a jump from position i' to position i, d = i - i', is classed: each d up to max_jump in size by itself,
// all longer ones to the left, all longer ones to the right.
struct JumpClasses {
  int max_jump;

  int count() const { return 2 * max_jump + 3; }
  int of(int64_t d) const {
    const int64_t limit = max_jump + 1;
    return static_cast<int>((d < -limit ? -limit : d > limit ? limit : d) + limit);
  }
};

// Row i of `cells` (n x m) has p(target word j | source word i), row 0 the null word's. They are replaced by
// the expected alignments: columns that sum to one. Returns the log likelihood of the pair.
double expect_model1(float* cells, int64_t n, int64_t m, std::vector<float>* scratch);

// Memory for one thread, and what one pair needs beside its cells.
class HmmPair {
 public:
  HmmPair(const JumpClasses& classes, double null_probability, Isa isa);

  // As expect_model1. Position 0 is before the sentence. `words` are the n source words, row w of `jumps` the
  // weights of the classes for jumps from word w. For each position, `statistics` gets 2 classes.count()
  // numbers: the expected jumps, and the exposure, by which they are divided to maximise (see wordbyword.cc).
  double expect(float* cells, int64_t n, int64_t m, const int32_t* words, const float* jumps,
                float* statistics);

 private:
  struct Reach {
    int64_t left, right;
    int first_class;
  };

  void resize(int64_t n, int64_t m);
  Reach reach_of(int64_t from) const;
  void fill_transitions(const int32_t* words, const float* jumps);
  double forward();
  void backward(float* cells);
  void write_statistics(float* statistics) const;

  const simd::RowTable<float>& rows_;
  JumpClasses classes_;
  float p_null_;
  int64_t n_ = 0, m_ = 0, stride_ = 0;
  std::vector<float> step_, back_step_;  // A[i'][i] and its transpose
  std::vector<float> moves_;             // expected moves, before they are multiplied by A
  std::vector<float> emission_;          // [j][i]
  std::vector<float> reach_, occupied_;  // [j][i]: A' u(j-1); u(j), with u(-1) first
  std::vector<float> future_, weighted_, next_, scaled_;
  std::vector<double> total_;  // sum of the jump weights from each position
};

}  // namespace semproj
