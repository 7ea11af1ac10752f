// Equations: out = W(X) P, X sparse (n x t, z non-zeros), P dense (t x d), W an optional term weighting.
//
// Cost. 2 z d flops. Read naively, every non-zero pulls d elements of P from memory: z d 4 bytes, 19 GB for
// 2.4 million non-zeros and d = 2000. Instead P is cut into slabs of 64 columns (1 - 4 cache lines per term;
// the frequent terms' lines of a slab fit the second-level cache), and all rows walk one slab before the next
// is touched. Memory traffic is then P once, the entries (8 bytes) once per slab, streamed, and the output
// once; the bound becomes the L2 -> L1 bandwidth, one line per FMA.
//
// Precision: float32 sums for float32/float16 storage, double for float64; int8 storage sums exact integers.
// Every output element is summed by one thread in the order of the row's entries.

#include "kernels/project.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr int64_t kChunkEntries = int64_t{1} << 20;  // entries converted at a time: 8 MB of scratch
constexpr int64_t kLeastEntries = int64_t{1} << 14;  // fewer are not worth a task
constexpr int64_t kMostEntries = int64_t{1} << 20,
                  kMostRows = int64_t{1} << 13;     // more make an interrupt wait
constexpr int64_t kSerialFlops = int64_t{1} << 20;  // less work than this is not worth waking a thread

// Even building the table of a variant runs that variant's instructions: only the chosen one may be called.
simd::Table table_for(Isa isa) {
#ifdef SEMPROJ_X86_VARIANTS
  if (isa == Isa::avx512) return simd::avx512::table();
  if (isa == Isa::avx2) return simd::avx2::table();
#endif
  (void)isa;
  return simd::baseline::table();
}

// A run of rows, or a piece of one row that is too long to convert at once.
struct Chunk {
  int64_t row_begin, row_end;
  int64_t first, last;  // positions in indices/data
  bool continues;       // the row's earlier piece is already in the output
};

template <class Index, class Value>
Chunk next_chunk(const CsrView<Index, Value>& rows, int64_t row, int64_t position) {
  const int64_t first = std::max(position, rows.indptr[row]);
  const bool continues = position > rows.indptr[row];
  if (rows.indptr[row + 1] - first > kChunkEntries)
    return {row, row + 1, first, first + kChunkEntries, continues};
  if (continues) return {row, row + 1, first, rows.indptr[row + 1], true};
  int64_t end = row + 1;
  while (end < rows.n_rows && rows.indptr[end + 1] - first <= kChunkEntries) ++end;
  return {row, end, first, rows.indptr[end], false};
}

// Reads, checks and weights the entries of a chunk.
template <class Index, class Value>
class RowReader {
 public:
  RowReader(const CsrView<Index, Value>& rows, const Chunk& chunk, const Weighting& weighting)
      : rows_(rows), chunk_(chunk), weighting_(weighting) {}

  int64_t first(int64_t r) const { return std::max(chunk_.first, rows_.indptr[r]); }
  int64_t last(int64_t r) const { return std::min(chunk_.last, rows_.indptr[r + 1]); }

  double norm(int64_t r) const {
    const int64_t begin = rows_.indptr[r];
    return weighting_.length_norm(rows_.data + begin, rows_.indptr[r + 1] - begin);
  }

  // Column and weighted value of entry i. The column is checked before it is used to look up a weight, and
  // the value as the type it will be summed in.
  template <class T>
  std::pair<uint32_t, T> entry(int64_t r, int64_t i, double norm) const {
    const auto column = static_cast<int64_t>(rows_.indices[i]);
    if (column < 0 || column >= rows_.n_cols) {
      throw std::invalid_argument("X: column index " + std::to_string(column) + " in row " +
                                  std::to_string(r) + " is out of range for " + std::to_string(rows_.n_cols) +
                                  " columns");
    }
    const auto count = static_cast<double>(rows_.data[i]);
    const bool weighted = weighting_.kind != WeightKind::none;
    if (weighted && count < 0) {
      throw std::invalid_argument("X: row " + std::to_string(r) + " holds a negative count");
    }
    const T value = static_cast<T>(weighting_(count, column, norm));
    if (!std::isfinite(value)) {
      throw std::invalid_argument("X: row " + std::to_string(r) +
                                  " holds NaN, infinity or a value too large" +
                                  (weighted ? " after weighting" : ""));
    }
    return {static_cast<uint32_t>(column), value};
  }

