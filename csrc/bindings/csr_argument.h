#pragma once
// Rows of a sparse matrix as they cross the binding, in both directions: `Csr` in Python.

#include "bindings/bindings.h"

namespace semproj::bindings {

struct CsrArgument {
  py::array indptr, indices, data;
  int64_t n_cols;

  int64_t n_rows() const { return indptr.size() - 1; }

  // Calls f with the view of the dtypes that came. `name` is what errors call the matrix.
  template <class F>
  void visit(F&& f, const char* name = "X") const {
    if (has_dtype<int64_t>(indices)) {
      visit_values<int64_t>(f, name);
    } else {
      visit_values<int32_t>(f, name);
    }
  }

  // The view of these dtypes; others are refused. Offsets are checked, columns are not.
  template <class Index, class Value>
  CsrView<Index, Value> view(const char* name = "X") const {
    const std::string prefix = name;
    if (n_rows() < 0 || n_cols < 0) throw py::value_error(prefix + ": indptr must have at least one element");
    const CsrView<Index, Value> v{n_rows(), n_cols,
                                  vector_data<int64_t>(indptr, n_rows() + 1, (prefix + ".indptr").c_str()),
                                  vector_data<Index>(indices, indices.size(), (prefix + ".indices").c_str()),
                                  vector_data<Value>(data, data.size(), (prefix + ".data").c_str())};
    if (v.indptr[0] < 0 || !std::is_sorted(v.indptr, v.indptr + v.n_rows + 1)) {
      throw py::value_error(prefix + ": indptr must not be negative or decrease");
    }
    if (v.indptr[v.n_rows] > std::min<int64_t>(indices.size(), data.size())) {
      throw py::value_error(prefix + ": indptr points outside of indices and data");
    }
    return v;
  }

 private:
  template <class Index, class F>
  void visit_values(F& f, const char* name) const {
    if (has_dtype<double>(data)) {
      f(view<Index, double>(name));
    } else if (has_dtype<int32_t>(data)) {
      f(view<Index, int32_t>(name));
    } else {
      f(view<Index, float>(name));
    }
  }
};

// For kernels that trust the columns. May be called without the GIL.
template <class Index, class Value>
void check_columns(const CsrView<Index, Value>& x, const char* name = "X") {
  const int64_t first = x.indptr[0];
  if (!all_in_range(x.indices + first, x.indptr[x.n_rows] - first, x.n_cols)) {
    throw py::value_error(std::string(name) + ": column indices out of range");
  }
}

}  // namespace semproj::bindings
