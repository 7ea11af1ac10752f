// Nearest rows and ranks on cases small enough to be done by hand, and larger ones against plain loops, for
// every instruction set.

#include "kernels/ranks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "core/philox.h"

using namespace semproj;

namespace {

struct Rows {
  int64_t n, d, stride;
  std::vector<float> data;

  Rows(int64_t n_rows, int64_t columns, std::vector<float> values)
      : n(n_rows), d(columns), stride(columns), data(std::move(values)) {}
  Rows(int64_t n_rows, int64_t columns, uint64_t seed)
      : n(n_rows), d(columns), stride(columns + 3), data(static_cast<size_t>(n_rows * (columns + 3))) {
    for (size_t i = 0; i < data.size(); ++i) {
      const double x = philox_normals(seed, {static_cast<uint32_t>(i), 0, 0, 0})[0];
      data[i] = static_cast<float>(std::abs(x)) + 0.01f;
    }
  }
  const float* row(int64_t i) const { return data.data() + i * stride; }
  MatrixView<const float> view() const { return {data.data(), n, d, stride}; }
};

constexpr Metric kMetrics[] = {Metric::cosine, Metric::inner_product, Metric::l1, Metric::jensen_shannon};

// More is better.
double plain_score(Metric metric, const float* a, const float* b, int64_t d) {
  double dot = 0, aa = 0, bb = 0, l1 = 0, a_sum = 0, b_sum = 0, js = 0;
  for (int64_t k = 0; k < d; ++k) {
    const double x = a[k], y = b[k];
    dot += x * y, aa += x * x, bb += y * y, l1 += std::abs(x - y), a_sum += x, b_sum += y;
  }
  for (int64_t k = 0; k < d; ++k) {
    const double p = a[k] / a_sum, q = b[k] / b_sum, m = (p + q) / 2;
    js += (p * std::log2(p / m) + q * std::log2(q / m)) / 2;
  }
  switch (metric) {
    case Metric::cosine:
      return dot / std::sqrt(aa * bb);
    case Metric::inner_product:
      return dot;
    case Metric::l1:
      return -l1;
    case Metric::jensen_shannon:
      return -js;
  }
  return 0;
}

struct Found {
  std::vector<int64_t> ids;
  std::vector<float> scores;
  bool operator==(const Found& other) const { return ids == other.ids && scores == other.scores; }
};

Found find(const Rows& queries, const Rows& corpus, int64_t k, Metric metric, Isa isa, int n_threads = 1) {
  Found found{std::vector<int64_t>(queries.n * k, -1), std::vector<float>(queries.n * k, -99)};
  top_k(queries.view(), corpus.view(), k, found.ids.data(), found.scores.data(), {metric, n_threads, isa});
  return found;
}

}  // namespace

TEST(by_hand) {
  const Rows queries(2, 2, {1, 0, 3, 4}), corpus(3, 2, {0, 2, 6, 8, 5, 0});
  for (const Isa isa : supported_isas()) {
    const Found inner = find(queries, corpus, 2, Metric::inner_product, isa);
    CHECK((inner.ids == std::vector<int64_t>{1, 2, 1, 2}));
    CHECK((inner.scores == std::vector<float>{6, 5, 50, 15}));
    const Found l1 = find(queries, corpus, 3, Metric::l1, isa);
    CHECK((l1.ids == std::vector<int64_t>{0, 2, 1, 0, 2, 1}));
    CHECK((l1.scores == std::vector<float>{3, 4, 13, 5, 6, 7}));
    const Found cosine = find(queries, corpus, 3, Metric::cosine, isa);
    CHECK((cosine.ids == std::vector<int64_t>{2, 1, 0, 1, 0, 2}));
    const float expected[] = {1.0f, 0.6f, 0.0f, 1.0f, 0.8f, 0.6f};
    for (int i = 0; i < 6; ++i) CHECK_NEAR(cosine.scores[i], expected[i], 1e-6);
    // Of (1, 0) from (0, 1), (3/7, 4/7) and itself: 1, 0.3705 and 0 bits.
    const Found js = find(queries, corpus, 3, Metric::jensen_shannon, isa);
    CHECK_EQUAL(js.ids[0], 2);
    CHECK_EQUAL(js.ids[1], 1);
    CHECK_NEAR(js.scores[0], 0, 1e-7);
    CHECK_NEAR(js.scores[1], 0.3705065, 2e-7);
    CHECK_NEAR(js.scores[2], 1, 2e-7);
  }
}

TEST(every_metric_against_plain_loops) {
  for (const int64_t d : {1, 5, 64, 255, 300, 520}) {
    const Rows queries(29, d, 1), corpus(321, d, 2);
    for (const Metric metric : kMetrics) {
      const double scale =
          metric == Metric::inner_product || metric == Metric::l1 ? static_cast<double>(d) : 1;
      for (const Isa isa : supported_isas()) {
        const Found found = find(queries, corpus, 40, metric, isa);
        CHECK(found == find(queries, corpus, 40, metric, isa, 3));
        for (int64_t q = 0; q < queries.n; ++q) {
          std::vector<double> plain(corpus.n);
          for (int64_t c = 0; c < corpus.n; ++c)
            plain[c] = plain_score(metric, queries.row(q), corpus.row(c), d);
          std::vector<double> sorted = plain;
          std::sort(sorted.begin(), sorted.end(), std::greater<>());
          for (int64_t i = 0; i < 40; ++i) {
            const float score = found.scores[q * 40 + i];
            const double signed_score =
                metric == Metric::l1 || metric == Metric::jensen_shannon ? -score : score;
            CHECK_NEAR(signed_score, sorted[i], 2e-6 * scale);
            CHECK_NEAR(signed_score, plain[found.ids[q * 40 + i]], 2e-6 * scale);
          }
        }
      }
    }
  }
}

