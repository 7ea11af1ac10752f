#include "bindings/csr_argument.h"
#include "bindings/weighting_argument.h"

namespace semproj::bindings {
namespace {

WeightKind parse_kind(const std::string& name) {
  if (name == "log_tfidf") return WeightKind::log_tfidf;
  if (name == "tfidf") return WeightKind::tfidf;
  if (name == "bm25") return WeightKind::bm25;
  throw py::value_error("kind: expected 'log_tfidf', 'tfidf' or 'bm25', got '" + name + "'");
}

template <class Out>
void run(const CsrArgument& x, const Weighting& weighting, const py::array& out, int n_threads) {
  Out* result = output_data<Out>(out, x.data.size(), "out");
  x.visit([&](const auto& rows) {
    const ReleaseGil release;
    weight_rows(rows, weighting, result, n_threads);
  });
}

}  // namespace

Weighting WeightingArgument::view(int64_t n_cols) const {
  Weighting w;
  w.kind = parse_kind(kind);
  w.term_weight = vector_data<double>(term_weight, n_cols, "term_weight");
  w.k1 = k1;
  w.b = b;
  w.mean_length = mean_length;
  return w;
}

void register_weight(py::module_& m) {
  py::class_<WeightingArgument>(m, "Weighting")
      .def(py::init<std::string, py::array, double, double, double>(), py::arg("kind"),
           py::arg("term_weight"), py::arg("k1") = 0.0, py::arg("b") = 0.0, py::arg("mean_length") = 1.0);
  m.def(
      "weight",
      [](const CsrArgument& x, const WeightingArgument& weighting, const py::array& out, int n_threads) {
        const Weighting w = weighting.view(x.n_cols);
        if (has_dtype<double>(out)) {
          run<double>(x, w, out, n_threads);
        } else {
          run<float>(x, w, out, n_threads);
        }
      },
      py::arg("x"), py::arg("weighting"), py::arg("out"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
