#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/sentence_batch.h"
#include "bindings/stored_ngrams.h"
#include "core/parallel.h"
#include "lm/arpa_writer.h"
#include "lm/ngram_listing.h"

namespace semproj::bindings {
namespace {

using namespace semproj::lm;

constexpr int64_t kShort = 1 << 12;  // bytes of a sentence for which the GIL is not given away

struct SentenceSums {
  py::array_t<double> log_probs, unknown_log_probs;
  py::array_t<int64_t> words, unknown_words;
};

struct WordScores {
  py::array_t<double> log_probs;
  py::array_t<int32_t> orders;
  py::array_t<bool> unknown;
};

double score(const StoredNGrams& store, const py::object& sentence, bool bos, bool eos) {
  SentenceBatch batch;
  batch.add(sentence.ptr(), "sentence");
  const SentenceRef& ref = batch.refs()[0];
  if (!ref.is_cut && ref.text.size < kShort) return store.model().score(ref, {bos, eos}, nullptr).log_prob;
  const ReleaseGil release;
  return store.model().score(ref, {bos, eos}, nullptr).log_prob;
}

WordScores score_words(const StoredNGrams& store, const py::object& sentence, bool bos, bool eos) {
  SentenceBatch batch;
  batch.add(sentence.ptr(), "sentence");
  std::vector<WordResult> words;
  {
    const ReleaseGil release;
    store.model().score(batch.refs()[0], {bos, eos}, &words);
  }
  const auto n = static_cast<py::ssize_t>(words.size());
  WordScores result{py::array_t<double>(n), py::array_t<int32_t>(n), py::array_t<bool>(n)};
  for (py::ssize_t i = 0; i < n; ++i) {
    const WordResult& word = words[static_cast<size_t>(i)];
    result.log_probs.mutable_data()[i] = word.log_prob;
    result.orders.mutable_data()[i] = word.order;
    result.unknown.mutable_data()[i] = word.unknown;
  }
  return result;
}

SentenceSums score_batch(const StoredNGrams& store, const py::list& sentences, int64_t first_number, bool bos,
                         bool eos, int n_threads) {
  SentenceBatch batch;
  for (py::ssize_t i = 0; i < PyList_GET_SIZE(sentences.ptr()); ++i) {
    const auto held = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(sentences.ptr(), i));
    // To write the name takes longer than most sentences.
    PyObject* s = held.ptr();
    const bool plain = PyUnicode_Check(s) && PyUnicode_IS_COMPACT_ASCII(s);
    batch.add(s, plain ? std::string() : "sentences[" + std::to_string(first_number + i) + "]");
  }
  std::vector<SentenceSum> sums(batch.refs().size());
  {
    const ReleaseGil release;
    store.model().score_batch(batch.refs(), {bos, eos}, sums.data(), n_threads);
  }
  const auto n = static_cast<py::ssize_t>(sums.size());
  SentenceSums result{py::array_t<double>(n), py::array_t<double>(n), py::array_t<int64_t>(n),
                      py::array_t<int64_t>(n)};
  for (py::ssize_t i = 0; i < n; ++i) {
    const SentenceSum& sum = sums[static_cast<size_t>(i)];
    result.log_probs.mutable_data()[i] = sum.log_prob;
    result.unknown_log_probs.mutable_data()[i] = sum.unknown_log_prob;
    result.words.mutable_data()[i] = sum.words;
    result.unknown_words.mutable_data()[i] = sum.unknown_words;
  }
  return result;
}

py::tuple values(const StoredNGrams& store, int order) {
  if (order < 2 || order > store.model().order())
    throw py::value_error("order: is not one of the model's tables");
  std::vector<float> log_probs, backoffs;
  {
    const ReleaseGil release;
    constexpr int64_t kAtOnce = 1 << 16;
    const int64_t n = store.model().tables()[static_cast<size_t>(order) - 2].layout().n_slots();
    for (int64_t begin = 0; begin < n; begin += kAtOnce) {
      check_interrupt();
      const ListedNGrams listed = list_ngrams(store.model(), order, begin, std::min(n, begin + kAtOnce));
      log_probs.insert(log_probs.end(), listed.log_probs.begin(), listed.log_probs.end());
      backoffs.insert(backoffs.end(), listed.backoffs.begin(), listed.backoffs.end());
    }
  }
  return py::make_tuple(array_of(std::move(log_probs)), array_of(std::move(backoffs)));
}

// Reads the model, which it keeps alive, and the GIL is not needed for it.
class ArpaText {
 public:
  ArpaText(const StoredNGrams& store, int n_threads) : writer_(store.model(), store.counts(), n_threads) {}
  py::bytes next() {
    std::string text;
    {
      const ReleaseGil release;
      text = writer_.next();
    }
    return py::bytes(text);
  }

 private:
  ArpaWriter writer_;
};

void add_results(py::module_& m) {
  py::class_<SentenceSums>(m, "NGramSentenceSums")
      .def_readonly("log_probs", &SentenceSums::log_probs)
      .def_readonly("unknown_log_probs", &SentenceSums::unknown_log_probs)
      .def_readonly("words", &SentenceSums::words)
      .def_readonly("unknown_words", &SentenceSums::unknown_words);
  py::class_<WordScores>(m, "NGramWordScores")
      .def_readonly("log_probs", &WordScores::log_probs)
      .def_readonly("orders", &WordScores::orders)
      .def_readonly("unknown", &WordScores::unknown);
}

}  // namespace

void register_ngram_model(py::module_& m) {
  add_results(m);
  py::class_<StoredNGrams>(m, "StoredNGrams")
      .def(py::init<const NGramTables&, const py::array&, const py::array&>(), py::arg("tables"),
           py::arg("text"), py::arg("offsets"))
      .def("order", [](const StoredNGrams& s) { return s.model().order(); })
      .def("score", &score, py::arg("sentence"), py::arg("bos"), py::arg("eos"))
      .def("score_words", &score_words, py::arg("sentence"), py::arg("bos"), py::arg("eos"))
      .def("score_batch", &score_batch, py::arg("sentences"), py::arg("first_number"), py::arg("bos"),
           py::arg("eos"), py::arg("n_threads"))
      .def("find_word", &StoredNGrams::find_word, py::arg("word"))
      .def("values", &values, py::arg("order"))
      .def(
          "send_to",
          [](const StoredNGrams& s, NGramSink& sink) {
            const ReleaseGil release;
            send_all(s.model(), s.counts(), &sink);
          },
          py::arg("sink"));
  py::class_<ArpaText>(m, "ArpaText")
      .def(py::init<const StoredNGrams&, int>(), py::arg("store"), py::arg("n_threads"),
           py::keep_alive<1, 2>())
      .def("next", &ArpaText::next);
}

}  // namespace semproj::bindings
