// A pass over all rows bounds each score from both sides (see bounds.cc). It finds the k-th largest lower
// bound and keeps all upper bounds. Rows whose upper bound reaches it are scored as a batch would score them,
// and no others can be among the k best.
//
// Cost. A tile of a batch wants its rows transposed, which pays when a dozen queries share the work. A pass
// reads them as they lie: 4 d bytes a row at the rate of memory, 2 d or d of narrow copies, once for all
// queries; the lengths of rows that are not prepared come with it. Then k rows, and those between the bounds.
// In float32 bounds are within about 2e-5 of the product of lengths, so few are. Bytes are within about 1%:
// of 100,000 gaussian rows of 200 columns a few dozen are left for k = 10. If all rows are about as near, all
// are scored: right, and slower than a batch. Memory: 4 bytes for each row and query.

#include "kernels/few_queries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.h"
#include "kernels/bounds.h"
#include "kernels/dispatch.h"
#include "kernels/hidden_rows.h"
#include "kernels/reservoirs.h"
#include "kernels/score_tasks.h"

namespace semproj {
namespace {

constexpr int64_t kFewQueries = 7;

// Scores of rows here and there, as they are in a batch.
class Settlement {
 public:
  Settlement(const simd::ScoreTable& table, const ComparedRows& queries,
             const MatrixView<const float>& corpus, bool prepared, Metric metric)
      : table_(table),
        queries_(queries),
        corpus_(corpus),
        prepared_(prepared),
        metric_(metric),
        scorer_(table, metric, 1, corpus.cols),
        ones_(kBlockColumns, 1.0) {}

  // Appends the keys of rows.
  void score(int64_t query, const std::vector<int64_t>& rows, std::vector<uint64_t>& keys) {
    scorer_.take_queries(queries_, query, query + 1);
    for (size_t first = 0; first < rows.size(); first += kBlockColumns) {
      const size_t n = std::min<size_t>(kBlockColumns, rows.size() - first);
      gathered_.resize(n * static_cast<size_t>(corpus_.cols));
      for (size_t i = 0; i < n; ++i) {
        const float* row = corpus_.row(rows[first + i]);
        std::copy(row, row + corpus_.cols, gathered_.begin() + static_cast<int64_t>(i) * corpus_.cols);
      }
      const MatrixView<const float> some{gathered_.data(), static_cast<int64_t>(n), corpus_.cols,
                                         corpus_.cols};
      ComparedRows compared(some, metric_, "corpus", table_, prepared_ ? ones_.data() : nullptr);
      if (!prepared_) compared.prepare_all(1);
      scorer_.score(compared, 0, some.rows);
      for (size_t i = 0; i < n; ++i) {
        keys.push_back(simd::key_of(scorer_.scores(0)[i], static_cast<uint32_t>(rows[first + i])));
      }
      check_interrupt();
    }
  }

