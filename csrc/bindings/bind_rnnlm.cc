#include <array>
#include <type_traits>

#include "bindings/bindings.h"
#include "lm/rnnlm.h"

namespace semproj::bindings {
namespace {

// The arrays of a network, or an optimiser's sums of each.
struct WeightsArgument {
  py::array input, recurrent, classes, words, hidden_bias, class_bias, word_bias;

  template <class T>
  RnnWeights<T> view() const {
    using Plain = std::remove_const_t<T>;
    const auto matrices = std::array{matrix_view<T>(input, "input"), matrix_view<T>(recurrent, "recurrent"),
                                     matrix_view<T>(classes, "classes"), matrix_view<T>(words, "words")};
    const auto vector = [](const py::array& a, int64_t size, const char* name) {
      if constexpr (std::is_const_v<T>) {
        return vector_data<Plain>(a, size, name);
      } else {
        return output_data<Plain>(a, size, name);
      }
    };
    return {matrices[0],
            matrices[1],
            matrices[2],
            matrices[3],
            vector(hidden_bias, matrices[1].rows, "hidden_bias"),
            vector(class_bias, matrices[2].rows, "class_bias"),
            vector(word_bias, matrices[3].rows, "word_bias")};
  }
};

template <class T>
void check_widths(const RnnWeights<T>& w) {
  const int64_t h = w.recurrent.rows;
  if (h < 1) throw py::value_error("recurrent: expected a row at least");
  for (const auto& m : {w.input, w.recurrent, w.classes, w.words}) {
    if (m.cols != h)
      throw py::value_error("recurrent: expected all matrices to have as many columns as it has rows");
  }
}

template <class T>
void check_sums(const RnnWeights<T>& sums, const RnnWeights<T>& w) {
  for (const auto& [a, b] : {std::pair{sums.input, w.input},
                             {sums.recurrent, w.recurrent},
                             {sums.classes, w.classes},
                             {sums.words, w.words}}) {
    if (a.rows != b.rows || (a.cols != 1 && a.cols != b.cols)) throw py::value_error("sums: wrong shape");
  }
}

struct ClassesArgument {
  py::array class_begin, place_of, class_of;

