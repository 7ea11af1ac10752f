#include "lm/rnnlm.h"

#include <cmath>

#include "core/aligned.h"
#include "core/parallel.h"
#include "lm/rnnlm_layers.h"

namespace semproj {
namespace {

constexpr int64_t kGroup = 32;    // streams of a task
constexpr int64_t kTokens = 128;  // of a task
constexpr int64_t kRows = 64;     // of a matrix that are changed at a time

template <class T>
class Trainer {
 public:
  Trainer(const RnnText& text, const WordClassing& classing, const RnnWeights<T>& w,
          const RnnWeights<T>& sums, const RnnTraining& training, Isa isa, int n_threads)
      : text_(text),
        classing_(classing),
        w_(w),
        read_(read_only(w)),
        sums_(sums),
        training_(training),
        table_(dense_table<T>(isa).neurons),
        n_threads_(n_threads),
        h_(w.recurrent.rows),
        n_streams_(training.n_streams),
        most_(training.n_streams * training.n_steps),
        by_class_(classing, most_),
        inputs_(static_cast<size_t>(most_)),
        targets_(static_cast<size_t>(most_)),
        from_start_(static_cast<size_t>(most_)),
        log_probs_(static_cast<size_t>(most_)),
        previous_(aligned_array<T>(static_cast<size_t>(most_ * h_))),
        states_(aligned_array<T>(static_cast<size_t>(most_ * h_))),
        errors_(aligned_array<T>(static_cast<size_t>(most_ * h_))),
        carried_(aligned_zeros<T>(static_cast<size_t>(n_streams_ * h_))),
        gathered_(aligned_array<T>(static_cast<size_t>(2 * most_ * h_))),
        class_errors_(aligned_array<T>(static_cast<size_t>(most_ * classing.n_classes))),
        scratch_(aligned_array<T>(static_cast<size_t>(kScratchRows * h_ * n_threads))) {}

  double train() {
    const int64_t length = block_count(text_.n_ids, n_streams_),
                  n_blocks = block_count(length, training_.n_steps);
    double sum = 0;
    for (int64_t i = 0; i < n_blocks; ++i) {
      check_interrupt();
      const double way = static_cast<double>(i) / static_cast<double>(n_blocks);
      rate_ = static_cast<T>(training_.first_rate + way * (training_.last_rate - training_.first_rate));
      const Block steps = block_at(length, training_.n_steps, i);
      n_steps_ = steps.end - steps.begin;
      n_ = n_steps_ * n_streams_;
      read(length, steps.begin);
      go_forward();
      predict_classes();
      predict_words();
      change_classes();
      go_back();
      change_recurrent();
      change_inputs();
      for (int64_t k = 0; k < n_; ++k) sum += log_probs_[static_cast<size_t>(k)];
    }
    return sum;
  }

 private:
  static constexpr int64_t kScratchRows = kRows > kGroup ? kRows : kGroup;

  // Token k is that of stream k % B in step k / B. Behind the end of the text there are none: target -1.
  void read(int64_t length, int64_t first_step) {
    for (int64_t k = 0; k < n_; ++k) {
      const auto at = static_cast<size_t>(k);
      const int64_t step = first_step + k / n_streams_, place = k % n_streams_ * length + step;
      const bool there = place < text_.n_ids;
      targets_[at] = there ? text_.ids[place] : -1;
      const bool starts = !there || place == 0 || text_.ids[place - 1] == text_.end;
      inputs_[at] = starts ? text_.begin : text_.ids[place - 1];
      from_start_[at] = !there || step == 0 || (starts && !training_.across_sentences);
      log_probs_[at] = 0;
    }
    by_class_.sort(targets_.data(), n_);
  }

  template <class Each>
  void for_groups(const Each& each) {
    parallel_for(block_count(n_streams_, kGroup), n_threads_, [&](int64_t task, int worker) {
      const Block streams = block_at(n_streams_, kGroup, task);
      each(streams.begin, streams.end - streams.begin, worker);
    });
  }

  void go_forward() {
    for_groups([&](int64_t begin, int64_t n, int) {
      const T* before = carried_.get() + begin * h_;
      for (int64_t t = 0; t < n_steps_; ++t) {
        const int64_t k = t * n_streams_ + begin;
        T* previous = previous_.get() + k * h_;
        for (int64_t i = 0; i < n; ++i) {
          if (from_start_[static_cast<size_t>(k + i)]) {
            std::fill_n(previous + i * h_, h_, T{});
          } else {
            std::copy_n(before + i * h_, h_, previous + i * h_);
          }
        }
        T* states = states_.get() + k * h_;
        hidden_step(read_, training_.neuron, table_, inputs_.data() + k, n, static_cast<const T*>(previous),
                    states);
        before = states;
      }
      std::copy_n(before, n * h_, carried_.get() + begin * h_);
    });
  }

