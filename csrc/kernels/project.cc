// Equations: out = W(X) P, X sparse (n x t, z non-zeros), P dense (t x d), W an optional term weighting.
//
// Cost. 2 z d flops. Read naively, every non-zero pulls d elements of P from memory: z d 4 bytes, 19 GB for
// 2.4 million non-zeros and d = 2000. Instead P is cut into slabs of 64 columns (1 - 4 cache lines per term;
// the frequent terms' lines of a slab fit the second-level cache), and all rows walk one slab before the next
// is touched. Memory traffic is then P once, the entries (8 bytes) once per slab, streamed, and the output
// once; the bound becomes the L2 -> L1 bandwidth, one line per FMA.
//
// Precision: float32 sums of 256 entries for float32/float16 storage, and double sums of these; double for
// float64; int8 storage sums exact integers. Every output element is summed by one thread in the order of the
// row's entries.

#include "kernels/project.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/row_sources.h"
#include "kernels/unit_rows.h"

namespace semproj {
namespace {

constexpr int64_t kLeastEntries = int64_t{1} << 14;  // fewer are not worth a task
constexpr int64_t kMostEntries = int64_t{1} << 20,
                  kMostRows = int64_t{1} << 13;     // more make an interrupt wait
constexpr int64_t kSerialFlops = int64_t{1} << 20;  // less work than this is not worth waking a thread

// Row boundaries of the groups that each walk one slab. A slab is worth loading for many rows, so rows are
// only cut when there are too few tiles to keep the threads busy, or when a task would make an interrupt
// wait.
std::vector<int64_t> row_groups(const int64_t* begin, int64_t n, int64_t n_tiles, int n_threads) {
  const int64_t wanted = n_threads == 1 ? 1 : block_count(8 * int64_t{n_threads}, n_tiles);
  const int64_t entries = std::clamp<int64_t>((begin[n] - begin[0]) / wanted, kLeastEntries, kMostEntries);
  std::vector<int64_t> cuts{0};
  while (cuts.back() < n) {
    const int64_t to =
        std::upper_bound(begin + cuts.back(), begin + n + 1, begin[cuts.back()] + entries) - begin - 1;
    cuts.push_back(std::clamp(to, cuts.back() + 1, cuts.back() + kMostRows));
  }
  return cuts;
}

// `Source` turns a chunk of rows into what the tile function reads.
template <class Source, class Out, class Index, class Value, class Entries>
void project_with(Source source, const CsrView<Index, Value>& rows, const PackedProjection& projection,
                  const MatrixView<Out>& out, const ProjectOptions& options, bool one_chunk,
                  void (*tile)(const simd::TileCall<Out>&, const Entries&)) {
  for (int64_t row = 0, position = rows.indptr[0]; row < rows.n_rows;) {
    const Chunk chunk = one_chunk ? Chunk{0, rows.n_rows, position, rows.indptr[rows.n_rows], false}
                                  : next_chunk(rows, row, position);
    const Entries entries = source.entries(rows, chunk, options);
    const std::vector<int64_t> cuts =
        row_groups(rows.indptr + chunk.row_begin, chunk.row_end - chunk.row_begin, projection.n_tiles(),
                   options.n_threads);
    const auto n_groups = static_cast<int64_t>(cuts.size()) - 1;
    parallel_for(projection.n_tiles() * n_groups, options.n_threads, [&](int64_t task, int) {
      const int64_t t = task / n_groups, from = cuts[task % n_groups], to = cuts[task % n_groups + 1];
      simd::TileCall<Out> call{};
      call.n_rows = to - from;
      call.slab = projection.slab(t);
      call.scale = projection.scale(t);
      call.out = out.row(chunk.row_begin + from) + t * simd::kTileColumns;
      call.out_stride = out.stride;
      call.cols = static_cast<int32_t>(projection.tile_columns(t));
      call.slab_bytes = static_cast<int32_t>(projection.tile_bytes(t));
      call.accumulate = options.accumulate || chunk.continues;
      call.scale_is_ordinary = projection.scale_is_ordinary(t);
      Entries mine = entries;
      mine.row_begin += from;
      if constexpr (std::is_same_v<Entries, simd::QuadEntries>) mine.row_step += from;
      tile(call, mine);
    });
    position = chunk.last;
    row = position >= rows.indptr[chunk.row_end] ? chunk.row_end : chunk.row_begin;
  }
}

}  // namespace

template <class Index, class Value, class Out>
void project(const CsrView<Index, Value>& rows, const PackedProjection& projection,
             const MatrixView<Out>& out, const ProjectOptions& given) {
  if (rows.n_rows == 0 || projection.n_components() == 0) return;
  ProjectOptions options = given;
  const int64_t nonzeros = rows.indptr[rows.n_rows] - rows.indptr[0];
  if (2 * nonzeros * projection.n_components() < kSerialFlops) options.n_threads = 1;
  const simd::TileTable& tiles = simd_table(options.isa).tiles;
  if (projection.storage() == Storage::int8) {
    if constexpr (std::is_same_v<Out, float>) {
      project_with(QuantizedRows{}, rows, projection, out, options, false, tiles.tile_i8);
    }
  } else {
    void (*tile)(const simd::TileCall<Out>&, const simd::Entries<Out>&) = nullptr;
    if constexpr (std::is_same_v<Out, double>) {
      tile = tiles.tile_f64;
    } else {
      tile = projection.storage() == Storage::float16 ? tiles.tile_f16 : tiles.tile_f32;
    }
    bool done = false;
    if constexpr (std::is_same_v<Index, int32_t> && std::is_same_v<Value, Out>) {
      if (options.weighting.kind == WeightKind::none) {
        project_with(OwnRows<Out>{}, rows, projection, out, options, true, tile);
        done = true;
      }
    }
    if (!done) project_with(ConvertedRows<Out>{}, rows, projection, out, options, false, tile);
  }
  if (options.normalize) unit_rows(out, options.n_threads);
}

#define SEMPROJ_INSTANTIATE(Index, Value)                                                                 \
  template void project(const CsrView<Index, Value>&, const PackedProjection&, const MatrixView<float>&,  \
                        const ProjectOptions&);                                                           \
  template void project(const CsrView<Index, Value>&, const PackedProjection&, const MatrixView<double>&, \
                        const ProjectOptions&);
SEMPROJ_INSTANTIATE(int32_t, float)
SEMPROJ_INSTANTIATE(int32_t, double)
SEMPROJ_INSTANTIATE(int32_t, int32_t)
SEMPROJ_INSTANTIATE(int64_t, float)
SEMPROJ_INSTANTIATE(int64_t, double)
SEMPROJ_INSTANTIATE(int64_t, int32_t)
#undef SEMPROJ_INSTANTIATE

}  // namespace semproj