  WordClassing view(int64_t n_ids, int64_t n_classes, int64_t n_places) const {
    const int64_t* begin = vector_data<int64_t>(class_begin, n_classes + 1, "class_begin");
    if (n_classes < 1 || !rise_from_zero(begin, n_classes + 1) || begin[n_classes] != n_places) {
      throw py::value_error("class_begin: expected offsets of all words");
    }
    const WordClassing classing{begin, n_classes, vector_data<int32_t>(place_of, n_ids, "place_of"),
                                vector_data<int32_t>(class_of, n_ids, "class_of")};
    for (int64_t id = 0; id < n_ids; ++id) {
      const int64_t place = classing.place_of[id], c = classing.class_of[id];
      if (place < 0) continue;
      if (c < 0 || c >= n_classes || place < begin[c] || place >= begin[c + 1]) {
        throw py::value_error("place_of: expected a place within the word's class");
      }
    }
    return classing;
  }
};

const int32_t* checked_ids(const py::array& ids, const WordClassing& classing, int64_t n_ids,
                           const char* name) {
  const int64_t size = ids.size();
  const int32_t* data = vector_data<int32_t>(ids, size, name);
  if (!all_in_range(data, size, n_ids)) throw py::value_error(std::string(name) + ": out of range");
  for (int64_t i = 0; i < size; ++i) {
    if (classing.place_of[data[i]] < 0) throw py::value_error(std::string(name) + ": a word without a place");
  }
  return data;
}

simd::Neuron neuron_of(const std::string& name) {
  if (name == "sigmoid") return simd::Neuron::sigmoid;
  if (name == "tanh") return simd::Neuron::tanh;
  if (name == "relu") return simd::Neuron::relu;
  throw py::value_error("activation: unknown " + name);
}

template <class T>
double train(const py::array& ids, const WeightsArgument& weights, const WeightsArgument& sums,
             const ClassesArgument& classes, const std::string& activation, int32_t begin, int32_t end,
             int64_t n_streams, int64_t n_steps, bool across_sentences, double first_rate, double last_rate,
             double clip, int n_threads) {
  const auto w = weights.view<T>(), kept = sums.view<T>();
  check_widths(w);
  check_sums(kept, w);
  const auto classing = classes.view(w.input.rows, w.classes.rows, w.words.rows);
  const int32_t* data = checked_ids(ids, classing, w.input.rows, "ids");
  if (begin < 0 || begin >= w.input.rows) throw py::value_error("begin: out of range");
  if (n_streams < 1 || n_steps < 1 || n_streams * n_steps > int64_t{1} << 24) {
    throw py::value_error("n_streams: expected blocks of 1 to 2**24 words");
  }
  const RnnTraining training{
      neuron_of(activation), n_streams, n_steps, across_sentences, first_rate, last_rate, clip};
  const RnnText text{data, ids.size(), begin, end};
  const ReleaseGil release;
  return rnn_train<T>(text, classing, w, kept, training, active_isa(), n_threads);
}

template <class T>
py::array score(const py::array& ids, const py::array& offsets, const WeightsArgument& weights,
                const ClassesArgument& classes, const std::string& activation, int32_t first, int n_threads) {
  const auto w = weights.view<const T>();
  check_widths(w);
  const auto classing = classes.view(w.input.rows, w.classes.rows, w.words.rows);
  const int32_t* data = checked_ids(ids, classing, w.input.rows, "ids");
  const int64_t n = offsets.size();
  const int64_t* begins = vector_data<int64_t>(offsets, n, "offsets");
  if (!rise_from_zero(begins, n) || begins[n - 1] != ids.size())
    throw py::value_error("offsets: do not fit ids");
  if (first < 0 || first >= w.input.rows) throw py::value_error("first: out of range");
  const auto neuron = neuron_of(activation);
  py::array_t<double> log_probs(ids.size());
  double* out = log_probs.mutable_data();
  const ReleaseGil release;
  rnn_score<T>(data, begins, n - 1, first, classing, w, neuron, out, active_isa(), n_threads);
  return log_probs;
}

py::array score_by_dtype(const py::array& ids, const py::array& offsets, const WeightsArgument& weights,
                         const ClassesArgument& classes, const std::string& activation, int32_t first,
                         int n_threads) {
  return (has_dtype<double>(weights.input) ? score<double> : score<float>)(ids, offsets, weights, classes,
                                                                           activation, first, n_threads);
}

double train_by_dtype(const py::array& ids, const WeightsArgument& weights, const WeightsArgument& sums,
                      const ClassesArgument& classes, const std::string& activation, int32_t begin,
                      int32_t end, int64_t n_streams, int64_t n_steps, bool across_sentences,
                      double first_rate, double last_rate, double clip, int n_threads) {
  return (has_dtype<double>(weights.input) ? train<double>
                                           : train<float>)(ids, weights, sums, classes, activation, begin,
                                                           end, n_streams, n_steps, across_sentences,
                                                           first_rate, last_rate, clip, n_threads);
}

}  // namespace

void register_rnnlm(py::module_& m) {
  py::class_<WeightsArgument>(m, "RnnWeights")
      .def(py::init<py::array, py::array, py::array, py::array, py::array, py::array, py::array>(),
           py::arg("input"), py::arg("recurrent"), py::arg("classes"), py::arg("words"),
           py::arg("hidden_bias"), py::arg("class_bias"), py::arg("word_bias"));
  py::class_<ClassesArgument>(m, "RnnClasses")
      .def(py::init<py::array, py::array, py::array>(), py::arg("class_begin"), py::arg("place_of"),
           py::arg("class_of"));
  m.def("rnn_train", &train_by_dtype, py::arg("ids"), py::arg("weights"), py::arg("sums"), py::arg("classes"),
        py::arg("activation"), py::arg("begin"), py::arg("end"), py::arg("n_streams"), py::arg("n_steps"),
        py::arg("across_sentences"), py::arg("first_rate"), py::arg("last_rate"), py::arg("clip"),
        py::arg("n_threads"));
  m.def("rnn_score", &score_by_dtype, py::arg("ids"), py::arg("offsets"), py::arg("weights"),
        py::arg("classes"), py::arg("activation"), py::arg("first"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
