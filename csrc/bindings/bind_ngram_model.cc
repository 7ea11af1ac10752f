#include <pybind11/stl.h>

#include <array>
#include <memory>

#include "bindings/bindings.h"
#include "bindings/ngram_tables.h"
#include "bindings/sentence_batch.h"
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

struct NGramStep {
  float log_prob;
  int order;
  bool unknown;
  NGramState state;
};

// A model in arrays, which it keeps alive.
class StoredNGrams {
 public:
  StoredNGrams(const NGramTables& tables, const py::array& text, const py::array& offsets)
      : tables_(tables), text_(text), offsets_(offsets) {
    const auto* starts = vector_data<int64_t>(offsets, offsets.size(), "offsets");
    const auto* bytes = reinterpret_cast<const char*>(vector_data<uint8_t>(text, text.size(), "text"));
    const int64_t n_words = offsets.size() - 1;
    if (!rise_from_zero(starts, offsets.size()) || starts[n_words] != text.size() || n_words < kFirstWord ||
        n_words >= (int64_t{1} << 31)) {
      throw py::value_error("offsets: expected those of words");
    }
    const auto slots = matrix_view<const int64_t>(tables.word_slots, "word_slots");
    if (slots.cols != 2 || slots.stride != 2) throw py::value_error("word_slots: expected two columns");
    const WordTable words(bytes, starts, n_words, reinterpret_cast<const WordSlot*>(slots.data), slots.rows,
                          tables.seed);
    const auto unigrams = matrix_view<const float>(tables.unigrams, "unigrams");
    if (unigrams.rows != n_words || unigrams.cols != 2 || unigrams.stride != 2) {
      throw py::value_error("unigrams: expected two numbers for each word");
    }
    const auto order = static_cast<int>(tables.tables.size()) + 1;
    if (order > kMaxOrder || tables.counts.size() != tables.tables.size() + 1) {
      throw py::value_error("tables: expected one for each order from 2 to at most 6, and a count for each");
    }
    const bool coded = tables.codebooks.size() > 0;
    const float* codes =
        coded ? vector_data<float>(tables.codebooks, (order - 1) * 512, "codebooks") : nullptr;
    std::vector<GramTable> all;
    int context_bits = bits_for(n_words);
    for (int k = 2; k <= order; ++k) {
      const py::array& lines = tables.tables[static_cast<size_t>(k) - 2];
      const auto view = matrix_view<const int64_t>(lines, "tables");
      if (view.cols != kLineWords || view.stride != kLineWords) {
        throw py::value_error("tables: expected lines of 64 bytes");
      }
      const GramLayout layout = layout_for(view.rows, context_bits, bits_for(n_words), coded ? 8 : 31,
                                           k == order ? 0
                                           : coded    ? 8
                                                      : 32);
      const float* own = coded ? codes + static_cast<int64_t>(k - 2) * 512 : nullptr;
      all.emplace_back(reinterpret_cast<const uint64_t*>(view.data), layout, own,
                       coded ? own + 256 : nullptr);
      context_bits = bits_for(layout.n_slots());
    }
    model_ =
        std::make_unique<NGramModel>(words, reinterpret_cast<const float*>(unigrams.data), std::move(all));
  }

  const NGramModel& model() const { return *model_; }
  const std::vector<int64_t>& counts() const { return tables_.counts; }

  double score(const py::object& sentence, bool bos, bool eos) const {
    SentenceBatch batch;
    batch.add(sentence.ptr(), "sentence");
    const SentenceRef& ref = batch.refs()[0];
    if (!ref.is_cut && ref.text.size < kShort) return model_->score(ref, {bos, eos}, nullptr).log_prob;
    const ReleaseGil release;
    return model_->score(ref, {bos, eos}, nullptr).log_prob;
  }

