#include <pybind11/stl.h>

#include <memory>
#include <utility>
#include <vector>

#include "bindings/topic_arguments.h"
#include "models/plsa.h"

namespace semproj::bindings {
namespace {

py::array_t<float> values_of(const TopicWords& words, int n_threads) {
  py::array_t<float> out({words.n_words(), words.n_topics()});
  const auto view = matrix_view<float>(out, "out");
  const ReleaseGil release;
  words.copy_to(view, n_threads);
  return out;
}

TopicObjective sweep(CorpusArgument& corpus, TopicWords& words, const py::array& theta, double alpha,
                     double beta, double tempering, bool update, int n_threads) {
  const auto view = document_topics<float>(theta, corpus.corpus.documents().n_rows, words.n_topics());
  corpus.check(words);
  const ReleaseGil release;
  return plsa_sweep(corpus.corpus, words, view, {alpha, beta, tempering}, update, n_threads, active_isa());
}

void fold(const CsrArgument& x, const TopicWords& words, double alpha, int64_t iterations,
          const py::array& out, int n_threads) {
  const auto documents = topic_documents(x, words.n_words());
  const auto theta = document_topics<float>(out, documents.n_rows, words.n_topics());
  bool finite = false;
  {
    const ReleaseGil release;
    finite = fold_in(documents, words, alpha, iterations, theta, n_threads, active_isa());
  }
  if (!finite) throw py::value_error("X: counts are too large");
}

TokenSums likelihood(const CsrArgument& x, const TopicWords& words, const py::array& theta, int n_threads) {
  const auto documents = topic_documents(x, words.n_words());
  const auto view = document_topics<const float>(theta, documents.n_rows, words.n_topics());
  const ReleaseGil release;
  return token_likelihood(documents, words, view, n_threads, active_isa());
}

TokenSums completion(const CsrArgument& x, const TopicWords& words, double alpha, int64_t iterations,
                     uint64_t key, int n_threads) {
  const auto documents = topic_documents(x, words.n_words());
  const ReleaseGil release;
  return document_completion(documents, words, alpha, iterations, key, n_threads, active_isa());
}

}  // namespace

void register_plsa(py::module_& m) {
  py::class_<TopicWords>(m, "TopicWords")
      .def(py::init([](const py::array& values, int n_threads) {
             const auto view = matrix_view<const float>(values, "values");
             const ReleaseGil release;
             return std::make_unique<TopicWords>(view, n_threads);
           }),
           py::arg("values"), py::arg("n_threads"))
      .def("values", &values_of, py::arg("n_threads"));
  py::class_<CorpusArgument>(m, "TopicCorpus")
      .def(py::init([](const CsrArgument& x, const std::vector<int64_t>& view_starts, int64_t n_topics,
                       int64_t group, int n_threads) {
             const auto documents = topic_documents(x, x.n_cols);
             bool good = view_starts.size() > 1 && view_starts.front() == 0 &&
                         view_starts.back() == documents.n_cols && n_topics > 0 && group > 0 &&
                         documents.n_rows % group == 0;
             for (size_t v = 0; v + 1 < view_starts.size(); ++v) good &= view_starts[v] <= view_starts[v + 1];
             if (!good) throw py::value_error("view_starts: expected where views begin, and the end");
             CsrArgument kept = x;  // with the GIL: it holds references
             const ReleaseGil release;
             return std::unique_ptr<CorpusArgument>(
                 new CorpusArgument{std::move(kept), {documents, view_starts, n_topics, group, n_threads}});
           }),
           py::arg("x"), py::arg("view_starts"), py::arg("n_topics"), py::arg("group"), py::arg("n_threads"));
  py::class_<TopicObjective>(m, "TopicObjective")
      .def_readonly("log_likelihood", &TopicObjective::log_likelihood)
      .def_readonly("log_prior", &TopicObjective::log_prior);
  py::class_<TokenSums>(m, "TokenSums")
      .def_readonly("log_likelihood", &TokenSums::log_likelihood)
      .def_readonly("mass", &TokenSums::mass);
  m.def("plsa_sweep", &sweep, py::arg("corpus"), py::arg("words"), py::arg("theta"), py::arg("alpha"),
        py::arg("beta"), py::arg("tempering"), py::arg("update"), py::arg("n_threads"));
  m.def("fold_in", &fold, py::arg("x"), py::arg("words"), py::arg("alpha"), py::arg("iterations"),
        py::arg("out"), py::arg("n_threads"));
  m.def("token_likelihood", &likelihood, py::arg("x"), py::arg("words"), py::arg("theta"),
        py::arg("n_threads"));
  m.def("document_completion", &completion, py::arg("x"), py::arg("words"), py::arg("alpha"),
        py::arg("iterations"), py::arg("key"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
