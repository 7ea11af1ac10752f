#include "bindings/rnn_arguments.h"
#include "lm/rnnlm.h"

namespace semproj::bindings {
namespace {

simd::Neuron neuron_of(const std::string& name) {
  if (name == "sigmoid") return simd::Neuron::sigmoid;
  if (name == "tanh") return simd::Neuron::tanh;
  if (name == "relu") return simd::Neuron::relu;
  throw py::value_error("activation: unknown " + name);
}

template <class T>
double train(const py::array& ids, const RnnWeightsArgument& weights, const RnnWeightsArgument& sums,
             const RnnClassesArgument& classes, const std::string& activation, double decay, int32_t begin,
             int32_t end, int64_t n_streams, int64_t n_steps, bool across_sentences, double first_rate,
             double last_rate, double clip, int n_threads) {
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
      {neuron_of(activation), decay}, n_streams, n_steps, across_sentences, first_rate, last_rate, clip};
  const RnnText text{data, ids.size(), begin, end};
  const ReleaseGil release;
  return rnn_train<T>(text, classing, w, kept, training, active_isa(), n_threads);
}

template <class T>
py::array score(const py::array& ids, const py::array& offsets, const RnnWeightsArgument& weights,
                const RnnClassesArgument& classes, const std::string& activation, double decay, int32_t first,
                int n_threads) {
  const auto w = weights.view<const T>();
  check_widths(w);
  const auto classing = classes.view(w.input.rows, w.classes.rows, w.words.rows);
  const int32_t* data = checked_ids(ids, classing, w.input.rows, "ids");
  const int64_t n = offsets.size();
  const int64_t* begins = vector_data<int64_t>(offsets, n, "offsets");
  if (!rise_from_zero(begins, n) || begins[n - 1] != ids.size())
    throw py::value_error("offsets: do not fit ids");
  if (first < 0 || first >= w.input.rows) throw py::value_error("first: out of range");
  const RnnUnits units{neuron_of(activation), decay};
  py::array_t<double> log_probs(ids.size());
  double* out = log_probs.mutable_data();
  const ReleaseGil release;
  rnn_score<T>(data, begins, n - 1, first, classing, w, units, out, active_isa(), n_threads);
  return log_probs;
}

py::array score_by_dtype(const py::array& ids, const py::array& offsets, const RnnWeightsArgument& weights,
                         const RnnClassesArgument& classes, const std::string& activation, double decay,
                         int32_t first, int n_threads) {
  return (has_dtype<double>(weights.input) ? score<double> : score<float>)(ids, offsets, weights, classes,
                                                                           activation, decay, first,
                                                                           n_threads);
}

double train_by_dtype(const py::array& ids, const RnnWeightsArgument& weights, const RnnWeightsArgument& sums,
                      const RnnClassesArgument& classes, const std::string& activation, double decay,
                      int32_t begin, int32_t end, int64_t n_streams, int64_t n_steps, bool across_sentences,
                      double first_rate, double last_rate, double clip, int n_threads) {
  return (has_dtype<double>(weights.input) ? train<double>
                                           : train<float>)(ids, weights, sums, classes, activation, decay,
                                                           begin, end, n_streams, n_steps, across_sentences,
                                                           first_rate, last_rate, clip, n_threads);
}

}  // namespace

void register_rnnlm(py::module_& m) {
  py::class_<RnnWeightsArgument>(m, "RnnWeights")
      .def(py::init<py::array, py::array, py::array, py::array, py::array, py::array, py::array>(),
           py::arg("input"), py::arg("recurrent"), py::arg("classes"), py::arg("words"),
           py::arg("hidden_bias"), py::arg("class_bias"), py::arg("word_bias"));
  py::class_<RnnClassesArgument>(m, "RnnClasses")
      .def(py::init<py::array, py::array, py::array>(), py::arg("class_begin"), py::arg("place_of"),
           py::arg("class_of"));
  m.def("rnn_train", &train_by_dtype, py::arg("ids"), py::arg("weights"), py::arg("sums"), py::arg("classes"),
        py::arg("activation"), py::arg("decay"), py::arg("begin"), py::arg("end"), py::arg("n_streams"),
        py::arg("n_steps"), py::arg("across_sentences"), py::arg("first_rate"), py::arg("last_rate"),
        py::arg("clip"), py::arg("n_threads"));
  m.def("rnn_score", &score_by_dtype, py::arg("ids"), py::arg("offsets"), py::arg("weights"),
        py::arg("classes"), py::arg("activation"), py::arg("decay"), py::arg("first"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