  WordScores score_words(const py::object& sentence, bool bos, bool eos) const {
    SentenceBatch batch;
    batch.add(sentence.ptr(), "sentence");
    std::vector<WordResult> words;
    {
      const ReleaseGil release;
      model_->score(batch.refs()[0], {bos, eos}, &words);
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

  SentenceSums score_batch(const py::list& sentences, int64_t first_number, bool bos, bool eos,
                           int n_threads) const {
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
      model_->score_batch(batch.refs(), {bos, eos}, sums.data(), n_threads);
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

  int64_t find_word(const py::object& word) const {
    SentenceBatch batch;
    const py::tuple one = py::make_tuple(word);
    batch.add(one.ptr(), "word");
    const WordRef ref = batch.refs()[0].words[0];
    return model_->words().find({ref.bytes, static_cast<size_t>(ref.size)});
  }

  NGramStep advance(const NGramState& state, const py::object& word) const {
    NGramStep step;
    const auto result = model_->advance(state, static_cast<uint32_t>(find_word(word)), &step.state);
    step.log_prob = result.log_prob;
    step.order = result.order;
    step.unknown = result.unknown;
    return step;
  }

  py::tuple values(int order) const {
    if (order < 2 || order > model_->order())
      throw py::value_error("order: is not one of the model's tables");
    std::vector<float> log_probs, backoffs;
    {
      const ReleaseGil release;
      constexpr int64_t kAtOnce = 1 << 16;
      const int64_t n = model_->tables()[static_cast<size_t>(order) - 2].layout().n_slots();
      for (int64_t begin = 0; begin < n; begin += kAtOnce) {
        check_interrupt();
        const ListedNGrams listed = list_ngrams(*model_, order, begin, std::min(n, begin + kAtOnce));
        log_probs.insert(log_probs.end(), listed.log_probs.begin(), listed.log_probs.end());
        backoffs.insert(backoffs.end(), listed.backoffs.begin(), listed.backoffs.end());
      }
    }
    return py::make_tuple(array_of(std::move(log_probs)), array_of(std::move(backoffs)));
  }

 private:
  NGramTables tables_;
  py::array text_, offsets_;
  std::unique_ptr<NGramModel> model_;
};

// The words that still matter, latest first, with what a model remembers of them.
py::tuple state_tuple(const NGramState& s) {
  constexpr size_t kN = kMaxOrder - 1;
  std::array<uint32_t, kN> words;
  std::array<int64_t, kN> slots;
  std::array<float, kN> backoffs;
  std::copy_n(s.words, kN, words.begin());
  std::copy_n(s.slots, kN, slots.begin());
  std::copy_n(s.backoffs, kN, backoffs.begin());
  return py::make_tuple(s.length, words, slots, backoffs);
}

NGramState state_of(const py::tuple& t) {
  constexpr size_t kN = kMaxOrder - 1;
  if (t.size() != 4) throw py::value_error("state: expected four parts");
  NGramState s;
  s.length = std::clamp(t[0].cast<int32_t>(), 0, static_cast<int32_t>(kN));
  std::ranges::copy(t[1].cast<std::array<uint32_t, kN>>(), s.words);
  std::ranges::copy(t[2].cast<std::array<int64_t, kN>>(), s.slots);
  std::ranges::copy(t[3].cast<std::array<float, kN>>(), s.backoffs);
  return s;
}

bool equal(const NGramState& a, const NGramState& b) {
  return a.length == b.length && std::equal(a.words, a.words + a.length, b.words);
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

void register_results(py::module_& m) {
  py::class_<SentenceSums>(m, "NGramSentenceSums")
      .def_readonly("log_probs", &SentenceSums::log_probs)
      .def_readonly("unknown_log_probs", &SentenceSums::unknown_log_probs)
      .def_readonly("words", &SentenceSums::words)
      .def_readonly("unknown_words", &SentenceSums::unknown_words);
  py::class_<WordScores>(m, "NGramWordScores")
      .def_readonly("log_probs", &WordScores::log_probs)
      .def_readonly("orders", &WordScores::orders)
      .def_readonly("unknown", &WordScores::unknown);
  py::class_<NGramState>(m, "NGramState")
      .def("__len__", [](const NGramState& s) { return s.length; })
      .def("words", [](const NGramState& s) { return std::vector<uint32_t>(s.words, s.words + s.length); })
      .def(
          "__eq__",
          [](const NGramState& a, const py::object& b) {
            return py::isinstance<NGramState>(b) && equal(a, b.cast<const NGramState&>());
          },
          py::arg("other"))
      .def("__hash__",
           [](const NGramState& s) {
             uint64_t h = static_cast<uint64_t>(s.length);
             for (int i = 0; i < s.length; ++i) h = (h ^ s.words[i]) * 0x9E3779B97F4A7C15u;
             return static_cast<py::ssize_t>(h >> 2);
           })
      .def(py::pickle(&state_tuple, &state_of));
  py::class_<NGramStep>(m, "NGramStep")
      .def_readonly("log_prob", &NGramStep::log_prob)
      .def_readonly("order", &NGramStep::order)
      .def_readonly("unknown", &NGramStep::unknown)
      .def_readonly("state", &NGramStep::state);
}

}  // namespace

void register_ngram_model(py::module_& m) {
  register_results(m);
  py::class_<StoredNGrams>(m, "StoredNGrams")
      .def(py::init<const NGramTables&, const py::array&, const py::array&>(), py::arg("tables"),
           py::arg("text"), py::arg("offsets"))
      .def("order", [](const StoredNGrams& s) { return s.model().order(); })
      .def("score", &StoredNGrams::score, py::arg("sentence"), py::arg("bos"), py::arg("eos"))
      .def("score_words", &StoredNGrams::score_words, py::arg("sentence"), py::arg("bos"), py::arg("eos"))
      .def("score_batch", &StoredNGrams::score_batch, py::arg("sentences"), py::arg("first_number"),
           py::arg("bos"), py::arg("eos"), py::arg("n_threads"))
      .def("find_word", &StoredNGrams::find_word, py::arg("word"))
      .def("empty_state", [](const StoredNGrams& s) { return s.model().empty_state(); })
      .def("begin_state", [](const StoredNGrams& s) { return s.model().begin_state(); })
      .def("advance", &StoredNGrams::advance, py::arg("state"), py::arg("word"))
      .def("values", &StoredNGrams::values, py::arg("order"))
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