TEST(ranks_against_plain_loops) {
  const Rows a(301, 7, 1);
  Rows b(301, 7, 2);
  for (size_t i = 0; i < b.data.size(); ++i) b.data[i] = a.data[i] + 0.5f * b.data[i];
  for (const Metric metric : kMetrics) {
    for (const Isa isa : supported_isas()) {
      for (const int n_threads : {1, 3}) {
        std::vector<int64_t> forward(a.n), backward(a.n);
        true_ranks(a.view(), b.view(), forward.data(), backward.data(), {metric, n_threads, isa});
        for (int64_t i = 0; i < a.n; ++i) {
          const double own = plain_score(metric, a.row(i), b.row(i), a.d);
          int64_t there = 1, back = 1;
          for (int64_t j = 0; j < a.n; ++j) {
            there += j != i && plain_score(metric, a.row(i), b.row(j), a.d) >= own;
            back += j != i && plain_score(metric, a.row(j), b.row(i), a.d) >= own;
          }
          // Scores closer than the margin are ties for the kernel alone: a few at most.
          CHECK(forward[i] >= there && forward[i] <= there + 1);
          CHECK(backward[i] >= back && backward[i] <= back + 1);
        }
        CHECK(*std::max_element(forward.begin(), forward.end()) > 5);
      }
    }
  }
}

TEST(gold_ranks_by_hand) {
  // Inner products of the query with the corpus: 3, 1, 2, 2, 0, 2.
  const Rows queries(2, 1, {1, -1}), corpus(6, 1, {3, 1, 2, 2, 0, 2});
  const int64_t starts[] = {0, 3, 4}, rows[] = {2, 0, 4, 4};
  for (const Isa isa : supported_isas()) {
    int64_t nearer[4], tied[4];
    gold_ranks(queries.view(), corpus.view(), 6, {starts, rows}, nearer, tied,
               {Metric::inner_product, 1, isa});
    const int64_t expected[] = {1, 0, 5, 0}, ties[] = {2, 0, 0, 0};
    CHECK(std::equal(nearer, nearer + 4, expected));
    CHECK(std::equal(tied, tied + 4, ties));
    // Only the first three rows are rivals: row 4 is not one of them, and is not counted as its own either.
    gold_ranks(queries.view(), corpus.view(), 3, {starts, rows}, nearer, tied,
               {Metric::inner_product, 1, isa});
    const int64_t fewer[] = {1, 0, 3, 0}, none[] = {0, 0, 0, 0};
    CHECK(std::equal(nearer, nearer + 4, fewer));
    CHECK(std::equal(tied, tied + 4, none));
    // By cosine the zero row has no rank, and all others point the same way.
    gold_ranks(queries.view(), corpus.view(), 6, {starts, rows}, nearer, tied, {Metric::cosine, 1, isa});
    const int64_t unknown[] = {0, 0, -1, -1}, alike[] = {4, 4, -1, -1};
    CHECK(std::equal(nearer, nearer + 4, unknown));
    CHECK(std::equal(tied, tied + 4, alike));
  }
}

TEST(keys_order_scores_and_ids) {
  const float inf = std::numeric_limits<float>::infinity();
  const float ordered[] = {-inf, -3.5f, -1e-40f, 0.0f, 1e-40f, 2.0f, inf};
  for (size_t i = 0; i + 1 < std::size(ordered); ++i) {
    CHECK(simd::key_of(ordered[i], 0) < simd::key_of(ordered[i + 1], 0xffffffffu));
    CHECK_EQUAL(simd::score_of(simd::key_of(ordered[i], 7)), ordered[i]);
  }
  CHECK(simd::key_of(1.0f, 4) > simd::key_of(1.0f, 5));
  CHECK(simd::key_of(-0.0f, 4) == simd::key_of(0.0f, 4));
  CHECK_EQUAL(simd::id_of(simd::key_of(-2.0f, 4000000000u)), 4000000000u);
}

TEST(bad_rows_are_named) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Rows good(2, 1, {1, 2}), bad(2, 1, {1, nan}), negative(2, 1, {1, -1}), zero(2, 1, {0, 1});
  CHECK_THROWS(std::invalid_argument, "queries: contains NaN or infinity (row 1)",
               find(bad, good, 1, Metric::l1, Isa::baseline));
  CHECK_THROWS(std::invalid_argument, "corpus: contains NaN or infinity (row 1)",
               find(good, bad, 1, Metric::cosine, Isa::baseline));
  CHECK_THROWS(std::invalid_argument, "corpus: expected numbers that are not negative",
               find(good, negative, 1, Metric::jensen_shannon, Isa::baseline));
  CHECK_THROWS(std::invalid_argument, "queries: expected rows with a sum above 0",
               find(zero, good, 1, Metric::jensen_shannon, Isa::baseline));
}
