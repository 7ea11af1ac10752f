#include "kernels/inverted_rows.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr int64_t kGrain = 1024;                 // rows of a task
constexpr int64_t kFewestRows = 8192;            // of a block: its sums stay in the first-level cache
constexpr int64_t kMostRows = int64_t{1} << 16;  // that 16 bits can number

// How many rows have each column: counted by each worker alone, as the sums are those of integers.
class ColumnCounts {
 public:
  ColumnCounts(int64_t n_cols, int n_threads)
      : n_cols_(n_cols), of_workers_(static_cast<size_t>(n_threads)) {}

  std::vector<uint32_t>& of(int worker) {
    auto& mine = of_workers_[static_cast<size_t>(worker)];
    if (mine.empty()) mine.resize(static_cast<size_t>(n_cols_));
    return mine;
  }

  std::vector<uint32_t> total() const {
    std::vector<uint32_t> sums(static_cast<size_t>(n_cols_));
    for (const auto& counts : of_workers_) {
      for (size_t c = 0; c < counts.size(); ++c) sums[c] += counts[c];
    }
    return sums;
  }

 private:
  int64_t n_cols_;
  std::vector<std::vector<uint32_t>> of_workers_;
};

// The rarest column is the first term.
void number_terms(const std::vector<uint32_t>& counts, InvertedRows* out) {
  std::vector<uint32_t> columns;
  for (size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] > 0) columns.push_back(static_cast<uint32_t>(c));
  }
  std::sort(columns.begin(), columns.end(),
            [&](uint32_t a, uint32_t b) { return counts[a] != counts[b] ? counts[a] < counts[b] : a < b; });
  out->n_terms = static_cast<int64_t>(columns.size());
  out->terms.assign(counts.size(), InvertedRows::kNoTerm);
  for (size_t t = 0; t < columns.size(); ++t) out->terms[columns[t]] = static_cast<uint32_t>(t);
}

// So many rows that the offsets of blocks take no more memory than the entries, if 16 bits can number them.
int64_t rows_of_block(int64_t n_rows, int64_t n_terms, int64_t n_entries) {
  int64_t rows = kFewestRows;
  while (rows < kMostRows && block_count(n_rows, rows) * n_terms > n_entries) rows *= 2;
  return rows;
}

// Lists of the entries of a block, which lie where its rows lie among all entries.
void invert_block(int64_t block, InvertedRows* out, std::vector<int64_t>* next) {
  const Block rows = block_at(out->n_rows, out->block_rows, block);
  int64_t* starts = out->starts.get() + block * (out->n_terms + 1);
  std::fill_n(starts, out->n_terms + 1, 0);
  const int64_t first = out->row_starts[rows.begin], last = out->row_starts[rows.end];
  for (int64_t i = first; i < last; ++i) ++starts[out->entries[i].term + 1];
  starts[0] = first;
  std::partial_sum(starts, starts + out->n_terms + 1, starts);
  next->assign(starts, starts + out->n_terms);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    for (int64_t i = out->row_starts[r]; i < out->row_starts[r + 1]; ++i) {
      const SparseEntry& entry = out->entries[i];
      const int64_t at = (*next)[entry.term]++;
      out->ids[at] = static_cast<uint16_t>(r - rows.begin);
      out->values[at] = entry.value;
    }
  }
}

}  // namespace

template <class Index, class Value>
InvertedRows invert_rows(const CsrView<Index, Value>& rows, Metric metric, const std::vector<char>& is_used,
                         int n_threads) {
  InvertedRows out;
  out.n_rows = rows.n_rows;
  out.lengths.resize(static_cast<size_t>(rows.n_rows));
  out.row_starts.resize(static_cast<size_t>(rows.n_rows) + 1);
  ColumnCounts counts(rows.n_cols, n_threads);
  std::vector<std::vector<float>> values(static_cast<size_t>(n_threads));
  const int64_t n_tasks = block_count(rows.n_rows, kGrain);
  parallel_for(n_tasks, n_threads, [&](int64_t task, int worker) {
    const Block mine = block_at(rows.n_rows, kGrain, task);
    std::vector<uint32_t>& of_columns = counts.of(worker);
    Patience patience;
    for (int64_t r = mine.begin; r < mine.end; ++r) {
      out.lengths[r] = read_sparse_row(rows, r, metric, "corpus", &values[worker]);
      for (int64_t i = rows.indptr[r]; i < rows.indptr[r + 1]; ++i) {
        const auto column = static_cast<size_t>(rows.indices[i]);
        if (is_used[column] == 0) continue;
        ++of_columns[column];
        ++out.row_starts[r + 1];
      }
      patience.spend(8 * (rows.indptr[r + 1] - rows.indptr[r]));
    }
  });
  out.longest = rows.n_rows == 0 ? 0 : *std::max_element(out.lengths.begin(), out.lengths.end());
  number_terms(counts.total(), &out);
  std::partial_sum(out.row_starts.begin(), out.row_starts.end(), out.row_starts.begin());
  const int64_t n_entries = out.row_starts.back();
  out.entries = aligned_array<SparseEntry>(static_cast<size_t>(n_entries));
  parallel_for(n_tasks, n_threads, [&](int64_t task, int worker) {
    const Block mine = block_at(rows.n_rows, kGrain, task);
    Patience patience;
    for (int64_t r = mine.begin; r < mine.end; ++r) {
      read_sparse_row(rows, r, metric, "corpus", &values[worker]);
      SparseEntry* const first = out.entries.get() + out.row_starts[r];
      SparseEntry* next = first;
      for (int64_t i = rows.indptr[r]; i < rows.indptr[r + 1]; ++i) {
        const uint32_t term = out.terms[static_cast<size_t>(rows.indices[i])];
        if (term != InvertedRows::kNoTerm) *next++ = {term, values[worker][i - rows.indptr[r]]};
      }
      std::sort(first, next, [](const SparseEntry& a, const SparseEntry& b) { return a.term < b.term; });
      patience.spend(32 * (rows.indptr[r + 1] - rows.indptr[r]));
    }
  });
  out.block_rows = rows_of_block(out.n_rows, out.n_terms, n_entries);
  const int64_t n_blocks = block_count(out.n_rows, out.block_rows);
  out.starts = aligned_array<int64_t>(static_cast<size_t>(n_blocks * (out.n_terms + 1)));
  out.ids = aligned_array<uint16_t>(static_cast<size_t>(n_entries));
  out.values = aligned_array<float>(static_cast<size_t>(n_entries));
  std::vector<std::vector<int64_t>> next(static_cast<size_t>(n_threads));
  parallel_for(n_blocks, n_threads,
               [&](int64_t block, int worker) { invert_block(block, &out, &next[worker]); });
  return out;
}

#define SEMPROJ_INSTANTIATE(Index, Value) \
  template InvertedRows invert_rows(const CsrView<Index, Value>&, Metric, const std::vector<char>&, int);
SEMPROJ_INSTANTIATE(int32_t, float)
SEMPROJ_INSTANTIATE(int32_t, double)
SEMPROJ_INSTANTIATE(int32_t, int32_t)
SEMPROJ_INSTANTIATE(int64_t, float)
SEMPROJ_INSTANTIATE(int64_t, double)
SEMPROJ_INSTANTIATE(int64_t, int32_t)
#undef SEMPROJ_INSTANTIATE

}  // namespace semproj
