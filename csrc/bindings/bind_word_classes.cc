#include "bindings/bindings.h"
#include "bindings/sentences_argument.h"
#include "lm/word_exchange.h"

namespace semproj::bindings {
namespace {

int32_t* class_numbers(const py::array& classes, const lm::WordPairs& pairs, int64_t n_classes) {
  const auto n = static_cast<int64_t>(pairs.after.starts.size()) - 1;
  int32_t* numbers = output_data<int32_t>(classes, n, "classes");
  if (!all_in_range(numbers, n, n_classes)) throw py::value_error("classes: out of range");
  return numbers;
}

lm::WordPairs pairs_of(const py::array& starts, const py::array& ids, int64_t n_words, int32_t boundary,
                       int n_threads) {
  const SentencesView text = sentences_view(starts, ids, n_words);
  if (boundary < 0 || boundary >= n_words) throw py::value_error("boundary: out of range");
  const ReleaseGil release;
  return lm::count_word_pairs(text.starts, text.ids, n_words, boundary, n_threads);
}

lm::ExchangeSweep exchange(const lm::WordPairs& pairs, const py::array& classes, int64_t n_classes,
                           int64_t n_free, int n_threads) {
  int32_t* numbers = class_numbers(classes, pairs, n_classes);
  if (n_free < 0 || n_free > n_classes) throw py::value_error("n_free: out of range");
  const ReleaseGil release;
  return lm::exchange_words(pairs, numbers, n_classes, n_free, n_threads);
}

double log_likelihood(const lm::WordPairs& pairs, const py::array& classes, int64_t n_classes) {
  const int32_t* numbers = class_numbers(classes, pairs, n_classes);
  const ReleaseGil release;
  return lm::class_log_likelihood(pairs, numbers, n_classes);
}

}  // namespace

void register_word_classes(py::module_& m) {
  py::class_<lm::WordPairs>(m, "WordNeighbors");
  py::class_<lm::ExchangeSweep>(m, "ExchangeSweep")
      .def_readonly("moves", &lm::ExchangeSweep::moves)
      .def_readonly("log_likelihood", &lm::ExchangeSweep::log_likelihood);
  m.def("count_word_pairs", &pairs_of, py::arg("starts"), py::arg("ids"), py::arg("n_words"),
        py::arg("boundary"), py::arg("n_threads"));
  m.def("exchange_words", &exchange, py::arg("pairs"), py::arg("classes"), py::arg("n_classes"),
        py::arg("n_free"), py::arg("n_threads"));
  m.def("class_log_likelihood", &log_likelihood, py::arg("pairs"), py::arg("classes"), py::arg("n_classes"));
}

}  // namespace semproj::bindings
