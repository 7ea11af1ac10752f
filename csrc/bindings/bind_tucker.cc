#include "bindings/bindings.h"
#include "models/tucker.h"

namespace semproj::bindings {
namespace {

template <class T>
void fold(const py::array& offsets, const py::array& keys, const py::array& factor, const py::array& children,
          int64_t first_child, const py::array& out, int n_threads) {
  const auto table = matrix_view<const T>(factor, "factor"),
             rows = matrix_view<const T>(children, "children");
  const auto result = matrix_view<T>(out, "out");
  const int64_t* bounds = vector_data<int64_t>(offsets, result.rows + 1, "offsets");
  const int64_t* key = vector_data<int64_t>(keys, rows.rows, "keys");
  if (result.cols != table.cols * rows.cols) throw py::value_error("out: wrong number of columns");
  if (!std::is_sorted(bounds, bounds + result.rows + 1)) throw py::value_error("offsets: must not decrease");
  if (!all_in_range(key, rows.rows, table.rows)) throw py::value_error("keys: out of range of the factor");
  const ReleaseGil release;
  fold_fibres<T>(bounds, key, table, rows, first_child, result, n_threads);
}

}  // namespace

void register_tucker(py::module_& m) {
  m.def(
      "fold_fibres",
      [](const py::array& offsets, const py::array& keys, const py::array& factor, const py::array& children,
         int64_t first_child, const py::array& out, int n_threads) {
        const auto chosen = has_dtype<double>(factor) ? &fold<double> : &fold<float>;
        chosen(offsets, keys, factor, children, first_child, out, n_threads);
      },
      py::arg("offsets"), py::arg("keys"), py::arg("factor"), py::arg("children"), py::arg("first_child"),
      py::arg("out"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
