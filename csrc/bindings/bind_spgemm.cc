#include "bindings/csr_argument.h"
#include "kernels/spgemm.h"

namespace semproj::bindings {
namespace {

template <class Value>
CsrArgument multiply(const CsrArgument& x, const CsrView<int32_t, float>& matrix, int n_threads) {
  std::vector<ProductPart<Value>> parts;
  x.visit([&](const auto& rows) {
    const ReleaseGil release;
    check_columns(matrix, "matrix");  // the kernel trusts those of the right factor alone
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
    const ReleaseGil release;
    join_parts(&parts, starts, columns, values, n_threads);
  }
  return {indptr, indices, data, matrix.n_cols};
}

CsrArgument multiply_by_dtype(const CsrArgument& x, const CsrArgument& matrix, int n_threads) {
  const auto right = matrix.view<int32_t, float>("matrix");
  if (right.n_rows != x.n_cols) throw py::value_error("matrix: expected a row for each column of X");
  return has_dtype<double>(x.data) ? multiply<double>(x, right, n_threads)
                                   : multiply<float>(x, right, n_threads);
}

}  // namespace

void register_spgemm(py::module_& m) {
  m.def("multiply_sparse", &multiply_by_dtype, py::arg("x"), py::arg("matrix"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