 private:
  const CsrView<Index, Value>& rows_;
  const Chunk& chunk_;
  const Weighting& weighting_;
};

// Calls row(r) for every row of the chunk, in parallel.
template <class F>
void for_rows(const Chunk& chunk, int n_threads, const F& row) {
  constexpr int64_t kGrain = 128;
  const int64_t n = chunk.row_end - chunk.row_begin;
  parallel_for(block_count(n, kGrain), n_threads, [&](int64_t task, int) {
    const Block block = block_at(n, kGrain, task);
    for (int64_t r = block.begin; r < block.end; ++r) row(chunk.row_begin + r);
  });
}

// The caller's own arrays, when they already are what the tile kernels read; checked without branches, and
// read again for the message when something is wrong.
template <class T>
struct OwnRows {
  simd::Entries<T> entries(const CsrView<int32_t, T>& rows, const Chunk& chunk,
                           const ProjectOptions& options) {
    const auto n_cols = static_cast<uint32_t>(std::min<int64_t>(rows.n_cols, int64_t{1} << 31));
    constexpr int64_t kGrain = 1 << 16;
    const int64_t n = chunk.last - chunk.first;
    parallel_for(block_count(n, kGrain), options.n_threads, [&](int64_t task, int) {
      const Block block = block_at(n, kGrain, task);
      const int32_t* column = rows.indices + chunk.first;
      const T* value = rows.data + chunk.first;
      uint32_t bad = 0;
      T sum = 0;  // 0 * x is 0 for every finite x and NaN otherwise
      for (int64_t i = block.begin; i < block.end; ++i) bad |= static_cast<uint32_t>(column[i]) >= n_cols;
      T part[16] = {};
      int64_t i = block.begin;
      for (; i + 16 <= block.end; i += 16) {
        for (int k = 0; k < 16; ++k) part[k] += value[i + k] * 0;
      }
      for (; i < block.end; ++i) sum += value[i] * 0;
      for (const T p : part) sum += p;
      if (bad != 0 || !(sum == 0)) explain(rows, chunk, options);
    });
    return {rows.indptr + chunk.row_begin,
            chunk.first,
            chunk.last,
            0,
            reinterpret_cast<const uint32_t*>(rows.indices),
            rows.data};
  }

  static void explain(const CsrView<int32_t, T>& rows, const Chunk& chunk, const ProjectOptions& options) {
    const RowReader<int32_t, T> reader(rows, chunk, options.weighting);
    for (int64_t r = chunk.row_begin; r < chunk.row_end; ++r) {
      for (int64_t i = reader.first(r); i < reader.last(r); ++i) {
        reader.template entry<T>(r, i, 0);
      }
    }
  }
};

// Entries converted to the kernels' types, weighted on the way. The scratch is kept between chunks.
template <class T>
struct ConvertedRows {
  AlignedArray<uint32_t> terms;
  AlignedArray<T> values;

  template <class Index, class Value>
  simd::Entries<T> entries(const CsrView<Index, Value>& rows, const Chunk& chunk,
                           const ProjectOptions& options) {
    if (terms == nullptr) {
      terms = aligned_array<uint32_t>(kChunkEntries);
      values = aligned_array<T>(kChunkEntries);
    }
    const RowReader<Index, Value> reader(rows, chunk, options.weighting);
    for_rows(chunk, options.n_threads, [&](int64_t r) {
      const double norm = reader.norm(r);
      for (int64_t i = reader.first(r); i < reader.last(r); ++i) {
        const auto [term, value] = reader.template entry<T>(r, i, norm);
        terms[i - chunk.first] = term;
        values[i - chunk.first] = value;
      }
    });
    return {rows.indptr + chunk.row_begin, chunk.first, chunk.last, chunk.first, terms.get(), values.get()};
  }
};

