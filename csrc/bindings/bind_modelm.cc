#include <pybind11/stl.h>

#include <optional>

#include "bindings/bindings.h"
#include "bindings/sentences_argument.h"
#include "lm/maxent.h"

namespace semproj::bindings {
namespace {

lm::HistoryForest forest_of(const py::array& starts, const py::array& ids, const py::array& words,
                            const py::array& class_starts, int32_t begin, int32_t end, int32_t n_unpredicted,
                            int order, const std::string& kind, int n_threads) {
  const auto n_words = static_cast<int64_t>(words.size()),
             n_starts = static_cast<int64_t>(class_starts.size());
  const SentencesView text = sentences_view(starts, ids, n_words);
  const int32_t* numbers = vector_data<int32_t>(words, n_words, "words");
  const int64_t* classes = vector_data<int64_t>(class_starts, n_starts, "class_starts");
  if (n_starts < 2 || !rise_from_zero(classes, n_starts) || classes[n_starts - 1] != n_words) {
    throw py::value_error("class_starts: expected offsets of words");
  }
  if (!all_in_range(numbers, n_words, n_words)) throw py::value_error("words: out of range");
  // What is never predicted must not be in a sentence.
  const int64_t n_predicted = n_words - n_unpredicted;
  if (n_unpredicted < 0 || n_predicted < classes[n_starts - 2]) {
    throw py::value_error("n_unpredicted: out of range");
  }
  for (const int32_t id : text.ids) {
    if (numbers[id] >= n_predicted) throw py::value_error("ids: a word that is not predicted");
  }
  if (begin < 0 || begin >= n_words || end < 0 || end >= n_predicted)
    throw py::value_error("begin: out of range");
  if (order < 2) throw py::value_error("order: expected at least 2");
  if (kind != "words" && kind != "classes") throw py::value_error("kind: unknown " + kind);
  const lm::ClassText what{text.starts,
                           text.ids,
                           {numbers, static_cast<size_t>(n_words)},
                           {classes, static_cast<size_t>(n_starts)},
                           begin,
                           end,
                           n_unpredicted,
                           order};
  const ReleaseGil release;
  return kind == "words" ? lm::word_forest(what, n_threads) : lm::class_forest(what, n_threads);
}

const lm::HistoryLevel& level_of(const lm::HistoryForest& forest, int64_t level) {
  if (level < 1 || level > static_cast<int64_t>(forest.levels.size())) {
    throw py::value_error("level: out of range");
  }
  return forest.levels[static_cast<size_t>(level) - 1];
}

// A read-only look at what a forest has, which it keeps alive.
template <class T>
py::array look(const py::object& forest, const std::vector<T>& values) {
  py::array_t<T> found(static_cast<py::ssize_t>(values.size()), values.data(), forest);
  found.attr("setflags")(py::arg("write") = false);
  return found;
}

py::array counts_of(const py::object& self, int64_t level) {
  const auto& forest = self.cast<const lm::HistoryForest&>();
  if (level == 0) return look(self, forest.label_counts);
  return look(self, level_of(forest, level).counts);
}

int64_t n_features(const lm::HistoryForest& forest, size_t level) {
  return static_cast<int64_t>(level == 0 ? forest.label_counts.size()
                                         : forest.levels[level - 1].labels.size());
}

double sweep(const lm::HistoryForest& forest, const std::vector<py::array>& weights,
             const std::vector<std::optional<py::array>>& expectations, double alpha, double variance,
             bool solve, int n_threads) {
  const size_t n_levels = forest.levels.size() + 1;
  if (weights.size() != n_levels || expectations.size() != n_levels) {
    throw py::value_error("weights: expected those of all levels");
  }
  lm::ForestWeights all;
  for (size_t d = 0; d < n_levels; ++d) {
    all.weights.push_back(output_data<double>(weights[d], n_features(forest, d), "weights"));
    const bool none = !expectations[d].has_value();
    if (none && d + 1 < n_levels)
      throw py::value_error("expectations: expected those of all levels but the last");
    all.expectations.push_back(
        none ? nullptr : output_data<double>(*expectations[d], n_features(forest, d), "expectations"));
  }
  if (!(alpha >= 0) || !(variance > 0)) throw py::value_error("alpha: out of range");
  const ReleaseGil release;
  return lm::sweep_forest(forest, all, {alpha, variance}, solve, n_threads);
}

void improve(const lm::HistoryForest& forest, int64_t level, const py::array& weights,
             const py::array& reached, const py::array& expectations, double alpha, double variance,
             double share, double momentum, int n_threads) {
  if (level != 0) level_of(forest, level);
  const int64_t n = n_features(forest, static_cast<size_t>(level));
  double *to = output_data<double>(weights, n, "weights"), *last = output_data<double>(reached, n, "reached");
  const double* expected = vector_data<double>(expectations, n, "expectations");
  if (!(alpha >= 0) || !(variance > 0) || !(share > 0)) throw py::value_error("alpha: out of range");
  const ReleaseGil release;
  const lm::Penalty penalty{alpha, variance};
  if (level == 0) {
    lm::improve_weights(to, last, expected, forest.label_counts.data(), n, penalty, {share, momentum},
                        n_threads);
  } else {
    const auto& counts = forest.levels[static_cast<size_t>(level) - 1].counts;
    lm::improve_weights(to, last, expected, counts.data(), n, penalty, {share, momentum}, n_threads);
  }
}

double penalty(const py::array& weights, double alpha, double variance, int n_threads) {
  const double* data = vector_data<double>(weights, weights.size(), "weights");
  const int64_t n = weights.size();
  const ReleaseGil release;
  return lm::penalty_of(data, n, {alpha, variance}, n_threads);
}

}  // namespace

void register_modelm(py::module_& m) {
  py::class_<lm::HistoryForest>(m, "HistoryForest")
      .def_property_readonly("n_levels", [](const lm::HistoryForest& f) { return f.levels.size() + 1; })
      .def("counts", &counts_of, py::arg("level"))
      .def(
          "labels",
          [](const py::object& self, int64_t level) {
            return look(self, level_of(self.cast<const lm::HistoryForest&>(), level).labels);
          },
          py::arg("level"))
      .def(
          "starts",
          [](const py::object& self, int64_t level) {
            return look(self, level_of(self.cast<const lm::HistoryForest&>(), level).starts);
          },
          py::arg("level"))
      .def(
          "parents",
          [](const py::object& self, int64_t level) {
            return look(self, level_of(self.cast<const lm::HistoryForest&>(), level).parents);
          },
          py::arg("level"))
      .def(
          "symbols",
          [](const py::object& self, int64_t level) {
            return look(self, level_of(self.cast<const lm::HistoryForest&>(), level).symbols);
          },
          py::arg("level"));
  m.def("history_forest", &forest_of, py::arg("starts"), py::arg("ids"), py::arg("words"),
        py::arg("class_starts"), py::arg("begin"), py::arg("end"), py::arg("n_unpredicted"), py::arg("order"),
        py::arg("kind"), py::arg("n_threads"));
  m.def("sweep_forest", &sweep, py::arg("forest"), py::arg("weights"), py::arg("expectations"),
        py::arg("alpha"), py::arg("variance"), py::arg("solve"), py::arg("n_threads"));
  m.def("improve_weights", &improve, py::arg("forest"), py::arg("level"), py::arg("weights"),
        py::arg("reached"), py::arg("expectations"), py::arg("alpha"), py::arg("variance"), py::arg("share"),
        py::arg("momentum"), py::arg("n_threads"));
  m.def("weights_penalty", &penalty, py::arg("weights"), py::arg("alpha"), py::arg("variance"),
        py::arg("n_threads"));
}

}  // namespace semproj::bindings
