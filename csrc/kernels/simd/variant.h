#pragma once
// The parts of the table of the instruction set that a file is compiled for. For files of this folder alone.

#include "kernels/simd/table.h"

namespace semproj::simd::SEMPROJ_SIMD {

TileTable tile_table();
ScoreTable score_table();
CodeTable code_table();
StreamTable stream_table();
TopicTable topic_table();
DualTable dual_table();
template <class T>
ContrastTable<T> contrast_table();
template <class T>
NeuronTable<T> neuron_table();
template <class T>
RowTable<T> row_table();
template <class T>
SystemTable<T> system_table();

}  // namespace semproj::simd::SEMPROJ_SIMD
