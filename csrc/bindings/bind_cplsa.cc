#include "bindings/topic_arguments.h"
#include "models/cplsa.h"

namespace semproj::bindings {
namespace {

// Holds references to the arrays; Python keeps the words alive.
struct PairSideArgument {
  CsrArgument documents;
  const TopicWords* words;
  py::array theta, fractions;
};

CoupledSweep sweep(CorpusArgument& corpus, TopicWords& words, const py::array& theta,
                   const py::array& multipliers, const py::array& gaps, const py::array& converged,
                   double alpha, double beta, const Coupling& coupling, bool update, int n_threads) {
  const int64_t n_documents = corpus.corpus.documents().n_rows;
  const auto view = document_topics<float>(theta, n_documents, words.n_topics());
  const auto lambda = document_topics<float>(multipliers, n_documents / 2, words.n_topics(), "multipliers");
  const PairReports reports{output_data<double>(gaps, n_documents / 2, "gaps"),
                            output_data<uint8_t>(converged, n_documents / 2, "converged")};
  corpus.check(words);
  if (corpus.corpus.group() != 2) throw py::value_error("corpus: expected pairs of documents");
  const ReleaseGil release;
  return cplsa_sweep(corpus.corpus, words, view, lambda, reports, alpha, beta, coupling, update, n_threads,
                     active_isa());
}

void project(const PairSideArgument& first, const PairSideArgument& second, const py::array& multipliers,
             const py::array& gaps, const py::array& evaluations, const Coupling& coupling, int n_threads) {
  const auto one = topic_documents(first.documents, first.words->n_words());
  const auto two = topic_documents(second.documents, second.words->n_words());
  const int64_t n = one.n_rows, k = first.words->n_topics();
  if (two.n_rows != n || second.words->n_topics() != k) {
    throw py::value_error("second: expected as many documents and topics as first");
  }
  const PairSide a{one, *first.words, document_topics<const float>(first.theta, n, k),
                   document_topics<float>(first.fractions, n, k, "fractions")};
  const PairSide b{two, *second.words, document_topics<const float>(second.theta, n, k),
                   document_topics<float>(second.fractions, n, k, "fractions")};
  const auto lambda = document_topics<float>(multipliers, n, k, "multipliers");
  double* found_gaps = output_data<double>(gaps, n, "gaps");
  int64_t* counts = output_data<int64_t>(evaluations, n, "evaluations");
  const ReleaseGil release;
  project_posteriors(a, b, lambda, found_gaps, counts, coupling, n_threads, active_isa());
}

}  // namespace

void register_cplsa(py::module_& m) {
  py::class_<Coupling>(m, "Coupling")
      .def(py::init([](double weight, bool l2, double tol, int64_t max_evaluations, uintptr_t prox,
                       double slack_tol) {
             const auto function = reinterpret_cast<ProximalFunction>(prox);
             return Coupling{weight, l2, tol, max_evaluations, function, slack_tol};
           }),
           py::arg("weight"), py::arg("l2"), py::arg("tol"), py::arg("max_evaluations"), py::arg("prox") = 0,
           py::arg("slack_tol") = 0.0);
  py::class_<FailedCall>(m, "FailedCall")
      .def_readonly("dual", &FailedCall::dual)
      .def_readonly("coupling", &FailedCall::coupling)
      .def_readonly("step", &FailedCall::step);
  py::class_<CoupledSweep>(m, "CoupledSweep")
      .def_readonly("log_likelihood", &CoupledSweep::log_likelihood)
      .def_readonly("log_prior", &CoupledSweep::log_prior)
      .def_readonly("evaluations", &CoupledSweep::evaluations)
      .def_readonly("failed_pair", &CoupledSweep::failed_pair)
      .def_readonly("failure", &CoupledSweep::failure);
  py::class_<PairSideArgument>(m, "PairSide")
      .def(py::init([](const CsrArgument& documents, const TopicWords& words, const py::array& theta,
                       const py::array& fractions) {
             return PairSideArgument{documents, &words, theta, fractions};
           }),
           py::arg("documents"), py::arg("words"), py::arg("theta"), py::arg("fractions"),
           py::keep_alive<1, 3>());
  m.def("cplsa_sweep", &sweep, py::arg("corpus"), py::arg("words"), py::arg("theta"), py::arg("multipliers"),
        py::arg("gaps"), py::arg("converged"), py::arg("alpha"), py::arg("beta"), py::arg("coupling"),
        py::arg("update"), py::arg("n_threads"));
  m.def("project_posteriors", &project, py::arg("first"), py::arg("second"), py::arg("multipliers"),
        py::arg("gaps"), py::arg("evaluations"), py::arg("coupling"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