 private:
  const simd::ScoreTable& table_;
  const ComparedRows& queries_;
  MatrixView<const float> corpus_;
  bool prepared_;
  Metric metric_;
  BlockScorer scorer_;
  std::vector<double> ones_;  // the lengths of prepared rows do not matter here
  std::vector<float> gathered_;
};

// The rows whose upper bound reaches the k-th largest lower bound.
void find_candidates(const simd::ScoreTable& table, std::vector<uint64_t>& lower, const float* upper,
                     int64_t n, int64_t k, std::vector<int64_t>& rows) {
  float bar = std::numeric_limits<float>::lowest();  // above what is hidden
  if (static_cast<int64_t>(lower.size()) >= k) {
    keep_largest(lower.data(), static_cast<int64_t>(lower.size()), k);
    bar = simd::score_of(*std::min_element(lower.begin(), lower.begin() + k));
  }
  const float below = std::nextafter(bar, kLeast);
  constexpr int64_t kRoom = 256;
  uint64_t found[kRoom];
  rows.clear();
  for (int64_t from = 0; from < n;) {
    int64_t count = 0;
    from = table.select(upper, from, n, below, 0, found, &count, kRoom);
    for (int64_t i = 0; i < count; ++i) rows.push_back(simd::id_of(found[i]));
  }
}

}  // namespace

bool are_few(Metric metric, int64_t queries, int64_t depth) {
  return metric != Metric::jensen_shannon && queries <= kFewQueries && depth >= simd::kMostLanes;
}

void few_top_k(const MatrixView<const float>& queries, const MatrixView<const float>& corpus, int64_t k,
               int64_t* ids, float* scores, const RetrieveOptions& options, const CorpusOptions& known) {
  const simd::Table& simd = simd_table(options.isa);
  const int n_threads = threads_for(queries, corpus, options.n_threads);
  const Metric metric = options.metric;
  ComparedRows left(queries, metric, "queries", simd.scores),
      right(corpus, metric, "corpus", simd.scores, known.lengths);
  left.prepare_all(n_threads);
  if (right.is_prepared()) check_range(left, right, metric, "queries", known.longest);
  const NarrowRows narrow =
      simd.codes.halves == nullptr && known.narrow.halves != nullptr ? NarrowRows{} : known.narrow;
  const Bounds bounds(simd, right, narrow, metric);
  const Hidden hidden(right, metric, known.skipped);
  std::vector<BoundedQuery> asked;
  for (int64_t q = 0; q < queries.rows; ++q) asked.emplace_back(left, q, simd.scores, narrow);
  const auto finds_nothing = [&](int64_t q) { return metric == Metric::cosine && left.length(q) == 0; };

  const int64_t parts = n_threads == 1 ? 1 : std::min<int64_t>(4 * n_threads, block_count(corpus.rows, 4096));
  const int64_t share = block_count(block_count(corpus.rows, parts), kBlockColumns) * kBlockColumns;
  const auto uppers = aligned_array<float>(static_cast<size_t>(queries.rows * corpus.rows));
  Reservoirs reservoirs(queries.rows, parts, k);
  std::vector<double> longest(static_cast<size_t>(parts));
  parallel_for(parts, n_threads, [&](int64_t part, int) {
    float lower[kBlockColumns];
    const std::vector<int64_t> no_zeros;
    double longest_here = 0;
    const int64_t stop = std::min(corpus.rows, (part + 1) * share);
    for (int64_t c = part * share; c < stop; c += kBlockColumns) {
      const int64_t end = std::min(stop, c + kBlockColumns);
      for (int64_t q = 0; q < queries.rows; ++q) {
        float* upper = uppers.get() + q * corpus.rows + c;
        longest_here =
            std::max(longest_here, bounds.find(asked[static_cast<size_t>(q)], c, end, lower, upper));
        if (finds_nothing(q)) continue;
        hidden.hide(q, c, end, no_zeros, lower);
        hidden.hide(q, c, end, no_zeros, upper);
        reservoirs.add(simd.scores, q, part, lower, end - c, c);
      }
      check_interrupt();
    }
    longest[static_cast<size_t>(part)] = longest_here;
  });
  if (!right.is_prepared()) {
    // By L1 these are distances: a row is no longer than its distance from a query, and that query.
    const double most = 1.001 * *std::max_element(longest.begin(), longest.end()) +
                        (metric == Metric::l1 ? left.longest() : 0);
    if (!in_range(left.longest(), most, metric)) {
      ComparedRows exact(corpus, metric, "corpus", simd.scores);
      exact.prepare_all(n_threads);
      check_range(left, exact, metric, "queries");
    }
  }

  Settlement settlement(simd.scores, left, corpus, right.is_prepared(), metric);
  std::vector<uint64_t> keys;
  std::vector<int64_t> rows;
  for (int64_t q = 0; q < queries.rows; ++q) {
    keys.clear();
    if (!finds_nothing(q)) {
      reservoirs.gather(q, keys);
      find_candidates(simd.scores, keys, uppers.get() + q * corpus.rows, corpus.rows, k, rows);
      keys.clear();
      settlement.score(q, rows, keys);
    }
    write_best(keys, k, metric, ids + q * k, scores + q * k);
  }
}

}  // namespace semproj
