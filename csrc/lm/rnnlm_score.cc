#include <cmath>

#include "core/aligned.h"
#include "core/parallel.h"
#include "lm/rnnlm_layers.h"

namespace semproj {
namespace {

constexpr int64_t kSentences = 32, kSteps = 32;  // of a task, and of a piece of it
constexpr int64_t kRoom = int64_t{1} << 20;      // logits of words at a time

// The work of one thread: some sentences side by side.
template <class T>
class Scorer {
 public:
  Scorer(const WordClassing& classing, const RnnWeights<const T>& w, simd::Neuron neuron, Isa isa)
      : classing_(classing),
        w_(w),
        neuron_(neuron),
        table_(dense_table<T>(isa).neurons),
        h_(w.recurrent.rows),
        by_class_(classing, kTokens),
        states_(aligned_array<T>(static_cast<size_t>((kTokens + kSentences) * h_))),
        gathered_(aligned_array<T>(static_cast<size_t>(kTokens * h_))),
        class_logits_(aligned_array<T>(static_cast<size_t>(kTokens * classing.n_classes))),
        word_logits_(aligned_array<T>(static_cast<size_t>(std::max(kRoom, widest())))) {}

  // Sentences [begin, end), of which none is longer than the one before it.
  void score(const int32_t* ids, const int64_t* offsets, const int64_t* order, int64_t n, int32_t first,
             double* log_probs) {
    // The states before a piece lie before its first step.
    std::fill_n(states_.get(), kSentences * h_, T{});
    const auto length = [&](int64_t i) { return offsets[order[i] + 1] - offsets[order[i]]; };
    int64_t alive = n;
    for (int64_t begin = 0; alive > 0; begin += kSteps) {
      check_interrupt();
      int64_t tokens = 0, last = 0;  // where the newest states are
      const T* previous = states_.get();
      for (int64_t t = begin; t < begin + kSteps; ++t) {
        while (alive > 0 && length(alive - 1) <= t) --alive;
        if (alive == 0) break;
        int32_t inputs[kSentences];
        for (int64_t i = 0; i < alive; ++i) {
          const int64_t at = offsets[order[i]] + t;
          inputs[i] = t == 0 ? first : ids[at - 1];
          places_[tokens + i] = at;
          targets_[tokens + i] = ids[at];
        }
        T* states = states_.get() + (kSentences + tokens) * h_;
        hidden_step(w_, neuron_, table_, inputs, alive, previous, states);
        previous = states;
        last = alive;
        tokens += alive;
      }
      output(tokens, log_probs);
      if (tokens > 0) std::copy_n(previous, last * h_, states_.get());
    }
  }

 private:
  static constexpr int64_t kTokens = kSentences * kSteps;

  int64_t widest() const {
    int64_t most = 1;
    for (int64_t c = 0; c < classing_.n_classes; ++c) {
      most = std::max(most, classing_.class_begin[c + 1] - classing_.class_begin[c]);
    }
    return most;
  }

  void output(int64_t tokens, double* log_probs) {
    const T* states = states_.get() + kSentences * h_;
    const int64_t n_classes = classing_.n_classes;
    logits_of(states, tokens, w_.classes, w_.class_bias, class_logits_.get());
    by_class_.sort(targets_, tokens);
    for (int64_t i = 0; i < tokens; ++i) {
      log_probs[places_[i]] =
          table_.log_share(class_logits_.get() + i * n_classes, n_classes, classing_.class_of[targets_[i]]);
    }
    for (int64_t c = 0; c < n_classes; ++c) {
      const auto rows = rows_of_class(w_.words, classing_, c);
      if (by_class_.count(c) == 0 || rows.rows <= 1) continue;
      const int64_t at_once = std::max<int64_t>(1, kRoom / rows.rows), begin = classing_.class_begin[c];
      for (int64_t k = 0; k < by_class_.count(c); k += at_once) {
        const int32_t* which = by_class_.tokens(c) + k;
        const int64_t n = std::min(at_once, by_class_.count(c) - k);
        for (int64_t i = 0; i < n; ++i) std::copy_n(states + which[i] * h_, h_, gathered_.get() + i * h_);
        logits_of(static_cast<const T*>(gathered_.get()), n, rows, w_.word_bias + begin, word_logits_.get());
        for (int64_t i = 0; i < n; ++i) {
          log_probs[places_[which[i]]] += table_.log_share(word_logits_.get() + i * rows.rows, rows.rows,
                                                           classing_.place_of[targets_[which[i]]] - begin);
        }
      }
    }
  }

  WordClassing classing_;
  RnnWeights<const T> w_;
  simd::Neuron neuron_;
  const simd::NeuronTable<T>& table_;
  int64_t h_;
  TokensByClass by_class_;
  AlignedArray<T> states_, gathered_, class_logits_, word_logits_;
  int64_t places_[kTokens];
  int32_t targets_[kTokens];
};

}  // namespace

template <class T>
void rnn_score(const int32_t* ids, const int64_t* offsets, int64_t n_sentences, int32_t first,
               const WordClassing& classing, const RnnWeights<const T>& weights, simd::Neuron neuron,
               double* log_probs, Isa isa, int n_threads) {
  std::vector<int64_t> order(static_cast<size_t>(n_sentences));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return offsets[i + 1] - offsets[i] > offsets[j + 1] - offsets[j];
  });
  std::vector<std::unique_ptr<Scorer<T>>> scorers(static_cast<size_t>(n_threads));
  parallel_for(block_count(n_sentences, kSentences), n_threads, [&](int64_t task, int worker) {
    auto& scorer = scorers[static_cast<size_t>(worker)];
    if (scorer == nullptr) scorer = std::make_unique<Scorer<T>>(classing, weights, neuron, isa);
    const Block block = block_at(n_sentences, kSentences, task);
    scorer->score(ids, offsets, order.data() + block.begin, block.end - block.begin, first, log_probs);
  });
}

template void rnn_score(const int32_t*, const int64_t*, int64_t, int32_t, const WordClassing&,
                        const RnnWeights<const float>&, simd::Neuron, double*, Isa, int);
template void rnn_score(const int32_t*, const int64_t*, int64_t, int32_t, const WordClassing&,
                        const RnnWeights<const double>&, simd::Neuron, double*, Isa, int);

}  // namespace semproj
