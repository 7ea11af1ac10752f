#include "bindings/retrieve_arguments.h"
#include "kernels/ranks.h"

namespace semproj::bindings {
namespace {

struct TrueRanks {
  py::array_t<int64_t> forward, backward;
};

// Of each row to be found: how many others are nearer to its query, or as near.
struct GoldRanks {
  py::array_t<int64_t> nearer, tied;
};

TopK find(const py::array& queries, const py::array& corpus, int64_t k, const std::string& metric,
          int n_threads) {
  const auto left = matrix_view<const float>(queries, "queries");
  const auto right = matrix_view<const float>(corpus, "corpus");
  if (left.cols != right.cols) throw py::value_error("corpus: expected as many columns as queries");
  if (k < 1 || k > right.rows) throw py::value_error("k: expected between 1 and the rows of the corpus");
  const RetrieveOptions options = options_of(metric, n_threads);
  TopK found{py::array_t<int64_t>({left.rows, k}), py::array_t<float>({left.rows, k})};
  int64_t* indices = found.indices.mutable_data();
  float* scores = found.scores.mutable_data();
  const ReleaseGil release;
  top_k(left, right, k, indices, scores, options);
  return found;
}

TrueRanks rank(const py::array& a, const py::array& b, const std::string& metric, int n_threads) {
  const auto left = matrix_view<const float>(a, "a"), right = matrix_view<const float>(b, "b");
  if (left.rows != right.rows || left.cols != right.cols) throw py::value_error("b: expected the shape of a");
  const RetrieveOptions options = options_of(metric, n_threads);
  TrueRanks found{py::array_t<int64_t>(left.rows), py::array_t<int64_t>(left.rows)};
  int64_t *forward = found.forward.mutable_data(), *backward = found.backward.mutable_data();
  const ReleaseGil release;
  true_ranks(left, right, forward, backward, options);
  return found;
}

GoldRanks rank_gold(const py::array& queries, const py::array& corpus, int64_t rivals,
                    const py::array& starts, const py::array& rows, const std::string& metric,
                    int n_threads) {
  const auto left = matrix_view<const float>(queries, "queries");
  const auto right = matrix_view<const float>(corpus, "corpus");
  if (left.cols != right.cols) throw py::value_error("corpus: expected as many columns as queries");
  if (rivals < 0 || rivals > right.rows) throw py::value_error("rivals: expected at most the rows of corpus");
  const int64_t* offsets = vector_data<int64_t>(starts, left.rows + 1, "starts");
  if (!rise_from_zero(offsets, left.rows + 1)) {
    throw py::value_error("starts: expected offsets that begin with 0 and do not fall");
  }
  const int64_t pairs = offsets[left.rows];
  const int64_t* gold = vector_data<int64_t>(rows, pairs, "rows");
  if (!all_in_range(gold, pairs, right.rows)) {
    throw py::value_error("rows: expected numbers of rows of corpus");
  }
  const RetrieveOptions options = options_of(metric, n_threads);
  GoldRanks found{py::array_t<int64_t>(pairs), py::array_t<int64_t>(pairs)};
  int64_t *nearer = found.nearer.mutable_data(), *tied = found.tied.mutable_data();
  const ReleaseGil release;
  gold_ranks(left, right, rivals, {offsets, gold}, nearer, tied, options);
  return found;
}

}  // namespace

void register_retrieve(py::module_& m) {
  py::class_<TopK>(m, "TopK").def_readonly("indices", &TopK::indices).def_readonly("scores", &TopK::scores);
  py::class_<TrueRanks>(m, "TrueRanks")
      .def_readonly("forward", &TrueRanks::forward)
      .def_readonly("backward", &TrueRanks::backward);
  py::class_<GoldRanks>(m, "GoldRanks")
      .def_readonly("nearer", &GoldRanks::nearer)
      .def_readonly("tied", &GoldRanks::tied);
  m.def("top_k", &find, py::arg("queries"), py::arg("corpus"), py::arg("k"), py::arg("metric"),
        py::arg("n_threads"));
  m.def("gold_ranks", &rank_gold, py::arg("queries"), py::arg("corpus"), py::arg("rivals"), py::arg("starts"),
        py::arg("rows"), py::arg("metric"), py::arg("n_threads"));
  m.def("true_ranks", &rank, py::arg("a"), py::arg("b"), py::arg("metric"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
