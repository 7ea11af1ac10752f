#pragma once
// The exchange algorithm for word classes (Kneser and Ney 1993; Martin, Liermann and Ney 1998).
//
// Words have one class each. With N(c, d) how often a word of class d follows one of class c, g(n) = n log n,
// and the text a circle, so that each class is as often a left as a right neighbor, the log likelihood of the
// class bigram model is
//     F = sum of g(N(c, d)) over pairs of classes - 2 sum of g(N(c)) over classes + sum of g(N(w)) over words
// and the last sum does not depend on classes. A sweep takes words in their order, and puts each in the class
// that makes F largest.
//
// Exact F after every move. The best class of the words of a batch is found for the classes as they were when
// the batch began, in parallel; then the moves are made in order, each only if F, with the counts as they are
// by then, gets larger. Batches depend on nothing but the number of words, so neither do the classes.
//
// Cost of a word: C for each class that is beside it, and one for each different word. Memory: 16 C^2 bytes
// for C classes. Counts are integers, gains are sums of doubles.

#include <cstdint>

#include "lm/word_pairs.h"

namespace semproj::lm {

struct ExchangeSweep {
  int64_t moves;
  double log_likelihood;  // natural, of all pairs
};

// `classes` has a number below n_classes for each word. Words of classes below n_free are moved, in their
// order, among these; the last word of a class stays in it.
ExchangeSweep exchange_words(const WordPairs& pairs, int32_t* classes, int64_t n_classes, int64_t n_free,
                             int n_threads);

// F of classes as they are.
double class_log_likelihood(const WordPairs& pairs, const int32_t* classes, int64_t n_classes);

}  // namespace semproj::lm
