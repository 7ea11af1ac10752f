#include <memory>

#include "bindings/csr_argument.h"
#include "models/wordbyword.h"

namespace semproj::bindings {
namespace {

// What one iteration of EM has found; a row for each source word and one for the beginning of a sentence.
struct HmmExpectations {
  double log_likelihood;
  py::array_t<double> counts, exposure;
};

void check_ids(const int32_t* ids, int64_t n, int32_t limit, const char* name) {
  if (!all_in_range(ids, n, limit)) {
    throw py::value_error(std::string(name) + ": word ids out of range");
  }
}

void check_ranges(const int64_t* begin, const int64_t* end, int64_t n, int64_t size, const char* name) {
  for (int64_t i = 0; i < n; ++i) {
    if (begin[i] < 0 || begin[i] >= end[i] || end[i] > size) {
      throw py::value_error(std::string(name) + ": ranges must not be empty and lie within the words");
    }
  }
}

std::unique_ptr<WordAligner> make_aligner(const py::array& source, const py::array& target,
                                          const py::array& source_begin, const py::array& source_end,
                                          const py::array& target_begin, const py::array& target_end,
                                          int32_t n_source, int32_t n_target, int64_t min_cooccurrence,
                                          int64_t chunk_cells, int n_threads) {
  const int64_t n = source_begin.size();
  const SentencePairs pairs{n,
                            vector_data<int32_t>(source, source.size(), "source"),
                            vector_data<int32_t>(target, target.size(), "target"),
                            vector_data<int64_t>(source_begin, n, "source_begin"),
                            vector_data<int64_t>(source_end, n, "source_end"),
                            vector_data<int64_t>(target_begin, n, "target_begin"),
                            vector_data<int64_t>(target_end, n, "target_end"),
                            n_source,
                            n_target};
  check_ids(pairs.source, source.size(), n_source, "source");
  check_ids(pairs.target, target.size(), n_target, "target");
  check_ranges(pairs.source_begin, pairs.source_end, n, source.size(), "source_begin");
  check_ranges(pairs.target_begin, pairs.target_end, n, target.size(), "target_begin");
  const ReleaseGil release;
  return std::make_unique<WordAligner>(pairs, min_cooccurrence, chunk_cells, active_isa(), n_threads);
}

HmmExpectations hmm(WordAligner& aligner, const py::array& jumps, double null_probability) {
  const MatrixView<const float> weights = matrix_view<const float>(jumps, "jumps");
  const auto k = static_cast<int>(weights.cols);
  if (weights.rows != aligner.n_source() + 1 || k < 3 || k % 2 == 0 || weights.stride != k) {
    throw py::value_error("jumps: expected a contiguous matrix with a row for each source word and one more");
  }
  HmmExpectations found{0, py::array_t<double>({weights.rows, weights.cols}),
                        py::array_t<double>({weights.rows, weights.cols})};
  double *counts = found.counts.mutable_data(), *exposure = found.exposure.mutable_data();
  const ReleaseGil release;
  found.log_likelihood = aligner.hmm({(k - 3) / 2}, null_probability, weights.data, counts, exposure);
  return found;
}

// Row n_source is the null word's.
CsrArgument probable_cells(const WordAligner& aligner, double min_probability) {
  TranslationCells cells = aligner.cells(min_probability);
  return {array_of(std::move(cells.starts)), array_of(std::move(cells.columns)),
          array_of(std::move(cells.values)), aligner.n_target()};
}

}  // namespace

void register_wordbyword(py::module_& m) {
  py::class_<HmmExpectations>(m, "HmmExpectations")
      .def_readonly("log_likelihood", &HmmExpectations::log_likelihood)
      .def_readonly("counts", &HmmExpectations::counts)
      .def_readonly("exposure", &HmmExpectations::exposure);
  py::class_<WordAligner>(m, "WordAligner")
      .def(py::init(&make_aligner), py::arg("source"), py::arg("target"), py::arg("source_begin"),
           py::arg("source_end"), py::arg("target_begin"), py::arg("target_end"), py::arg("n_source"),
           py::arg("n_target"), py::arg("min_cooccurrence"), py::arg("chunk_cells"), py::arg("n_threads"))
      .def("model1", &WordAligner::model1, py::call_guard<ReleaseGil>())
      .def("hmm", &hmm, py::arg("jumps"), py::arg("null_probability"))
      .def_property_readonly("n_cells", &WordAligner::n_cells)
      .def("cells", &probable_cells, py::arg("min_probability"));
}

}  // namespace semproj::bindings
