// A row c is c' + e, where c' is narrow and |e| is known; bytes have a query of q' + f besides. Then
//
//   |q c - q' c'|  <=  |q| |e| + |f| |c'|  +  rounding,
//
// which bounds each score from both sides. A pass over the narrow rows finds the k-th largest lower bound and
// keeps all upper bounds; rows whose upper bound reaches it are scored as top_k does, and no others can be
// among the k best.
//
// Cost. For each query d bytes (or 2 d) a row, at the rate of memory, where the rows themselves have 4 d;
// then the rows between the bounds. Bytes are within about 1% of the product of lengths: of 100,000 gaussian
// rows of 200 columns a few dozen are left for k = 10. If all rows are about as near, all are scored: right,
// and slower than top_k. Batches of queries go to top_k, which is bound by arithmetic. Memory: 4 bytes for
// each row.
//
// Precision: bounds in float32, widened for its rounding and that of the scores.

#include "kernels/narrow.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/reservoirs.h"
#include "kernels/score_tasks.h"

namespace semproj {
namespace {

// A query as it is compared, and what it is in bytes.
struct NarrowQuery {
  std::vector<float> values;  // for halves: of unit length, so that no product leaves the range
  std::vector<int8_t> bytes;
  float length = 0, error = 0, step = 0;
  int32_t bias = 0;  // 128 times the sum of the bytes

  NarrowQuery(const ComparedRows& queries, int64_t i, const simd::ScoreTable& table, bool in_bytes)
      : values(static_cast<size_t>(queries.depth())) {
    const int64_t d = queries.depth();
    table.strips.scale(queries.row(i), queries.scale(i, 0), queries.scale(i, 1), d, values.data());
    length = static_cast<float>(std::sqrt(table.sum(values.data(), d, simd::RowSum::squares)));
    if (!in_bytes) {
      for (float& x : values) x = length > 0 ? static_cast<float>(x / static_cast<double>(length)) : 0;
      return;
    }
    float largest = 0;
    for (const float x : values) largest = std::max(largest, std::abs(x));
    step = largest > 0 ? largest / 127 : 1;
    double squares = 0;
    bytes.resize(values.size());
    for (size_t j = 0; j < values.size(); ++j) {
      // In double, and clamped: a quotient of subnormals may be far from 127.
      const double code = std::clamp(std::rint(static_cast<double>(values[j]) / step), -127.0, 127.0);
      bytes[j] = static_cast<int8_t>(code);
      bias += 128 * static_cast<int32_t>(code);
      const double rest = values[j] - code * step;
      squares += rest * rest;
    }
    error = static_cast<float>(std::sqrt(squares));
  }
};

// Bounds of the scores of a block of rows.
class Bounds {
 public:
  Bounds(const simd::CodeTable& table, const NarrowRows& rows, const ComparedRows& corpus, Metric metric)
      : table_(table), rows_(rows), corpus_(corpus), cosine_(metric == Metric::cosine) {}

