#pragma once
// Sparse rows times a dense projection: the step every linear model ends in.

#include "core/cpu.h"
#include "core/views.h"
#include "kernels/pack.h"
#include "kernels/weight.h"

namespace semproj {

struct ProjectOptions {
  Weighting weighting;
  bool normalize = false;   // rows of the result are scaled to unit length (zero rows stay zero)
  bool accumulate = false;  // add to the output instead of overwriting it
  int n_threads = 1;
  Isa isa = Isa::baseline;
};

// out = weighting(rows) * projection. Out is double for float64 storage and float otherwise; offsets must not
// decrease. Throws std::invalid_argument for a column out of range or a value that is not finite.
template <class Index, class Value, class Out>
void project(const CsrView<Index, Value>& rows, const PackedProjection& projection,
             const MatrixView<Out>& out, const ProjectOptions& options);

}  // namespace semproj
