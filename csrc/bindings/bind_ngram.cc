#include <pybind11/stl.h>

#include <memory>
#include <system_error>

#include "bindings/bindings.h"
#include "bindings/text_batch.h"
#include "lm/ngram_arrays.h"
#include "lm/ngram_estimate.h"
#include "lm/ngram_text.h"
#include "lm/white_space.h"

namespace semproj::bindings {
namespace {

using namespace semproj::lm;

// Full disks and the like, as Python has them.
void translate(std::exception_ptr p) {
  try {
    if (p) std::rethrow_exception(p);
  } catch (const std::system_error& e) {
    const py::object error = py::reinterpret_steal<py::object>(
        PyObject_CallFunction(PyExc_OSError, "is", e.code().value(), e.what()));
    if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

struct Words {
  py::array_t<uint8_t> text;
  py::array_t<int64_t> offsets, counts;
};

// One training, from the first sentence to the last n-gram.
class Training {
 public:
  Training(int order, bool kneser_ney, int katz_k, std::vector<int64_t> min_counts, bool markers_are_unknown,
           int64_t memory, std::string temp_folder, int n_threads)
      : n_threads_(n_threads),
        workspace_(memory, std::move(temp_folder)),
        options_{order, kneser_ney ? Smoothing::kneser_ney : Smoothing::good_turing, katz_k,
                 std::move(min_counts)},
        text_(&workspace_, markers_are_unknown, n_threads) {
    if (order < 1 || order > kMaxOrder) throw py::value_error("order: expected 1 to 6");
    if (katz_k < 1 || katz_k > 60) throw py::value_error("katz_k: expected 1 to 60");
    if (static_cast<int>(options_.min_counts.size()) != order)
      throw py::value_error("min_counts: one an order");
    options_.min_counts.insert(options_.min_counts.begin(), 1);
  }

  void add_bytes(const py::buffer& bytes) {
    const py::buffer_info info = bytes.request();
    if (info.ndim != 1 || info.itemsize != 1 || info.strides[0] != 1)
      throw py::type_error("bytes: expected bytes");
    const ReleaseGil release;
    text_.add(static_cast<const char*>(info.ptr), info.size);
  }

  void add_sentences(const py::list& sentences) {
    lines_.clear();
    const auto first = n_given_;
    for (py::ssize_t i = 0; i < PyList_GET_SIZE(sentences.ptr()); ++i) {
      add_line(PyList_GET_ITEM(sentences.ptr(), i), first + i);
    }
    n_given_ = first + PyList_GET_SIZE(sentences.ptr());
    const ReleaseGil release;
    text_.add(lines_.data(), static_cast<int64_t>(lines_.size()));
  }

  Words choose(int64_t min_count, int64_t max_words, const std::optional<py::list>& given) {
    std::vector<std::string_view> words;
    if (given) {
      for (const py::handle word : *given) words.push_back(utf8_of(word.ptr(), "vocabulary"));
    }
    ChosenWords chosen;
    {
      const ReleaseGil release;
      text_.end_text();
      chosen = text_.choose({min_count, max_words, given ? &words : nullptr});
      estimation_ = make_estimation(&workspace_, options_, chosen, n_threads_);
    }
    py::array_t<uint8_t> text(static_cast<py::ssize_t>(chosen.bytes.size()));
    std::copy(chosen.bytes.begin(), chosen.bytes.end(), reinterpret_cast<char*>(text.mutable_data()));
    return {text, array_of(std::move(chosen.offsets)), array_of(std::move(chosen.counts))};
  }

  void end_text() {
    const ReleaseGil release;
    text_.end_text();
  }
  void sort() {
    NGramEstimation& estimation = begun();
    const ReleaseGil release;
    estimation.sort(text_);
  }
  void count() {
    NGramEstimation& estimation = begun();
    const ReleaseGil release;
    estimation.count();
  }
  void smooth(int order, NGramSink& sink) {
    NGramEstimation& estimation = begun();
    if (order != smoothed_ + 1 || order > options_.order)
      throw py::value_error("order: expected the next one");
    const ReleaseGil release;
    estimation.smooth(order, sink);
    smoothed_ = order;
  }
  void finish(NGramSink& sink) {
    NGramEstimation& estimation = begun();
    if (smoothed_ != options_.order) throw py::value_error("finish: expected all orders to be smoothed");
    const ReleaseGil release;
    estimation.finish(sink);
  }

  int64_t n_words() const { return text_.n_words(); }
  int64_t n_sentences() const { return text_.n_sentences(); }
  std::vector<int64_t> counts() { return {begun().counts().begin() + 1, begun().counts().end()}; }
  std::vector<std::vector<double>> discounts() {
    std::vector<std::vector<double>> found;
    for (const Discount& each : begun().discounts()) found.push_back(each.values());
    return {found.begin() + 1, found.end()};
  }
  std::vector<int> fallen_back() {
    std::vector<int> orders;
    for (int k = 1; k <= options_.order; ++k) {
      if (begun().discounts()[static_cast<size_t>(k)].fell_back()) orders.push_back(k);
    }
    return orders;
  }

 private:
  NGramEstimation& begun() {
    if (!estimation_) throw py::value_error("words must be chosen before");
    return *estimation_;
  }

  // Kept by the string itself.
  static std::string_view utf8_of(PyObject* text, const std::string& name) {
    py::ssize_t length = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (bytes == nullptr) {
      PyErr_Clear();
      throw py::value_error(name + ": cannot be written as UTF-8");
    }
    return {bytes, static_cast<size_t>(length)};
  }

  void add_line(PyObject* sentence, int64_t number) {
    const auto name = [number] { return "sentences[" + std::to_string(number) + "]"; };
    if (PyUnicode_Check(sentence)) {
      const size_t begin = lines_.size();
      add_text(sentence, name);
      std::replace(lines_.begin() + static_cast<std::ptrdiff_t>(begin), lines_.end(), '\n', ' ');
    } else if (PyList_Check(sentence) || PyTuple_Check(sentence)) {
      add_tokens(sentence, name);
    } else {
      throw py::type_error(name() + ": expected a str or a list of words, got " + Py_TYPE(sentence)->tp_name);
    }
    lines_.push_back('\n');
  }

  template <class Name>
  void add_tokens(PyObject* sentence, const Name& name) {
    const py::ssize_t n = PySequence_Fast_GET_SIZE(sentence);
    for (py::ssize_t i = 0; i < n; ++i) {
      PyObject* token = PySequence_Fast_GET_ITEM(sentence, i);
      const auto word = [&] { return name() + ", word " + std::to_string(i); };
      if (!PyUnicode_Check(token)) {
        throw py::type_error(word() + ": expected str, got " + Py_TYPE(token)->tp_name);
      }
      const size_t begin = lines_.size();
      add_text(token, word);
      const auto first = lines_.begin() + static_cast<std::ptrdiff_t>(begin);
      if (first == lines_.end() || std::any_of(first, lines_.end(), &is_space)) {
        throw py::value_error(word() + ": expected a word without white space, got " +
                              std::string(py::repr(token)));
      }
      lines_.push_back(' ');
    }
  }

  template <class Name>
  void add_text(PyObject* text, const Name& name) {
    if (PyUnicode_IS_ASCII(text)) {
      const auto* bytes = static_cast<const char*>(PyUnicode_DATA(text));
      lines_.insert(lines_.end(), bytes, bytes + PyUnicode_GET_LENGTH(text));
      return;
    }
    const auto encoded = py::reinterpret_steal<py::object>(PyUnicode_AsUTF8String(text));
    if (!encoded) {
      PyErr_Clear();
      throw py::value_error(name() + ": cannot be written as UTF-8");
    }
    const char* bytes = PyBytes_AS_STRING(encoded.ptr());
    lines_.insert(lines_.end(), bytes, bytes + PyBytes_GET_SIZE(encoded.ptr()));
  }

  int n_threads_;
  Workspace workspace_;
  NGramOptions options_;
  NGramText text_;
  std::unique_ptr<NGramEstimation> estimation_;
  std::vector<char> lines_;
  int64_t n_given_ = 0;
  int smoothed_ = 0;
};

// The arrays of an order leave the sink.
py::tuple take_order(NGramArrays& arrays, size_t order) {
  if (order < 1 || order > arrays.orders().size()) throw py::value_error("order: expected one of the model");
  auto& found = arrays.orders()[order - 1];
  const auto n = static_cast<py::ssize_t>(found.log_probs.size());
  auto words = array_of(std::move(found.words)).reshape({n, static_cast<py::ssize_t>(order)});
  return py::make_tuple(words, array_of(std::move(found.log_probs)), array_of(std::move(found.log_backoffs)));
}

}  // namespace

void register_ngram(py::module_& m) {
  py::register_local_exception_translator(&translate);
  py::register_exception<CorpusError>(m, "CorpusError", PyExc_ValueError);
  py::class_<NGramSink>(m, "NGramSink");
  py::class_<NGramArrays, NGramSink>(m, "NGramArrays")
      .def(py::init<>())
      .def("order", &take_order, py::arg("order"));
  py::class_<Words>(m, "ChosenWords")
      .def_readonly("text", &Words::text)
      .def_readonly("offsets", &Words::offsets)
      .def_readonly("counts", &Words::counts);
  py::class_<Training>(m, "NGramTraining")
      .def(py::init<int, bool, int, std::vector<int64_t>, bool, int64_t, std::string, int>(),
           py::arg("order"), py::arg("kneser_ney"), py::arg("katz_k"), py::arg("min_counts"),
           py::arg("markers_are_unknown"), py::arg("memory"), py::arg("temp_dir"), py::arg("n_threads"))
      .def("add_bytes", &Training::add_bytes, py::arg("bytes"))
      .def("add_sentences", &Training::add_sentences, py::arg("sentences"))
      .def("end_text", &Training::end_text)
      .def("choose", &Training::choose, py::arg("min_count"), py::arg("max_words"),
           py::arg("given").none(true))
      .def("sort", &Training::sort)
      .def("count", &Training::count)
      .def("smooth", &Training::smooth, py::arg("order"), py::arg("sink"))
      .def("finish", &Training::finish, py::arg("sink"))
      .def_property_readonly("n_words", &Training::n_words)
      .def_property_readonly("n_sentences", &Training::n_sentences)
      .def_property_readonly("counts", &Training::counts)
      .def_property_readonly("discounts", &Training::discounts)
      .def_property_readonly("fallen_back", &Training::fallen_back);
}

}  // namespace semproj::bindings
