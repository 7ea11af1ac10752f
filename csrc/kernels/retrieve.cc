// Cost. n x m scores of depth d, computed in blocks (see score_blocks.cc) and looked at while they are in the
// second-level cache: one comparison a vector of scores. A score above the query's bar goes to its reservoir
// of 2 k keys; a full one is cut to its best k, whose least is the new bar. About k log(m / k) scores get
// that far. Up to seven queries are looked for in another way (see few_queries.cc).
//
// Memory. For each thread 3 KB x depth for its packed queries (twice that for Jensen-Shannon) and 400 KB; for
// at most a few times 12,288 queries at a time (2 k + 64) x 8 bytes; 16 bytes for each row of both inputs.
//
// Order. A key is a score and an id in one integer, so a reservoir has one best k whatever came in between.
// Hence the cut into tasks may depend on the number of threads and the result does not.

#include "kernels/retrieve.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/few_queries.h"
#include "kernels/hidden_rows.h"
#include "kernels/reservoirs.h"
#include "kernels/score_tasks.h"

namespace semproj {
namespace {

constexpr int64_t kTasksPerThread = 4;  // so that threads end at about the same time

}  // namespace

void prepare_rows(const MatrixView<const float>& rows, const MatrixView<float>& out, double* lengths,
                  const RetrieveOptions& options) {
  const simd::ScoreTable& table = simd_table(options.isa).scores;
  ComparedRows compared(rows, options.metric, "rows", table);
  compared.prepare_all(options.n_threads);
  constexpr int64_t kGrain = 256;
  parallel_for(block_count(rows.rows, kGrain), options.n_threads, [&](int64_t task, int) {
    const Block mine = block_at(rows.rows, kGrain, task);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      table.scale(rows.row(i), compared.scale(i, 0), compared.scale(i, 1), rows.cols, out.row(i));
      lengths[i] = compared.length(i);
    }
  });
}

void top_k(const MatrixView<const float>& queries, const MatrixView<const float>& corpus, int64_t k,
           int64_t* ids, float* scores, const RetrieveOptions& options, const CorpusOptions& known) {
  if (corpus.rows > int64_t{std::numeric_limits<uint32_t>::max()}) {
    throw std::invalid_argument("corpus: expected fewer than 2^32 rows");
  }
  if (are_few(options.metric, queries.rows, queries.cols)) {
    few_top_k(queries, corpus, k, ids, scores, options, known);
    return;
  }
  const simd::ScoreTable& table = simd_table(options.isa).scores;
  const int n_threads = threads_for(queries, corpus, options.n_threads);
  ComparedRows left(queries, options.metric, "queries", table),
      right(corpus, options.metric, "corpus", table, known.lengths);
  const int64_t per_block = queries_per_block(queries.rows, table.rows);
  const int64_t batch = per_block * kTasksPerThread * std::max(n_threads, 8);
  left.prepare_all(n_threads);
  // One block of queries meets each corpus row once, and prepares it then, while it is in the cache.
  const bool once = per_block >= queries.rows && !right.is_prepared();
  if (!once && !right.is_prepared()) right.prepare_all(n_threads);
  if (once) right.make_room();
  const Hidden hidden(right, options.metric, known.skipped);
  Scorers scorers(table, options.metric, per_block, queries.cols, n_threads);
  for (int64_t start = 0; start < queries.rows; start += batch) {
    const int64_t n = std::min(batch, queries.rows - start), blocks = block_count(n, per_block);
    // Few queries: the corpus is shared out as well, and each part has reservoirs of its own.
    const int64_t parts = n_threads == 1 ? 1
                                         : std::min(block_count(kTasksPerThread * n_threads, blocks),
                                                    block_count(corpus.rows, 4 * kBlockColumns));
    const int64_t share = block_count(block_count(corpus.rows, parts), kBlockColumns) * kBlockColumns;
    const int64_t step = std::min(share, rows_per_task(std::min(per_block, n), queries.cols));
    Reservoirs reservoirs(n, parts, k);
    for (int64_t first = 0; first < corpus.rows; first += step * parts) {
      parallel_for(blocks * parts, n_threads, [&](int64_t task, int worker) {
        const int64_t part = task % parts, from = first + part * step;
        if (from >= corpus.rows) return;
        const Block mine = block_at(n, per_block, task / parts);
        BlockScorer& scorer = scorers.of(worker);
        scorer.take_queries(left, start + mine.begin, start + mine.end);
        std::vector<int64_t> zeros;
        for (int64_t c = from; c < std::min(corpus.rows, from + step); c += kBlockColumns) {
          const int64_t end = std::min({corpus.rows, from + step, c + kBlockColumns});
          if (once) right.prepare(c, end);
          scorer.score(right, c, end);
          hidden.find_zeros(c, end, zeros);
          for (int64_t q = mine.begin; q < mine.end; ++q) {
            if (options.metric == Metric::cosine && left.length(start + q) == 0) continue;
            hidden.hide(start + q, c, end, zeros, scorer.scores(q - mine.begin));
            reservoirs.add(table, q, part, scorer.scores(q - mine.begin), end - c, c);
          }
          check_interrupt();
        }
      });
    }
    check_range(left, right, options.metric, "queries", known.longest);
    reservoirs.write_all(options.metric, ids + start * k, scores + start * k, n_threads);
  }
}

}  // namespace semproj
