#pragma once
// What training and scoring of a recurrent language model have in common: the hidden layer's steps, and which
// tokens have which class.

#include <algorithm>
#include <vector>

#include "core/blas.h"
#include "kernels/dispatch.h"
#include "lm/rnnlm.h"

namespace semproj {

template <class T>
RnnWeights<const T> read_only(const RnnWeights<T>& w) {
  const auto view = [](const MatrixView<T>& m) {
    return MatrixView<const T>{m.data, m.rows, m.cols, m.stride};
  };
  return {view(w.input), view(w.recurrent), view(w.classes), view(w.words),
          w.hidden_bias, w.class_bias,      w.word_bias};
}

// One step of n streams: states = f(inputs' rows of U + previous R' + b).
template <class T>
void hidden_step(const RnnWeights<const T>& w, simd::Neuron neuron, const simd::NeuronTable<T>& table,
                 const int32_t* inputs, int64_t n, const T* previous, T* states) {
  const int64_t h = w.recurrent.rows;
  for (int64_t i = 0; i < n; ++i) {
    std::copy_n(w.input.row(inputs[i]), h, states + i * h);
    table.add(states + i * h, w.hidden_bias, h);
  }
  const auto size = static_cast<int>(h);
  gemm(false, true, static_cast<int>(n), size, size, T{1}, previous, size, w.recurrent.data,
       static_cast<int>(w.recurrent.stride), T{1}, states, size);
  table.activate(neuron, states, n * h);
}

// out (n x rows) = states M' + bias
template <class T>
void logits_of(const T* states, int64_t n, const MatrixView<const T>& m, const T* bias, T* out) {
  for (int64_t i = 0; i < n; ++i) std::copy_n(bias, m.rows, out + i * m.rows);
  gemm(false, true, static_cast<int>(n), static_cast<int>(m.rows), static_cast<int>(m.cols), T{1}, states,
       static_cast<int>(m.cols), m.data, static_cast<int>(m.stride), T{1}, out, static_cast<int>(m.rows));
}

// The rows of one class, and their biases.
template <class T>
MatrixView<T> rows_of_class(const MatrixView<T>& words, const WordClassing& classing, int64_t c) {
  const int64_t begin = classing.class_begin[c];
  return {words.row(begin), classing.class_begin[c + 1] - begin, words.cols, words.stride};
}

// Tokens in the order of their classes.
class TokensByClass {
 public:
  TokensByClass(const WordClassing& classing, int64_t most)
      : classing_(classing),
        begin_(static_cast<size_t>(classing.n_classes) + 1),
        tokens_(static_cast<size_t>(most)) {}

  // Targets below 0 are none.
  void sort(const int32_t* targets, int64_t n) {
    std::fill(begin_.begin(), begin_.end(), 0);
    for (int64_t i = 0; i < n; ++i) {
      if (targets[i] >= 0) ++begin_[static_cast<size_t>(classing_.class_of[targets[i]]) + 1];
    }
    for (size_t c = 1; c < begin_.size(); ++c) begin_[c] += begin_[c - 1];
    next_.assign(begin_.begin(), begin_.end() - 1);
    for (int64_t i = 0; i < n; ++i) {
      if (targets[i] < 0) continue;
      const auto c = static_cast<size_t>(classing_.class_of[targets[i]]);
      tokens_[static_cast<size_t>(next_[c]++)] = static_cast<int32_t>(i);
    }
  }

  int64_t first(int64_t c) const { return begin_[static_cast<size_t>(c)]; }
  int64_t count(int64_t c) const {
    return begin_[static_cast<size_t>(c) + 1] - begin_[static_cast<size_t>(c)];
  }
  const int32_t* tokens(int64_t c) const { return tokens_.data() + begin_[static_cast<size_t>(c)]; }

 private:
  WordClassing classing_;
  std::vector<int64_t> begin_, next_;
  std::vector<int32_t> tokens_;
};

}  // namespace semproj
