#pragma once
// Scores of sentences by a trained Model M:
//   p(w | h) = p(c(w) | h) p(w | h, c(w)),  both of them exp(sum of weights) / Z.
//
// Cost of a word: a step for each feature of the contexts that its history has, an exponential for each
// class, and one for each word of its class that a context mentions. Accumulators are doubles.

#include <cstdint>
#include <span>
#include <vector>

namespace semproj::lm {

// Contexts as a trie, from the roots; its nodes are level by level, and siblings follow each other by rising
// symbols. Node i has the children [children[i], children[i + 1]) and the features [features[i], features[i +
// 1]).
struct ContextTrie {
  std::span<const int64_t> children, features;
  std::span<const int32_t> symbols, labels;
  std::span<const float> weights;

  // A child, or -1.
  int64_t find(int64_t node, int32_t symbol) const;
};

// Words are numbered as in ClassText. The features of roots are those of all labels.
struct ModelM {
  std::span<const int32_t> words;         // number of each id
  std::span<const int64_t> class_starts;  // one more than classes
  ContextTrie class_contexts;             // of the classes: classes before; one root
  ContextTrie word_contexts;              // of the classes: words before; one root, without features
  ContextTrie contexts;                   // of the words: words before; a root for each class
  int order;
};

// What all sentences need; made once.
class ModelMScorer {
 public:
  explicit ModelMScorer(const ModelM& model);

  // Sentence s is ids[starts[s] .. starts[s + 1]). Writes the logarithm to base 10 of each word, of those of
  // sentence s from starts[s] + s on if ends are scored, behind which is that of its end. <s> gets kNever.
  void score(std::span<const int64_t> starts, std::span<const int32_t> ids, bool begin, bool end, double* out,
             int n_threads) const;

  static constexpr double kNever = -99.0;

 private:
  struct Scratch;
  double log_prob(int32_t word, const int32_t* history, Scratch& scratch) const;

  ModelM model_;
  std::vector<int32_t> classes_;       // of words by number
  std::vector<double> base_, base_z_;  // exp(weight) of each word in its class; their sums
  int64_t most_words_ = 0;
};

}  // namespace semproj::lm
