// Cost. All scores, in blocks (see score_blocks.cc), each compared with a threshold or two while it is in the
// second-level cache. Memory. As top_k without its reservoirs, and 8 bytes for each pair.
//
// Counts are integers: the order in which tasks add theirs does not matter.

#include "kernels/ranks.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/score_tasks.h"

namespace semproj {
namespace {

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// Scores that differ by less are ties. Equal rows get equal bits, but rows that are equal up to their length
// or their last digit do not, and rounding must not settle that in anybody's favour.
float margin_of(Metric metric, float score, double length_a, double length_b) {
  constexpr double kTie = 1e-6;
  if (metric == Metric::inner_product) return static_cast<float>(kTie * length_a * length_b);
  if (metric == Metric::l1) return static_cast<float>(kTie) * std::abs(score);
  return static_cast<float>(kTie);
}

}  // namespace

void true_ranks(const MatrixView<const float>& a, const MatrixView<const float>& b, int64_t* forward,
                int64_t* backward, const RetrieveOptions& options) {
  const simd::ScoreTable& table = simd_table(options.isa).scores;
  const int n_threads = threads_for(a, b, options.n_threads);
  const int64_t n = a.rows;
  ComparedRows left(a, options.metric, "A", table), right(b, options.metric, "B", table);
  left.prepare_all(n_threads);
  right.prepare_all(n_threads);
  check_range(left, right, options.metric, "A");

  // The pair's own score first. It is the same number that the tile of all scores will hold.
  std::vector<float> threshold(static_cast<size_t>(n));
  const int64_t pairs = table.cols;
  const int64_t per_block =
      std::max(queries_per_block(n, table.rows), block_count(pairs, table.rows) * table.rows);
  Scorers scorers(table, options.metric, per_block, a.cols, n_threads);
  parallel_for(block_count(n, pairs), n_threads, [&](int64_t task, int worker) {
    const Block mine = block_at(n, pairs, task);
    BlockScorer& scorer = scorers.of(worker);
    scorer.take_queries(left, mine.begin, mine.end);
    scorer.score(right, mine.begin, mine.end);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      const float score = scorer.scores(i - mine.begin)[i - mine.begin];
      threshold[i] = score - margin_of(options.metric, score, left.length(i), right.length(i));
    }
  });

  std::fill_n(forward, n, 1);
  std::fill_n(backward, n, 1);
  const int64_t step = rows_per_task(std::min(per_block, n), a.cols), parts = block_count(n, step);
  parallel_for(block_count(n, per_block) * parts, n_threads, [&](int64_t task, int worker) {
    const Block mine = block_at(n, per_block, task / parts), theirs = block_at(n, step, task % parts);
    BlockScorer& scorer = scorers.of(worker);
    scorer.take_queries(left, mine.begin, mine.end);
    std::vector<int64_t> reached(static_cast<size_t>(mine.end - mine.begin));
    for (int64_t c = theirs.begin; c < theirs.end; c += kBlockColumns) {
      const int64_t end = std::min(theirs.end, c + kBlockColumns);
      scorer.score(right, c, end);
      check_interrupt();
      int32_t columns[kBlockColumns] = {};
      for (int64_t i = mine.begin; i < mine.end; ++i) {
        float* scores = scorer.scores(i - mine.begin);
        if (c <= i && i < end) scores[i - c] = kLeast;  // the pair itself is no rival
        reached[i - mine.begin] += table.count(scores, end - c, threshold[i], threshold.data() + c, columns);
      }
      for (int64_t j = c; j < end; ++j) {
        if (columns[j - c] != 0)
          std::atomic_ref(backward[j]).fetch_add(columns[j - c], std::memory_order_relaxed);
      }
    }
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      std::atomic_ref(forward[i]).fetch_add(reached[i - mine.begin], std::memory_order_relaxed);
    }
  });
  if (options.metric != Metric::cosine) return;
  for (int64_t i = 0; i < n; ++i) {
    if (left.length(i) == 0 || right.length(i) == 0) forward[i] = backward[i] = 0;
  }
}

