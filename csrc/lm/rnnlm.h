#pragma once
// A recurrent language model with a softmax over classes of words and over the words of a class (Elman
// network; Mikolov and others 2010, 2011), trained by truncated back-propagation through time.
//
//   s(t) = f(U w(t) + R s(t-1) + b)
//   P(class c) = softmax over classes of (A s(t) + a)
//   P(word v of class c) = softmax over the words of c of (W s(t) + w)
//   the probability of the next word is that of its class times that of itself in it.
//
// Training takes B streams of text side by side, T steps at a time: a block is N = B T tokens, and all its
// work is matrix products. Rows that a block does not touch (words that are not read, classes that are not
// met) cost nothing. With h units and C classes, a block costs 6 N h (h + C + words of a class) flops and
// reads and writes W's rows of the classes it meets. One step of Adagrad follows each block.
//
// Threads: a task is a group of streams, a block of tokens, a class, or a block of rows; each owns what it
// writes and all sums have one order, so that bits do not depend on the number of threads. Everything is of T
// (float, or double for tests); sums of log-probabilities are of double. Memory: 4 N h + N C, and the words
// of classes that a block meets, times how often.

#include "core/cpu.h"
#include "core/views.h"
#include "kernels/simd/neurons.h"

namespace semproj {

// Words have ids; those that can be predicted also have places, in the order of their classes. Class c has
// places [class_begin[c], class_begin[c + 1]).
struct WordClassing {
  const int64_t* class_begin;
  int64_t n_classes;
  const int32_t *place_of, *class_of;  // by id; place -1: never predicted
};

// The weights, or what an optimiser keeps of each: `sums` of a matrix may have one column.
template <class T>
struct RnnWeights {
  MatrixView<T> input;      // U by words: a row for each id
  MatrixView<T> recurrent;  // R
  MatrixView<T> classes;    // A
  MatrixView<T> words;      // W, a row for each place
  T *hidden_bias, *class_bias, *word_bias;
};

struct RnnText {
  const int32_t* ids;  // what is to be predicted: words, and `end` after each sentence
  int64_t n_ids;
  int32_t begin, end;  // what is read first, in place of the end of a sentence
};

struct RnnTraining {
  simd::Neuron neuron;
  int64_t n_streams, n_steps;    // B and T
  bool across_sentences;         // whether s is kept at the end of a sentence; otherwise it becomes 0
  double first_rate, last_rate;  // falls evenly from block to block
  double clip;                   // of each element of a gradient by what goes into a unit
};

// Goes through the text once and changes weights and sums. Returns the sum of natural logarithms of the
// probabilities that words had before they were learnt. The caller sees to it that BLAS runs single-threaded
// meanwhile.
template <class T>
double rnn_train(const RnnText& text, const WordClassing& classing, const RnnWeights<T>& weights,
                 const RnnWeights<T>& sums, const RnnTraining& training, Isa isa, int n_threads);

// Sentence i is ids[offsets[i], offsets[i + 1]); the word before its first is `first`. Writes the natural
// logarithm of the probability of each. Fast if sentences of about one length follow each other.
template <class T>
void rnn_score(const int32_t* ids, const int64_t* offsets, int64_t n_sentences, int32_t first,
               const WordClassing& classing, const RnnWeights<const T>& weights, simd::Neuron neuron,
               double* log_probs, Isa isa, int n_threads);

}  // namespace semproj
