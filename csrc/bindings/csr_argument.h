#pragma once
// The CSR matrix and the term weighting as Python hands them over.

#include <algorithm>

#include "bindings/bindings.h"
#include "kernels/weight.h"

namespace semproj::bindings {

struct CsrArgument {
  py::array indptr, indices, data;
  int64_t n_cols;

  int64_t n_rows() const { return indptr.size() - 1; }

  // Calls f with the view of the dtypes that came.
  template <class F>
  void visit(F&& f) const {
    if (py::isinstance<py::array_t<int64_t>>(indices)) {
      visit_values<int64_t>(f);
    } else {
      visit_values<int32_t>(f);
    }
  }

 private:
  template <class Index, class Value>
  CsrView<Index, Value> view() const {
    if (n_rows() < 0 || n_cols < 0) throw py::value_error("X: indptr must have at least one element");
    CsrView<Index, Value> v{n_rows(), n_cols, vector_data<int64_t>(indptr, n_rows() + 1, "X.indptr"),
                            vector_data<Index>(indices, indices.size(), "X.indices"),
                            vector_data<Value>(data, data.size(), "X.data")};
    int64_t previous = 0;
    for (int64_t r = 0; r <= v.n_rows; ++r) {
      if (v.indptr[r] < previous) throw py::value_error("X: indptr must not be negative or decrease");
      previous = v.indptr[r];
    }
    if (previous > std::min<int64_t>(indices.size(), data.size())) {
      throw py::value_error("X: indptr points outside of indices and data");
    }
    return v;
  }

  template <class Index, class F>
  void visit_values(F& f) const {
    if (py::isinstance<py::array_t<double>>(data)) {
      f(view<Index, double>());
    } else if (py::isinstance<py::array_t<int32_t>>(data)) {
      f(view<Index, int32_t>());
    } else {
      f(view<Index, float>());
    }
  }
};

// Holds a reference to the array its weights live in.
struct WeightingArgument {
  std::string kind;
  py::array term_weight;
  double k1, b, mean_length;

  Weighting view(int64_t n_cols) const;
};

}  // namespace semproj::bindings
