#pragma once
// How queries times corpus rows are cut into tasks, and the memory of the workers: for top_k and for ranks.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/parallel.h"
#include "kernels/score_blocks.h"

namespace semproj {

constexpr int64_t kMostQueries = 384;               // of a block: a multiple of every tile's rows
constexpr int64_t kTaskFlops = int64_t{1} << 32;    // more makes an interrupt wait
constexpr int64_t kSerialFlops = int64_t{1} << 21;  // less is not worth waking a thread

// The scratch memory of each worker, made when it takes its first task.
class Scorers {
 public:
  Scorers(const simd::ScoreTable& table, Metric metric, int64_t queries, int64_t depth, int n_threads)
      : table_(table),
        metric_(metric),
        queries_(queries),
        depth_(depth),
        all_(static_cast<size_t>(n_threads)) {}

  BlockScorer& of(int worker) {
    auto& mine = all_[static_cast<size_t>(worker)];
    if (!mine) mine = std::make_unique<BlockScorer>(table_, metric_, queries_, depth_);
    return *mine;
  }

 private:
  const simd::ScoreTable& table_;
  Metric metric_;
  int64_t queries_, depth_;
  std::vector<std::unique_ptr<BlockScorer>> all_;
};

// The most corpus rows that a task may score against this many queries: whole blocks.
inline int64_t rows_per_task(int64_t queries, int64_t depth) {
  const int64_t rows = kTaskFlops / (2 * std::max<int64_t>(1, queries * depth));
  return std::max<int64_t>(1, rows / kBlockColumns) * kBlockColumns;
}

// Blocks of queries of about equal size, as few as there can be.
inline int64_t queries_per_block(int64_t n, int64_t rows) {
  const int64_t blocks = block_count(n, kMostQueries);
  return blocks == 0 ? rows : block_count(block_count(n, blocks), rows) * rows;
}

inline int threads_for(const MatrixView<const float>& a, const MatrixView<const float>& b, int n_threads) {
  const double flops =
      2.0 * static_cast<double>(a.rows) * static_cast<double>(b.rows) * static_cast<double>(a.cols);
  return flops < static_cast<double>(kSerialFlops) ? 1 : n_threads;
}

}  // namespace semproj