  // Errors become the gradient of minus the log-probability of classes by states.
  void predict_classes() {
    const auto classes = static_cast<int>(classing_.n_classes), h = static_cast<int>(h_);
    parallel_for(block_count(n_, kTokens), n_threads_, [&](int64_t task, int) {
      const Block tokens = block_at(n_, kTokens, task);
      const int64_t n = tokens.end - tokens.begin;
      T* errors = class_errors_.get() + tokens.begin * classes;
      logits_of(static_cast<const T*>(states_.get()) + tokens.begin * h_, n, read_.classes, read_.class_bias,
                errors);
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(tokens.begin + i);
        if (targets_[at] < 0) {
          std::fill_n(errors + i * classes, classes, T{});
        } else {
          log_probs_[at] = table_.softmax(errors + i * classes, classes, classing_.class_of[targets_[at]]);
        }
      }
      gemm(false, false, static_cast<int>(n), h, classes, T{1}, static_cast<const T*>(errors), classes,
           read_.classes.data, static_cast<int>(read_.classes.stride), T{0},
           errors_.get() + tokens.begin * h_, h);
    });
  }

  // Classes that tokens have, the longest work first: their logits follow each other in one array.
  void list_classes() {
    met_.clear();
    int64_t room = 0;
    for (int64_t c = 0; c < classing_.n_classes; ++c) {
      const int64_t rows = classing_.class_begin[c + 1] - classing_.class_begin[c];
      if (by_class_.count(c) == 0 || rows <= 1) continue;  // a class of one word has nothing to learn
      met_.push_back({c, by_class_.count(c) * rows, room});
      room += by_class_.count(c) * rows;
    }
    std::sort(met_.begin(), met_.end(), [](const Met& a, const Met& b) {
      return a.work != b.work ? a.work > b.work : a.word_class < b.word_class;
    });
    if (room > word_room_) {
      word_room_ = room + room / 4;
      word_errors_ = aligned_array<T>(static_cast<size_t>(word_room_));
    }
  }

  // The same for words in their classes, whose rows change at once: no other task reads them.
  void predict_words() {
    list_classes();
    parallel_for(static_cast<int64_t>(met_.size()), n_threads_, [&](int64_t task, int worker) {
      const Met& met = met_[static_cast<size_t>(task)];
      const int64_t c = met.word_class, begin = classing_.class_begin[c], n = by_class_.count(c);
      const auto rows = rows_of_class(read_.words, classing_, c);
      const int32_t* which = by_class_.tokens(c);
      T* errors = word_errors_.get() + met.room;
      T *states = gathered_.get() + by_class_.first(c) * h_, *back = states + most_ * h_;
      for (int64_t i = 0; i < n; ++i) std::copy_n(states_.get() + which[i] * h_, h_, states + i * h_);
      logits_of(static_cast<const T*>(states), n, rows, read_.word_bias + begin, errors);
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(which[i]);
        log_probs_[at] +=
            table_.softmax(errors + i * rows.rows, rows.rows, classing_.place_of[targets_[at]] - begin);
      }
      gemm(false, false, static_cast<int>(n), static_cast<int>(h_), static_cast<int>(rows.rows), T{1},
           static_cast<const T*>(errors), static_cast<int>(rows.rows), rows.data,
           static_cast<int>(rows.stride), T{0}, back, static_cast<int>(h_));
      for (int64_t i = 0; i < n; ++i) table_.add(errors_.get() + which[i] * h_, back + i * h_, h_);
      for (int64_t r = 0; r < rows.rows; r += kRows) {
        const Block part = {r, std::min(r + kRows, rows.rows)};
        change(errors, rows.rows, n, states, part, begin, {w_.words, w_.word_bias},
               {sums_.words, sums_.word_bias}, worker);
      }
    });
  }

  struct Layer {
    MatrixView<T> matrix;
    T* bias;
  };

  // Rows [part) + offset of a layer change by errors' states, the first (n x columns), the second (n x h).
  void change(const T* errors, int64_t columns, int64_t n, const T* states, const Block& part, int64_t offset,
              const Layer& layer, const Layer& sums, int worker) {
    T* gradient = scratch_.get() + worker * kScratchRows * h_;
    const int64_t rows = part.end - part.begin;
    const auto h = static_cast<int>(h_);
    gemm(true, false, static_cast<int>(rows), h, static_cast<int>(n), T{1}, errors + part.begin,
         static_cast<int>(columns), states, h, T{0}, gradient, h);
    T of_bias[kRows] = {};
    for (int64_t i = 0; i < n; ++i) table_.add(of_bias, errors + i * columns + part.begin, rows);
    const int64_t first = offset + part.begin;
    for (int64_t r = 0; r < rows; ++r) {
      step(layer.matrix.row(first + r), gradient + r * h_, sums.matrix, first + r);
    }
    table_.adagrad(layer.bias + first, of_bias, sums.bias + first, rows, rate_);
  }

  void step(T* row, const T* gradient, const MatrixView<T>& sums, int64_t r) {
    (sums.cols == 1 ? table_.adagrad_row : table_.adagrad)(row, gradient, sums.row(r), h_, rate_);
  }