void gold_ranks(const MatrixView<const float>& queries, const MatrixView<const float>& corpus, int64_t rivals,
                const GoldRows& gold, int64_t* nearer, int64_t* tied, const RetrieveOptions& options) {
  const simd::ScoreTable& table = simd_table(options.isa).scores;
  const int n_threads = threads_for(queries, corpus, options.n_threads);
  const int64_t n = queries.rows, pairs = gold.starts[n];
  ComparedRows left(queries, options.metric, "queries", table),
      right(corpus, options.metric, "corpus", table);
  left.prepare_all(n_threads);
  right.prepare_all(n_threads);
  check_range(left, right, options.metric, "queries");

  const int64_t per_block = queries_per_block(n, table.rows);
  Scorers scorers(table, options.metric, per_block, queries.cols, n_threads);
  // The scores from which a rival is as near, and above which it is nearer, around the pair's own.
  std::vector<float> reach(static_cast<size_t>(pairs)), beat(static_cast<size_t>(pairs));
  parallel_for(block_count(n, per_block), n_threads, [&](int64_t task, int worker) {
    const Block mine = block_at(n, per_block, task);
    BlockScorer& scorer = scorers.of(worker);
    Patience patience;
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      scorer.take_queries(left, i, i + 1);
      for (int64_t p = gold.starts[i]; p < gold.starts[i + 1]; ++p) {
        const int64_t row = gold.rows[p];
        scorer.score(right, row, row + 1);
        patience.spend(64 + queries.cols);
        const float score = *scorer.scores(0);
        const float margin = margin_of(options.metric, score, left.length(i), right.length(row));
        reach[p] = score - margin;
        beat[p] = score + margin;
      }
    }
  });

  std::fill_n(nearer, pairs, 0);
  std::fill_n(tied, pairs, 0);
  const int64_t step = rows_per_task(std::min(per_block, n), queries.cols), parts = block_count(rivals, step);
  parallel_for(block_count(n, per_block) * parts, n_threads, [&](int64_t task, int worker) {
    const Block mine = block_at(n, per_block, task / parts), theirs = block_at(rivals, step, task % parts);
    const int64_t first = gold.starts[mine.begin], last = gold.starts[mine.end];
    BlockScorer& scorer = scorers.of(worker);
    scorer.take_queries(left, mine.begin, mine.end);
    std::vector<int64_t> above(static_cast<size_t>(last - first)), reached(above.size());
    for (int64_t c = theirs.begin; c < theirs.end; c += kBlockColumns) {
      const int64_t end = std::min(theirs.end, c + kBlockColumns);
      scorer.score(right, c, end);
      check_interrupt();
      for (int64_t i = mine.begin; i < mine.end; ++i) {
        const float* scores = scorer.scores(i - mine.begin);
        for (int64_t p = gold.starts[i]; p < gold.starts[i + 1]; ++p) {
          int32_t better = 0, equal = 0;
          for (int64_t j = 0; j < end - c; ++j) {
            better += scores[j] > beat[p] ? 1 : 0;
            equal += scores[j] >= reach[p] ? 1 : 0;
          }
          above[p - first] += better;
          reached[p - first] += equal;
        }
      }
    }
    for (int64_t p = first; p < last; ++p) {
      const int64_t better = above[p - first];
      std::atomic_ref(nearer[p]).fetch_add(better, std::memory_order_relaxed);
      std::atomic_ref(tied[p]).fetch_add(reached[p - first] - better, std::memory_order_relaxed);
    }
  });
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t p = gold.starts[i]; p < gold.starts[i + 1]; ++p) {
      const int64_t row = gold.rows[p];
      if (row < rivals) --tied[p];  // with itself
      const bool zero = left.length(i) == 0 || right.length(row) == 0;
      if (options.metric == Metric::cosine && zero) nearer[p] = tied[p] = -1;
    }
  }
}

}  // namespace semproj
