// Cost. n x m scores of depth d, computed in blocks (see score_blocks.cc) and looked at while they are in the
// second-level cache: one comparison a vector of scores. A score above the query's bar goes to its reservoir
// of 2 k keys; a full one is cut to its best k, whose least is the new bar. About k log(m / k) scores get
// that far.
//
// Memory. For each thread 3 KB x depth for its packed queries (twice that for Jensen-Shannon) and 400 KB; for
// at most a few times 12,288 queries at a time (2 k + 64) x 8 bytes; 16 bytes for each row of both inputs.
//
// Order. A key is a score and an id in one integer, so a reservoir has one best k whatever came in between.
// Hence the cut into tasks may depend on the number of threads and the result does not.

#include "kernels/retrieve.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr int64_t kMostQueries = 384;               // of a block: a multiple of every tile's rows
constexpr int64_t kTaskFlops = int64_t{1} << 32;    // more makes an interrupt wait
constexpr int64_t kSerialFlops = int64_t{1} << 21;  // less is not worth waking a thread
constexpr int64_t kTasksPerThread = 4;              // so that threads end at about the same time
constexpr float kLeast = -std::numeric_limits<float>::infinity();

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
  simd::ScoreTable table_;
  Metric metric_;
  int64_t queries_, depth_;
  std::vector<std::unique_ptr<BlockScorer>> all_;
};

// The most corpus rows that a task may score against this many queries: whole blocks.
int64_t rows_per_task(int64_t queries, int64_t depth) {
  const int64_t rows = kTaskFlops / (2 * std::max<int64_t>(1, queries * depth));
  return std::max<int64_t>(1, rows / kBlockColumns) * kBlockColumns;
}

// Blocks of queries of about equal size, as few as there can be.
int64_t queries_per_block(int64_t n, int64_t rows) {
  const int64_t blocks = block_count(n, kMostQueries);
  return blocks == 0 ? rows : block_count(block_count(n, blocks), rows) * rows;
}

int threads_for(const MatrixView<const float>& a, const MatrixView<const float>& b, int n_threads) {
  const double flops =
      2.0 * static_cast<double>(a.rows) * static_cast<double>(b.rows) * static_cast<double>(a.cols);
  return flops < static_cast<double>(kSerialFlops) ? 1 : n_threads;
}

// Moves the k largest of n different keys to the front. Partitions without branches: keys come in no order
// that a branch predictor could learn, which makes std::nth_element five times as slow here.
void keep_largest(uint64_t* keys, int64_t n, int64_t k) {
  constexpr int64_t kFew = 8;
  if (k == n) return;
  int64_t low = 0, high = n;
  for (int round = 0; round < 64 && high - low > kFew; ++round) {
    const uint64_t a = keys[low], b = keys[low + (high - low) / 2], c = keys[high - 1];
    const uint64_t pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    int64_t above = low;
    for (int64_t i = low; i < high; ++i) {
      const uint64_t key = keys[i];
      keys[i] = keys[above];
      keys[above] = key;
      above += key > pivot ? 1 : 0;
    }
    if (above == k) return;
    // The pivot itself is not among those above it, so neither side is everything.
    (above > k ? high : low) = above;
  }
  if (low < k && k < high) std::nth_element(keys + low, keys + k, keys + high, std::greater<>());
}

// The best keys of one query so far, and others that were above the bar when they came.
struct Reservoir {
  uint64_t* keys;
  int64_t* count;
  float* bar;

  void cut(int64_t k) const {
    keep_largest(keys, *count, k);
    *count = k;
    *bar = simd::score_of(*std::min_element(keys, keys + k));
  }
};

// The reservoirs of a batch of queries, `parts` of them for each.
class Reservoirs {
 public:
  Reservoirs(int64_t queries, int64_t parts, int64_t k)
      : parts_(parts),
        k_(k),
        room_(k + std::max<int64_t>(k, 64)),
        keys_(aligned_array<uint64_t>(static_cast<size_t>(queries * parts * room_))),
        counts_(static_cast<size_t>(queries * parts)),
        bars_(static_cast<size_t>(queries * parts), kLeast) {}

