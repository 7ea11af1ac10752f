#pragma once
// Everything that is compiled once per instruction set, in one table of functions for each (see
// cmake/simd.cmake). kernels/dispatch.h chooses among them.

#include "kernels/simd/codes.h"
#include "kernels/simd/contrasts.h"
#include "kernels/simd/duals.h"
#include "kernels/simd/neurons.h"
#include "kernels/simd/rows.h"
#include "kernels/simd/scores.h"
#include "kernels/simd/streams.h"
#include "kernels/simd/systems.h"
#include "kernels/simd/tiles.h"
#include "kernels/simd/topics.h"

namespace semproj::simd {

// Small dense algebra in one precision.
template <class T>
struct DenseTable {
  RowTable<T> rows;
  SystemTable<T> systems;
  ContrastTable<T> contrasts;
  NeuronTable<T> neurons;
};

struct Table {
  TileTable tiles;
  ScoreTable scores;
  CodeTable codes;
  StreamTable streams;
  TopicTable topics;
  DualTable duals;
  DenseTable<float> float32;
  DenseTable<double> float64;
};

// Even building a table runs the variant's instructions: only that of a variant the CPU can run may be built.
namespace baseline {
Table table();
}
namespace avx2 {
Table table();
}
namespace avx512 {
Table table();
}

}  // namespace semproj::simd
