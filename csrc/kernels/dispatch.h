#pragma once
// From an instruction set to its functions. Nothing else in the library chooses between variants.

#include <type_traits>

#include "core/cpu.h"
#include "kernels/simd/table.h"

namespace semproj {

// The functions of a variant that this CPU can run. Built when they are first asked for, and kept.
const simd::Table& simd_table(Isa isa);

// Its small dense algebra in the precision of T.
template <class T>
const simd::DenseTable<T>& dense_table(Isa isa) {
  if constexpr (std::is_same_v<T, float>) {
    return simd_table(isa).float32;
  } else {
    return simd_table(isa).float64;
  }
}

}  // namespace semproj
