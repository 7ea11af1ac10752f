#include <pybind11/stl.h>

#include <memory>

#include "bindings/text_reading.h"
#include "lm/ngram_estimate.h"

namespace semproj::bindings {
namespace {

using namespace semproj::lm;

// One training, from the first sentence to the last n-gram.
class Training : public TextReading {
 public:
  Training(int order, bool kneser_ney, int katz_k, std::vector<int64_t> min_counts, bool markers_are_unknown,
           int64_t memory, std::string temp_folder, int n_threads)
      : TextReading(markers_are_unknown, memory, std::move(temp_folder), n_threads, "sentences"),
        options_{order, kneser_ney ? Smoothing::kneser_ney : Smoothing::good_turing, katz_k,
                 std::move(min_counts)} {
    if (order < 1 || order > kMaxOrder) throw py::value_error("order: expected 1 to 6");
    if (katz_k < 1 || katz_k > 60) throw py::value_error("katz_k: expected 1 to 60");
    if (static_cast<int>(options_.min_counts.size()) != order)
      throw py::value_error("min_counts: one an order");
    options_.min_counts.insert(options_.min_counts.begin(), 1);
  }

  void sort() {
    NGramEstimation& estimation = begun();
    forget_text();
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

  void words_are_chosen(const ChosenWords& chosen) override {
    estimation_ = make_estimation(&workspace_, options_, chosen, n_threads_);
  }

  NGramOptions options_;
  std::unique_ptr<NGramEstimation> estimation_;
  int smoothed_ = 0;
};

}  // namespace

void register_ngram(py::module_& m) {
  py::class_<Training, TextReading>(m, "NGramTraining")
      .def(py::init<int, bool, int, std::vector<int64_t>, bool, int64_t, std::string, int>(),
           py::arg("order"), py::arg("kneser_ney"), py::arg("katz_k"), py::arg("min_counts"),
           py::arg("markers_are_unknown"), py::arg("memory"), py::arg("temp_dir"), py::arg("n_threads"))
      .def("sort", &Training::sort)
      .def("count", &Training::count)
      .def("smooth", &Training::smooth, py::arg("order"), py::arg("sink"))
      .def("finish", &Training::finish, py::arg("sink"))
      .def_property_readonly("counts", &Training::counts)
      .def_property_readonly("discounts", &Training::discounts)
      .def_property_readonly("fallen_back", &Training::fallen_back);
}

}  // namespace semproj::bindings
