#include <pybind11/stl.h>

#include <memory>

#include "bindings/bindings.h"
#include "bindings/sentence_lines.h"
#include "bindings/text_batch.h"
#include "lm/ngram_estimate.h"
#include "lm/ngram_text.h"

namespace semproj::bindings {
namespace {

using namespace semproj::lm;

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
    const std::vector<char>& lines = lines_.of(sentences);
    const ReleaseGil release;
    text_.add(lines.data(), static_cast<int64_t>(lines.size()));
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

  int n_threads_;
  Workspace workspace_;
  NGramOptions options_;
  NGramText text_;
  std::unique_ptr<NGramEstimation> estimation_;
  SentenceLines lines_;
  int smoothed_ = 0;
};

}  // namespace

void register_ngram(py::module_& m) {
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
