#include "bindings/topic_arguments.h"
#include "models/cplsa.h"

namespace semproj::bindings {
namespace {

// A contiguous vector that is written to.
template <class T>
T* output(const py::array& a, int64_t size, const char* name) {
  const T* data = vector_data<T>(a, size, name);
  if (!a.writeable()) throw py::value_error(std::string(name) + ": is read-only");
  return const_cast<T*>(data);
}

py::tuple sweep(CorpusArgument& corpus, TopicWords& words, const py::array& theta,
                const py::array& multipliers, const py::array& gaps, const py::array& converged, double alpha,
                double beta, double coupling, bool l2, double tol, int64_t max_evaluations, bool update,
                int n_threads) {
  const int64_t n_documents = corpus.corpus.documents().n_rows;
  const auto view = document_topics<float>(theta, n_documents, words.n_topics());
  const auto lambda = document_topics<float>(multipliers, n_documents / 2, words.n_topics(), "multipliers");
  const PairReports reports{output<double>(gaps, n_documents / 2, "gaps"),
                            output<uint8_t>(converged, n_documents / 2, "converged")};
  corpus.check(words);
  if (corpus.corpus.group() != 2) throw py::value_error("corpus: expected pairs of documents");
  CoupledSweep found{};
  {
    const py::gil_scoped_release release;
    found = cplsa_sweep(corpus.corpus, words, view, lambda, reports, alpha, beta,
                        {coupling, l2, tol, max_evaluations}, update, n_threads, active_isa());
  }
  return py::make_tuple(found.log_likelihood, found.log_prior, found.evaluations);
}

void project(const CsrArgument& first, const CsrArgument& second, const TopicWords& first_words,
             const TopicWords& second_words, const py::array& first_theta, const py::array& second_theta,
             const py::array& multipliers, const py::array& first_fractions,
             const py::array& second_fractions, const py::array& gaps, const py::array& evaluations,
             double coupling, bool l2, double tol, int64_t max_evaluations, int n_threads) {
  const auto one = topic_documents(first, first_words.n_words());
  const auto two = topic_documents(second, second_words.n_words());
  const int64_t n = one.n_rows, k = first_words.n_topics();
  if (two.n_rows != n || second_words.n_topics() != k) {
    throw py::value_error("second: expected as many documents and topics as first");
  }
  const PairSide a{one, first_words, document_topics<const float>(first_theta, n, k),
                   document_topics<float>(first_fractions, n, k, "fractions")};
  const PairSide b{two, second_words, document_topics<const float>(second_theta, n, k),
                   document_topics<float>(second_fractions, n, k, "fractions")};
  const auto lambda = document_topics<float>(multipliers, n, k, "multipliers");
  double* found_gaps = output<double>(gaps, n, "gaps");
  int64_t* counts = output<int64_t>(evaluations, n, "evaluations");
  const py::gil_scoped_release release;
  project_posteriors(a, b, lambda, found_gaps, counts, {coupling, l2, tol, max_evaluations}, n_threads,
                     active_isa());
}

}  // namespace

void register_cplsa(py::module_& m) {
  m.def("cplsa_sweep", &sweep, py::arg("corpus"), py::arg("words"), py::arg("theta"), py::arg("multipliers"),
        py::arg("gaps"), py::arg("converged"), py::arg("alpha"), py::arg("beta"), py::arg("coupling"),
        py::arg("l2"), py::arg("tol"), py::arg("max_evaluations"), py::arg("update"), py::arg("n_threads"));
  m.def("project_posteriors", &project, py::arg("first"), py::arg("second"), py::arg("first_words"),
        py::arg("second_words"), py::arg("first_theta"), py::arg("second_theta"), py::arg("multipliers"),
        py::arg("first_fractions"), py::arg("second_fractions"), py::arg("gaps"), py::arg("evaluations"),
        py::arg("coupling"), py::arg("l2"), py::arg("tol"), py::arg("max_evaluations"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
