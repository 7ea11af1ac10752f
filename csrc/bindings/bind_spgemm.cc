#include <algorithm>

#include "bindings/csr_argument.h"
#include "kernels/spgemm.h"

namespace semproj::bindings {
namespace {

// The right factor, checked as a whole: the kernel trusts it.
CsrView<int32_t, float> matrix_of(const py::array& indptr, const py::array& indices, const py::array& data,
                                  int64_t n_rows, int64_t n_cols) {
  const CsrView<int32_t, float> m{n_rows, n_cols, vector_data<int64_t>(indptr, n_rows + 1, "matrix.indptr"),
                                  vector_data<int32_t>(indices, data.size(), "matrix.indices"),
                                  vector_data<float>(data, data.size(), "matrix.data")};
  const bool ordered = m.indptr[0] == 0 && std::is_sorted(m.indptr, m.indptr + n_rows + 1);
  if (!ordered || m.indptr[n_rows] != data.size()) {
    throw py::value_error("matrix: indptr must begin with 0, not decrease and end with the non-zeros");
  }
  int32_t least = 0, most = -1;
  for (int64_t i = 0; i < data.size(); ++i) {
    least = std::min(least, m.indices[i]);
    most = std::max(most, m.indices[i]);
  }
  if (least < 0 || most >= n_cols) throw py::value_error("matrix: column indices out of range");
  return m;
}

template <class Value>
py::tuple multiply(const CsrArgument& x, const CsrView<int32_t, float>& matrix, int n_threads) {
  std::vector<ProductPart<Value>> parts;
  x.visit([&](const auto& rows) {
    const py::gil_scoped_release release;
    parts = multiply_sparse<Value>(rows, matrix, n_threads);
  });
  int64_t n = 0;
  for (const auto& part : parts) n += static_cast<int64_t>(part.indices.size());
  py::array_t<int64_t> indptr(x.n_rows() + 1);
  py::array_t<int32_t> indices(n);
  py::array_t<Value> data(n);
  int64_t* starts = indptr.mutable_data();
  int32_t* columns = indices.mutable_data();
  Value* values = data.mutable_data();
  {
    const py::gil_scoped_release release;
    join_parts(&parts, starts, columns, values, n_threads);
  }
  return py::make_tuple(indptr, indices, data);
}

}  // namespace

void register_spgemm(py::module_& m) {
  m.def(
      "multiply_sparse",
      [](const CsrArgument& x, const py::array& indptr, const py::array& indices, const py::array& data,
         int64_t n_cols, int n_threads) {
        const auto matrix = matrix_of(indptr, indices, data, x.n_cols, n_cols);
        return py::isinstance<py::array_t<double>>(x.data) ? multiply<double>(x, matrix, n_threads)
                                                           : multiply<float>(x, matrix, n_threads);
      },
      py::arg("x"), py::arg("indptr"), py::arg("indices"), py::arg("data"), py::arg("n_cols"),
      py::arg("n_threads"));
}

}  // namespace semproj::bindings
