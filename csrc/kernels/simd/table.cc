#include "kernels/simd/table.h"

#include "kernels/simd/variant.h"

namespace semproj::simd::SEMPROJ_SIMD {

Table table() {
  return {.tiles = tile_table(),
          .scores = score_table(),
          .codes = code_table(),
          .streams = stream_table(),
          .topics = topic_table(),
          .duals = dual_table(),
          .float32 = {.rows = row_table<float>(),
                      .systems = system_table<float>(),
                      .contrasts = contrast_table<float>(),
                      .neurons = neuron_table<float>()},
          .float64 = {.rows = row_table<double>(),
                      .systems = system_table<double>(),
                      .contrasts = contrast_table<double>(),
                      .neurons = neuron_table<double>()}};
}

}  // namespace semproj::simd::SEMPROJ_SIMD
