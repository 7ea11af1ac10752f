#include "bindings/csr_argument.h"
#include "bindings/retrieve_arguments.h"
#include "kernels/sparse_topk.h"

namespace semproj::bindings {
namespace {

TopK find(const CsrArgument& queries, const CsrArgument& corpus, int64_t k, const std::string& metric,
          int n_threads) {
  const RetrieveOptions options = options_of(metric, n_threads);
  if (options.metric != Metric::cosine && options.metric != Metric::inner_product) {
    throw py::value_error("metric: expected 'cosine' or 'inner_product' of sparse rows, got '" + metric +
                          "'");
  }
  if (queries.n_cols != corpus.n_cols) throw py::value_error("corpus: expected as many columns as queries");
  if (k < 1 || k > corpus.n_rows()) throw py::value_error("k: expected between 1 and the rows of the corpus");
  if (corpus.n_rows() > int64_t{std::numeric_limits<uint32_t>::max()}) {
    throw py::value_error("corpus: expected fewer than 2^32 rows");
  }
  TopK found{py::array_t<int64_t>({queries.n_rows(), k}), py::array_t<float>({queries.n_rows(), k})};
  int64_t* indices = found.indices.mutable_data();
  float* scores = found.scores.mutable_data();
  queries.visit(
      [&](const auto& left) {
        corpus.visit(
            [&](const auto& right) {
              const ReleaseGil release;
              const InvertedRows inverted =
                  invert_rows(right, options.metric, used_columns(left, "queries"), n_threads);
              sparse_top_k(left, inverted, k, indices, scores, options);
            },
            "corpus");
      },
      "queries");
  return found;
}

}  // namespace

void register_sparse_topk(py::module_& m) {
  m.def("sparse_top_k", &find, py::arg("queries"), py::arg("corpus"), py::arg("k"), py::arg("metric"),
        py::arg("n_threads"));
}

}  // namespace semproj::bindings
