#pragma once
// Probabilistic latent semantic analysis by MAP EM (see kernels/topics.h for the equations and their cost).

#include "kernels/topics.h"

namespace semproj {

struct TopicPriors {
  double alpha;          // of a document's topics, at least 1
  double beta;           // of a topic's words
  double tempering = 1;  // the power of words in posteriors
};

// All of the parameters before the sweep; not a number when counts are too large for float32.
struct TopicObjective {
  double log_likelihood;
  double log_prior;  // (alpha - 1) sum of log theta + (beta - 1) sum of log phi
};

// One sweep: theta (documents x T) and words become the next ones; without `update` only the objective.
TopicObjective plsa_sweep(TopicCorpus& corpus, TopicWords& words, const MatrixView<float>& theta,
                          const TopicPriors& priors, bool update, int n_threads, Isa isa);

// theta of documents, words fixed: `iterations` of EM from the uniform one. Words of probability zero are
// left out. A row's bits do not depend on the others. False when counts are too large for float32.
bool fold_in(const CsrView<int32_t, float>& documents, const TopicWords& words, double alpha,
             int64_t iterations, const MatrixView<float>& theta, int n_threads, Isa isa);

// sum of n log p(w | d), and of n, over tokens that have a probability.
TokenSums token_likelihood(const CsrView<int32_t, float>& documents, const TopicWords& words,
                           const MatrixView<const float>& theta, int n_threads, Isa isa);

// The same of each half of a document's tokens, by the mixture that `fold_in` finds for the other half. A
// token goes to a half by a coin of (key, what the document has, word); of more than 64 tokens of a word the
// others are halved, and what is left of a fraction goes by a coin of its own. A word that only topics have
// which the mixture excludes counts as one of kLeastProbability; words without a topic are left out.
TokenSums document_completion(const CsrView<int32_t, float>& documents, const TopicWords& words, double alpha,
                              int64_t iterations, uint64_t key, int n_threads, Isa isa);

}  // namespace semproj
