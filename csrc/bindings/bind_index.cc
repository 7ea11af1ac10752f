#include "bindings/retrieve_arguments.h"

namespace semproj::bindings {
namespace {

void prepare(const py::array& rows, const std::string& metric, const py::array& out, const py::array& lengths,
             int n_threads) {
  const auto from = matrix_view<const float>(rows, "rows");
  const auto to = matrix_view<float>(out, "out");
  if (from.rows != to.rows || from.cols != to.cols) throw py::value_error("out: expected the shape of rows");
  double* found = output_data<double>(lengths, from.rows, "lengths");
  const RetrieveOptions options = options_of(metric, n_threads);
  const ReleaseGil release;
  prepare_rows(from, to, found, options);
}

NarrowRows narrow_rows(const py::object& codes, const py::object& scale, const py::object& error,
                       const MatrixView<const float>& rows) {
  NarrowRows narrow;
  if (codes.is_none()) return narrow;
  const auto given = py::cast<py::array>(codes);
  const bool bytes = has_dtype<uint8_t>(given), halves = given.dtype().kind() == 'f' && given.itemsize() == 2;
  if ((!bytes && !halves) || given.ndim() != 2 || given.shape(0) != rows.rows ||
      given.shape(1) != rows.cols || (given.flags() & py::array::c_style) == 0 || rows.cols > 65536) {
    throw py::value_error("codes: expected a contiguous matrix of uint8 or float16 in the shape of rows");
  }
  if (bytes) {
    narrow.bytes = static_cast<const uint8_t*>(given.data());
  } else {
    narrow.halves = aligned_data<uint16_t>(given, "codes");
  }
  narrow.scale = vector_data<float>(py::cast<py::array>(scale), rows.rows, "scale");
  narrow.error = vector_data<float>(py::cast<py::array>(error), rows.rows, "error");
  return narrow;
}

TopK search(const py::array& queries, const py::array& rows, const py::array& lengths, double longest,
            const py::object& codes, const py::object& scale, const py::object& error,
            const py::object& starts, const py::object& skipped, int64_t k, const std::string& metric,
            int n_threads) {
  const auto left = matrix_view<const float>(queries, "queries");
  const auto right = matrix_view<const float>(rows, "rows");
  if (left.cols != right.cols) throw py::value_error("rows: expected as many columns as queries");
  if (k < 1 || k > right.rows) throw py::value_error("k: expected between 1 and the rows");
  CorpusOptions known{vector_data<double>(lengths, right.rows, "lengths"), longest, {}, {}};
  if (!starts.is_none()) {
    const auto offsets = py::cast<py::array>(starts);
    known.skipped.one_for_all = offsets.size() == 2 && left.rows != 1;
    const int64_t lists = known.skipped.one_for_all ? 1 : left.rows;
    known.skipped.starts = vector_data<int64_t>(offsets, lists + 1, "starts");
    if (!rise_from_zero(known.skipped.starts, lists + 1)) {
      throw py::value_error("starts: expected offsets that begin with 0 and do not fall");
    }
    const int64_t total = known.skipped.starts[lists];
    known.skipped.rows = vector_data<int64_t>(py::cast<py::array>(skipped), total, "skipped");
    if (!all_in_range(known.skipped.rows, total, right.rows)) {
      throw py::value_error("skipped: expected numbers of rows");
    }
  }
  known.narrow = narrow_rows(codes, scale, error, right);
  const RetrieveOptions options = options_of(metric, n_threads);
  if (known.narrow.exists() && options.metric != Metric::cosine && options.metric != Metric::inner_product) {
    throw py::value_error("metric: narrow rows are compared by 'cosine' or 'inner_product'");
  }
  TopK found{py::array_t<int64_t>({left.rows, k}), py::array_t<float>({left.rows, k})};
  int64_t* indices = found.indices.mutable_data();
  float* scores = found.scores.mutable_data();
  const ReleaseGil release;
  top_k(left, right, k, indices, scores, options, known);
  return found;
}

}  // namespace

void register_index(py::module_& m) {
  m.def("prepare_rows", &prepare, py::arg("rows"), py::arg("metric"), py::arg("out"), py::arg("lengths"),
        py::arg("n_threads"));
  m.def("search_rows", &search, py::arg("queries"), py::arg("rows"), py::arg("lengths"), py::arg("longest"),
        py::arg("codes").none(true), py::arg("scale").none(true), py::arg("error").none(true),
        py::arg("starts").none(true), py::arg("skipped").none(true), py::arg("k"), py::arg("metric"),
        py::arg("n_threads"));
}

}  // namespace semproj::bindings
