#pragma once
// The term weighting as Python hands it over.

#include "bindings/bindings.h"
#include "kernels/weight.h"

namespace semproj::bindings {

// Holds a reference to the array its weights live in.
struct WeightingArgument {
  std::string kind;
  py::array term_weight;
  double k1, b, mean_length;

  Weighting view(int64_t n_cols) const;
};

}  // namespace semproj::bindings
