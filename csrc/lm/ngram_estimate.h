#pragma once
// The estimation of a back-off n-gram model: counts once, then one order after the other.

#include <cstdint>
#include <memory>
#include <vector>

#include "lm/discounts.h"
#include "lm/ngram_sink.h"
#include "lm/ngram_text.h"
#include "lm/workspace.h"

namespace semproj::lm {

struct NGramOptions {
  int order = 3;
  Smoothing smoothing = Smoothing::kneser_ney;
  int katz_k = 5;                   // Good-Turing discounts counts up to this one
  std::vector<int64_t> min_counts;  // of each order, at its number; they do not fall
};

class NGramEstimation {
 public:
  virtual ~NGramEstimation() = default;

  // Sorts the n-grams of the highest order; the text is forgotten.
  virtual void sort(NGramText& text) = 0;
  // Counts those of all orders, and finds discounts.
  virtual void count() = 0;
  // Of each order, at its number.
  const std::vector<Discount>& discounts() const { return discounts_; }
  const std::vector<int64_t>& counts() const { return counts_; }
  // Probabilities of an order, from 1 up to the highest; hands the n-grams of the order below to the sink.
  virtual void smooth(int order, NGramSink& sink) = 0;
  // Hands those of the highest order to the sink. All is over then.
  virtual void finish(NGramSink& sink) = 0;

 protected:
  std::vector<Discount> discounts_;
  std::vector<int64_t> counts_;
};

// By the words that were chosen. The workspace must live as long.
std::unique_ptr<NGramEstimation> make_estimation(Workspace* workspace, const NGramOptions& options,
                                                 const ChosenWords& words, int n_threads);

}  // namespace semproj::lm
