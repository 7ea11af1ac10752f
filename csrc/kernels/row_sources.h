#pragma once
// Sparse rows as the tile kernels read them: the caller's own arrays where they fit, otherwise converted,
// weighted or quantised a bounded chunk at a time. Every column and every value is checked here, once.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/aligned.h"
#include "core/parallel.h"
#include "core/views.h"
#include "kernels/project.h"
#include "kernels/simd/tiles.h"

namespace semproj {

inline constexpr int64_t kChunkEntries = int64_t{1} << 20;  // entries converted at a time: 8 MB of scratch

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
      throw std::invalid_argument("X: counts must not be negative (row " + std::to_string(r) + ")");
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
  std::vector<double> step;
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
      capacity = begin.back() + begin.back() / 4;
      quads = aligned_array<simd::Quad>(static_cast<size_t>(capacity));
    }
    for_rows(chunk, options.n_threads, [&](int64_t r) {
      const int64_t at = r - chunk.row_begin;
      step[at] = fill(reader, r, quads.get() + begin[at]);
    });
    return {begin.data(), quads.get(), step.data()};
  }

  template <class Reader>
  static double fill(const Reader& reader, int64_t r, simd::Quad* out) {
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
    return largest / kLevels;
  }
};

}  // namespace semproj