  void add(const simd::ScoreTable& table, int64_t query, int64_t part, const float* scores, int64_t n,
           int64_t first_id) {
    const Reservoir mine = at(query, part);
    for (int64_t from = 0; from < n;) {
      if (*mine.count + kMostLanes > room_) mine.cut(k_);
      from = table.select(scores, from, n, *mine.bar, static_cast<uint32_t>(first_id), mine.keys, mine.count,
                          room_);
    }
  }

  void finish(int64_t query, Metric metric, std::vector<uint64_t>& scratch, int64_t* ids,
              float* scores) const {
    scratch.clear();
    for (int64_t part = 0; part < parts_; ++part) {
      const Reservoir mine = at(query, part);
      scratch.insert(scratch.end(), mine.keys, mine.keys + *mine.count);
    }
    keep_largest(scratch.data(), static_cast<int64_t>(scratch.size()), k_);
    std::sort(scratch.begin(), scratch.begin() + k_, std::greater<>());
    for (int64_t i = 0; i < k_; ++i) {
      const float score = simd::score_of(scratch[static_cast<size_t>(i)]);
      ids[i] = simd::id_of(scratch[static_cast<size_t>(i)]);
      scores[i] = metric == Metric::l1               ? 0.0f - score
                  : metric == Metric::jensen_shannon ? std::max(0.0f, 0.0f - score)
                                                     : score;
    }
  }

 private:
  static constexpr int64_t kMostLanes = 16;

  Reservoir at(int64_t query, int64_t part) const {
    const int64_t i = query * parts_ + part;
    return {keys_.get() + i * room_, counts_.data() + i, bars_.data() + i};
  }

  int64_t parts_, k_, room_;
  AlignedArray<uint64_t> keys_;
  mutable std::vector<int64_t> counts_;
  mutable std::vector<float> bars_;
};

}  // namespace

void top_k(const MatrixView<const float>& queries, const MatrixView<const float>& corpus, int64_t k,
           int64_t* ids, float* scores, const RetrieveOptions& options) {
  if (corpus.rows > int64_t{std::numeric_limits<uint32_t>::max()}) {
    throw std::invalid_argument("corpus: expected fewer than 2^32 rows");
  }
  const simd::ScoreTable table = score_table_for(options.isa);
  const int n_threads = threads_for(queries, corpus, options.n_threads);
  ComparedRows left(queries, options.metric, "queries", table),
      right(corpus, options.metric, "corpus", table);
  const int64_t per_block = queries_per_block(queries.rows, table.rows);
  const int64_t batch = per_block * kTasksPerThread * std::max(n_threads, 8);
  left.prepare_all(n_threads);
  // One block of queries meets each corpus row once, and prepares it then, while it is in the cache.
  const bool once = per_block >= queries.rows;
  if (!once) right.prepare_all(n_threads);
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
        for (int64_t c = from; c < std::min(corpus.rows, from + step); c += kBlockColumns) {
          const int64_t end = std::min({corpus.rows, from + step, c + kBlockColumns});
          if (once) right.prepare(c, end);
          scorer.score(right, c, end);
          for (int64_t q = mine.begin; q < mine.end; ++q) {
            reservoirs.add(table, q, part, scorer.scores(q - mine.begin), end - c, c);
          }
        }
      });
    }
    check_range(left, right, options.metric, "queries");
    constexpr int64_t kGrain = 256;
    parallel_for(block_count(n, kGrain), n_threads, [&](int64_t task, int) {
      const Block mine = block_at(n, kGrain, task);
      std::vector<uint64_t> scratch;
      for (int64_t q = mine.begin; q < mine.end; ++q) {
        const int64_t at = (start + q) * k;
        reservoirs.finish(q, options.metric, scratch, ids + at, scores + at);
      }
    });
  }
}

namespace {

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
  const simd::ScoreTable table = score_table_for(options.isa);
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

}  // namespace semproj