// Entries quantised for int8 storage: the row's largest magnitude is 127 * 128 steps.
struct QuantizedRows {
  std::vector<int64_t> begin;
  std::vector<float> step;
  AlignedArray<simd::Quad> quads;
  int64_t capacity = 0;

  template <class Index, class Value>
  simd::QuadEntries entries(const CsrView<Index, Value>& rows, const Chunk& chunk,
                            const ProjectOptions& options) {
    const RowReader<Index, Value> reader(rows, chunk, options.weighting);
    begin.assign(1, 0);
    for (int64_t r = chunk.row_begin; r < chunk.row_end; ++r) {
      begin.push_back(begin.back() + (reader.last(r) - reader.first(r) + 3) / 4);
    }
    step.resize(begin.size());
    if (begin.back() > capacity) {
      capacity = begin.back() + kLeastEntries;
      quads = aligned_array<simd::Quad>(static_cast<size_t>(capacity));
    }
    for_rows(chunk, options.n_threads, [&](int64_t r) {
      const int64_t at = r - chunk.row_begin;
      step[at] = fill(reader, r, quads.get() + begin[at]);
    });
    return {begin.data(), quads.get(), step.data()};
  }

  template <class Reader>
  static float fill(const Reader& reader, int64_t r, simd::Quad* out) {
    constexpr double kLevels = 127 * 128;
    const double norm = reader.norm(r);
    float largest = 0;
    for (int64_t i = reader.first(r); i < reader.last(r); ++i) {
      largest = std::max(largest, std::abs(reader.template entry<float>(r, i, norm).second));
    }
    const double inverse = largest > 0 ? kLevels / largest : 0;
    int lane = 0;
    for (int64_t i = reader.first(r); i < reader.last(r); ++i) {
      const auto [term, value] = reader.template entry<float>(r, i, norm);
      const int q = static_cast<int>(std::lrint(value * inverse));
      const int hi = (q + 64) >> 7;  // so that lo is in [-64, 63]
      out->term[lane] = term;
      out->hi[lane] = static_cast<int8_t>(hi);
      out->lo[lane] = static_cast<int8_t>(q - 128 * hi);
      if (++lane == 4) {
        lane = 0;
        ++out;
      }
    }
    for (; lane != 0 && lane < 4; ++lane) {
      out->term[lane] = 0;
      out->hi[lane] = out->lo[lane] = 0;
    }
    return static_cast<float>(largest / kLevels);
  }
};

template <class Out>
void normalize_rows(const MatrixView<Out>& out, int n_threads) {
  constexpr int64_t kGrain = 64;
  parallel_for(block_count(out.rows, kGrain), n_threads, [&](int64_t task, int) {
    const Block block = block_at(out.rows, kGrain, task);
    for (int64_t r = block.begin; r < block.end; ++r) {
      Out* row = out.row(r);
      // Eight partial sums in a fixed order, so that the compiler may use wide registers.
      double part[8] = {};
      int64_t c = 0;
      for (; c + 8 <= out.cols; c += 8) {
        for (int k = 0; k < 8; ++k) part[k] += static_cast<double>(row[c + k]) * row[c + k];
      }
      for (int k = 0; c < out.cols; ++c, ++k) part[k] += static_cast<double>(row[c]) * row[c];
      double total = 0;
      for (const double p : part) total += p;
      if (!(total > 0)) continue;
      const Out inverse = static_cast<Out>(1 / std::sqrt(total));
      for (c = 0; c < out.cols; ++c) row[c] *= inverse;
    }
  });
}

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
  const simd::Table table = table_for(options.isa);
  if (projection.storage() == Storage::int8) {
    if constexpr (std::is_same_v<Out, float>) {
      project_with(QuantizedRows{}, rows, projection, out, options, false, table.tile_i8);
    }
  } else {
    void (*tile)(const simd::TileCall<Out>&, const simd::Entries<Out>&) = nullptr;
    if constexpr (std::is_same_v<Out, double>) {
      tile = table.tile_f64;
    } else {
      tile = projection.storage() == Storage::float16 ? table.tile_f16 : table.tile_f32;
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
  if (options.normalize) normalize_rows(out, options.n_threads);
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
