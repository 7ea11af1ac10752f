#pragma once
// Sparse rows by their columns, in blocks: what a query of few columns is compared with.
//
//   starts[b, t] .. starts[b, t + 1]    the entries of column t among the rows of block b:
//   ids, values                         number of the row in its block, and the value
//
// Columns are numbered anew, as terms: only those that rows and queries both have, the rarest first. The same
// entries are kept by rows, too, in the order of terms. Memory: 14 bytes an entry, 16 a row, 4 a column of
// the matrix, 8 a term and block.

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/aligned.h"
#include "core/views.h"
#include "kernels/score_blocks.h"

namespace semproj {

struct SparseEntry {
  uint32_t term;
  float value;
};

struct InvertedRows {
  static constexpr uint32_t kNoTerm = ~uint32_t{0};

  int64_t n_rows = 0, n_terms = 0;
  int64_t block_rows = 0;  // of all blocks but the last
  double longest = 0;
  std::vector<uint32_t> terms;      // of the columns, or kNoTerm
  std::vector<double> lengths;      // of the rows as they came
  std::vector<int64_t> row_starts;  // n_rows + 1
  AlignedArray<SparseEntry> entries;
  AlignedArray<int64_t> starts;
  AlignedArray<uint16_t> ids;
  AlignedArray<float> values;
};

// Reads a row as it is compared: by cosine at unit length, of which zeros have none. Returns the length that
// it had. Throws std::invalid_argument, beginning with the name of the rows, for a column out of range and
// for what is not finite, or too large for float32.
template <class Index, class Value>
double read_sparse_row(const CsrView<Index, Value>& rows, int64_t row, Metric metric, const char* name,
                       std::vector<float>* values) {
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument(std::string(name) + ": " + what + " (row " + std::to_string(row) + ")");
  };
  const int64_t begin = rows.indptr[row], n = rows.indptr[row + 1] - begin;
  const Value* data = rows.data + begin;
  double largest = 0, sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto column = static_cast<int64_t>(rows.indices[begin + i]);
    if (column < 0 || column >= rows.n_cols) {
      refuse("column index " + std::to_string(column) + " is out of range for " +
             std::to_string(rows.n_cols) + " columns");
    }
    const double magnitude = std::abs(static_cast<double>(data[i]));
    if (!std::isfinite(magnitude)) refuse("contains NaN or infinity");
    largest = std::max(largest, magnitude);
  }
  values->assign(static_cast<size_t>(n), 0.0f);
  if (largest == 0) return 0;
  for (int64_t i = 0; i < n; ++i) {
    const double part = static_cast<double>(data[i]) / largest;
    sum += part * part;
  }
  const double length = std::sqrt(sum);
  if (metric != Metric::cosine && largest > std::numeric_limits<float>::max()) {
    refuse("contains numbers outside of the range of float32");
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(data[i]);
    (*values)[static_cast<size_t>(i)] =
        static_cast<float>(metric == Metric::cosine ? value / largest / length : value);
  }
  return largest * length;
}

// Needs fewer than 2^32 rows. `is_used` has an element for each column: whether any query has it.
template <class Index, class Value>
InvertedRows invert_rows(const CsrView<Index, Value>& rows, Metric metric, const std::vector<char>& is_used,
                         int n_threads);

}  // namespace semproj