  void find(const NarrowQuery& query, int64_t begin, int64_t end, float* lower, float* upper) const {
    const int64_t d = corpus_.depth(), n = end - begin;
    // Scores have at most 68 roundings for 256 columns, and d / 256; sums of halves at most d / 8.
    const float slack = (96 + static_cast<float>(d) / 4) * 0x1p-24f;
    if (rows_.bytes != nullptr) {
      int32_t sums[kBlockColumns];
      table_.bytes(rows_.bytes + begin * d, d, n, query.bytes.data(), d, sums);
      for (int64_t i = 0; i < n; ++i) {
        const double step = static_cast<double>(query.step) * rows_.scale[begin + i];
        lower[i] = static_cast<float>((sums[i] - query.bias) * step);
      }
    } else {
      table_.halves(rows_.halves + begin * d, d, n, query.values.data(), d, lower);
      for (int64_t i = 0; i < n; ++i) {
        lower[i] = static_cast<float>(static_cast<double>(query.length) * rows_.scale[begin + i] * lower[i]);
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      const float length = cosine_ ? 1.001f : static_cast<float>(corpus_.length(begin + i));
      const float error = rows_.error[begin + i];
      const float reach = 1.001f * (query.length * error + query.error * (length + error) +
                                    slack * query.length * (length + error)) +
                          0x1p-120f;
      upper[i] = lower[i] + reach;
      lower[i] -= reach;
    }
  }

 private:
  const simd::CodeTable& table_;
  NarrowRows rows_;
  const ComparedRows& corpus_;
  bool cosine_;
};

}  // namespace

void narrow_top_k(const MatrixView<const float>& queries, const MatrixView<const float>& corpus,
                  const NarrowRows& narrow, int64_t k, int64_t* ids, float* scores,
                  const RetrieveOptions& options, const CorpusOptions& known) {
  const simd::Table& simd = simd_table(options.isa);
  const bool readable = narrow.bytes != nullptr || simd.codes.halves != nullptr;
  if (!readable || !has_strips(options.metric, queries.rows, queries.cols)) {
    top_k(queries, corpus, k, ids, scores, options, known);
    return;
  }
  const int n_threads = threads_for(queries, corpus, options.n_threads);
  ComparedRows left(queries, options.metric, "queries", simd.scores),
      right(corpus, options.metric, "corpus", simd.scores, known.lengths);
  left.prepare_all(n_threads);
  check_range(left, right, options.metric, "queries", known.longest);
  const Bounds bounds(simd.codes, narrow, right, options.metric);
  const Hidden hidden(right, options.metric, known.skipped);
  const int64_t parts = n_threads == 1 ? 1 : std::min<int64_t>(4 * n_threads, block_count(corpus.rows, 4096));
  const int64_t share = block_count(block_count(corpus.rows, parts), kBlockColumns) * kBlockColumns;
  auto uppers = aligned_array<float>(static_cast<size_t>(corpus.rows));
  BlockScorer scorer(simd.scores, options.metric, 1, queries.cols);
  std::vector<uint64_t> keys;
  std::vector<int64_t> rows;
  for (int64_t q = 0; q < queries.rows; ++q) {
    keys.clear();
    rows.clear();
    const bool lost = options.metric == Metric::cosine && left.length(q) == 0;
    if (!lost) {
      const NarrowQuery query(left, q, simd.scores, narrow.bytes != nullptr);
      Reservoirs reservoirs(1, parts, k);
      parallel_for(parts, n_threads, [&](int64_t part, int) {
        float lower[kBlockColumns];
        std::vector<int64_t> zeros;
        const int64_t stop = std::min(corpus.rows, (part + 1) * share);
        for (int64_t c = part * share; c < stop; c += kBlockColumns) {
          const int64_t end = std::min(stop, c + kBlockColumns);
          bounds.find(query, c, end, lower, uppers.get() + c);
          hidden.find_zeros(c, end, zeros);
          hidden.hide(q, c, end, zeros, lower);
          hidden.hide(q, c, end, zeros, uppers.get() + c);
          reservoirs.add(simd.scores, 0, part, lower, end - c, c);
          check_interrupt();
        }
      });
      reservoirs.gather(0, keys);
      float bar = std::numeric_limits<float>::lowest();  // above what is hidden
      if (static_cast<int64_t>(keys.size()) >= k) {
        keep_largest(keys.data(), static_cast<int64_t>(keys.size()), k);
        bar = simd::score_of(*std::min_element(keys.begin(), keys.begin() + k));
      }
      keys.clear();
      for (int64_t i = 0; i < corpus.rows; ++i) {
        if (uppers[i] >= bar) rows.push_back(i);
      }
      scorer.take_queries(left, q, q + 1);
    }
    for (size_t first = 0; first < rows.size(); first += kBlockColumns) {
      const int64_t n = std::min<int64_t>(kBlockColumns, static_cast<int64_t>(rows.size() - first));
      scorer.score_listed(right, rows.data() + first, n);
      for (int64_t i = 0; i < n; ++i) {
        keys.push_back(
            simd::key_of(scorer.scores(0)[i], static_cast<uint32_t>(rows[first + static_cast<size_t>(i)])));
      }
      check_interrupt();
    }
    write_best(keys, k, options.metric, ids + q * k, scores + q * k);
  }
}

}  // namespace semproj
