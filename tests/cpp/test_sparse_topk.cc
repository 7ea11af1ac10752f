// Nearest sparse rows on a case small enough to be done by hand, and on many rows against plain loops in the
// same order, for every instruction set.

#include "kernels/sparse_topk.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "core/philox.h"

using namespace semproj;

namespace {

struct Rows {
  explicit Rows(int64_t columns) : n_cols(columns) {}

  int64_t n_cols;
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  std::vector<float> data;

  void add(const std::vector<int32_t>& columns, const std::vector<float>& values) {
    indices.insert(indices.end(), columns.begin(), columns.end());
    data.insert(data.end(), values.begin(), values.end());
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
  int64_t size() const { return static_cast<int64_t>(indptr.size()) - 1; }
  CsrView<int32_t, float> view() const {
    return {size(), n_cols, indptr.data(), indices.data(), data.data()};
  }
};

struct Found {
  std::vector<int64_t> ids;
  std::vector<float> scores;
};

Found find(const Rows& queries, const Rows& corpus, int64_t k, const RetrieveOptions& options) {
  Found found{std::vector<int64_t>(static_cast<size_t>(queries.size() * k)),
              std::vector<float>(static_cast<size_t>(queries.size() * k))};
  const InvertedRows inverted =
      invert_rows(corpus.view(), options.metric, used_columns(queries.view(), "queries"), options.n_threads);
  sparse_top_k(queries.view(), inverted, k, found.ids.data(), found.scores.data(), options);
  return found;
}

// Column c is in one of c + 1 rows, as common ones are in many.
Rows invented(int64_t n, int64_t n_cols, uint32_t seed) {
  Rows rows(n_cols);
  for (int64_t r = 0; r < n; ++r) {
    std::vector<int32_t> columns;
    std::vector<float> values;
    for (int64_t c = 0; c < n_cols; ++c) {
      const auto drawn = philox_normals(7, {static_cast<uint32_t>(r), static_cast<uint32_t>(c), seed, 0});
      if (std::abs(drawn[0]) * static_cast<double>(c + 1) > 1.5) continue;
      columns.push_back(static_cast<int32_t>(c));
      values.push_back(
          static_cast<float>(static_cast<int>(std::abs(drawn[1]) * 4 * static_cast<double>(c + 1))));
    }
    rows.add(columns, values);
  }
  return rows;
}

float plain_score(const Rows& a, int64_t i, const Rows& b, int64_t j) {
  float sum = 0;
  for (int64_t x = a.indptr[i]; x < a.indptr[i + 1]; ++x) {
    for (int64_t y = b.indptr[j]; y < b.indptr[j + 1]; ++y) {
      if (a.indices[x] == b.indices[y]) sum += a.data[x] * b.data[y];
    }
  }
  return sum;
}

void check_by_hand(Isa isa) {
  Rows queries(3), corpus(3);
  queries.add({0, 1}, {3, 4});
  queries.add({}, {});
  corpus.add({2}, {1});
  corpus.add({0, 1}, {6, 8});
  corpus.add({}, {});
  corpus.add({0}, {-1});
  const Found cosine = find(queries, corpus, 3, {Metric::cosine, 1, isa});
  CHECK(cosine.ids == std::vector<int64_t>({1, 0, 3, -1, -1, -1}));
  CHECK_NEAR(cosine.scores[0], 1, 1e-6);
  CHECK_NEAR(cosine.scores[1], 0, 0);
  CHECK_NEAR(cosine.scores[2], -0.6, 1e-6);
  const Found product = find(queries, corpus, 3, {Metric::inner_product, 1, isa});
  CHECK(product.ids == std::vector<int64_t>({1, 0, 2, 0, 1, 2}));
  CHECK_NEAR(product.scores[0], 50, 0);
}

// Integers: the sums are exact whatever their order.
void check_many(Isa isa) {
  const int64_t k = 7;
  const Rows queries = invented(20, 40, 1), corpus = invented(20'000, 40, 2);
  const Found found = find(queries, corpus, k, {Metric::inner_product, 2, isa});
  for (int64_t q = 0; q < queries.size(); ++q) {
    std::vector<float> scores;
    for (int64_t r = 0; r < corpus.size(); ++r) scores.push_back(plain_score(queries, q, corpus, r));
    std::vector<int64_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
    for (int64_t i = 0; i < k; ++i) {
      CHECK(found.ids[q * k + i] == order[i]);
      CHECK(found.scores[q * k + i] == scores[order[i]]);
    }
  }
}

}  // namespace

TEST(rows_by_hand) {
  for (const Isa isa : supported_isas()) check_by_hand(isa);
}

TEST(many_rows_beside_plain_loops) {
  for (const Isa isa : supported_isas()) check_many(isa);
}

TEST(columns_out_of_range) {
  Rows bad(2);
  bad.add({2}, {1});
  CHECK_THROWS(std::invalid_argument, "queries: column index 2 is out of range for 2 columns",
               used_columns(bad.view(), "queries"));
  CHECK_THROWS(std::invalid_argument, "corpus: column index 2 is out of range for 2 columns",
               invert_rows(bad.view(), Metric::cosine, {1, 1}, 1));
}