  void change_classes() {
    parallel_for(block_count(classing_.n_classes, kRows), n_threads_, [&](int64_t task, int worker) {
      change(class_errors_.get(), classing_.n_classes, n_, states_.get(),
             block_at(classing_.n_classes, kRows, task), 0, {w_.classes, w_.class_bias},
             {sums_.classes, sums_.class_bias}, worker);
    });
  }

  // Errors become gradients by what goes into units, from the last step to the first.
  void go_back() {
    const T limit = static_cast<T>(training_.clip);
    const auto h = static_cast<int>(h_);
    for_groups([&](int64_t begin, int64_t n, int worker) {
      T* later = scratch_.get() + worker * kScratchRows * h_;
      for (int64_t t = n_steps_ - 1; t >= 0; --t) {
        const int64_t k = t * n_streams_ + begin;
        T* errors = errors_.get() + k * h_;
        if (t + 1 < n_steps_) {
          for (int64_t i = 0; i < n; ++i) {
            const T* from = errors + (n_streams_ + i) * h_;
            if (from_start_[static_cast<size_t>(k + n_streams_ + i)]) {
              std::fill_n(later + i * h_, h_, T{});
            } else {
              std::copy_n(from, h_, later + i * h_);
            }
          }
          gemm(false, false, static_cast<int>(n), h, h, T{1}, static_cast<const T*>(later), h,
               read_.recurrent.data, static_cast<int>(read_.recurrent.stride), T{1}, errors, h);
        }
        table_.through(training_.neuron, errors, states_.get() + k * h_, n * h_, limit);
      }
    });
  }

  void change_recurrent() {
    parallel_for(block_count(h_, kRows), n_threads_, [&](int64_t task, int worker) {
      change(errors_.get(), h_, n_, previous_.get(), block_at(h_, kRows, task), 0,
             {w_.recurrent, w_.hidden_bias}, {sums_.recurrent, sums_.hidden_bias}, worker);
    });
  }

  void change_inputs() {
    order_.clear();
    for (int64_t k = 0; k < n_; ++k) {
      if (targets_[static_cast<size_t>(k)] >= 0) {
        order_.push_back({inputs_[static_cast<size_t>(k)], static_cast<int32_t>(k)});
      }
    }
    std::sort(order_.begin(), order_.end(),
              [](const Read& a, const Read& b) { return a.id != b.id ? a.id < b.id : a.token < b.token; });
    words_.clear();
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i == 0 || order_[i].id != order_[i - 1].id) words_.push_back(i);
    }
    const auto n_words = static_cast<int64_t>(words_.size());
    words_.push_back(order_.size());
    parallel_for(block_count(n_words, kRows), n_threads_, [&](int64_t task, int worker) {
      T* gradient = scratch_.get() + worker * kScratchRows * h_;
      const Block part = block_at(n_words, kRows, task);
      for (auto i = static_cast<size_t>(part.begin); i < static_cast<size_t>(part.end); ++i) {
        std::copy_n(errors_.get() + order_[words_[i]].token * h_, h_, gradient);
        for (size_t j = words_[i] + 1; j < words_[i + 1]; ++j) {
          table_.add(gradient, errors_.get() + order_[j].token * h_, h_);
        }
        const int64_t id = order_[words_[i]].id;
        step(w_.input.row(id), gradient, sums_.input, id);
      }
    });
  }

  struct Met {
    int64_t word_class, work, room;
  };
  struct Read {
    int32_t id, token;
  };

  RnnText text_;
  WordClassing classing_;
  RnnWeights<T> w_;
  RnnWeights<const T> read_;
  RnnWeights<T> sums_;
  RnnTraining training_;
  const simd::NeuronTable<T>& table_;
  int n_threads_;
  int64_t h_, n_streams_, most_, n_steps_ = 0, n_ = 0, word_room_ = 0;
  T rate_{};
  TokensByClass by_class_;
  std::vector<int32_t> inputs_, targets_;
  std::vector<char> from_start_;
  std::vector<double> log_probs_;
  std::vector<Met> met_;
  std::vector<Read> order_;
  std::vector<size_t> words_;  // where each word begins in that order
  AlignedArray<T> previous_, states_, errors_, carried_, gathered_, class_errors_, word_errors_, scratch_;
};

}  // namespace

template <class T>
double rnn_train(const RnnText& text, const WordClassing& classing, const RnnWeights<T>& weights,
                 const RnnWeights<T>& sums, const RnnTraining& training, Isa isa, int n_threads) {
  return Trainer<T>(text, classing, weights, sums, training, isa, n_threads).train();
}

template double rnn_train(const RnnText&, const WordClassing&, const RnnWeights<float>&,
                          const RnnWeights<float>&, const RnnTraining&, Isa, int);
template double rnn_train(const RnnText&, const WordClassing&, const RnnWeights<double>&,
                          const RnnWeights<double>&, const RnnTraining&, Isa, int);

}  // namespace semproj
