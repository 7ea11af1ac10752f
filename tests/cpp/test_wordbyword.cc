// EM for word alignments, and the sparse product, on cases computed by hand.

#include "models/wordbyword.h"

#include <cmath>
#include <vector>

#include "check.h"
#include "kernels/spgemm.h"

using namespace semproj;

namespace {

// Two pairs: words 0 1 with words 0 1, word 0 with word 0.
struct TwoPairs {
  std::vector<int32_t> source{0, 1, 0}, target{0, 1, 0};
  std::vector<int64_t> begin{0, 2}, end{2, 3};

  SentencePairs view() const {
    return {2, source.data(), target.data(), begin.data(), end.data(), begin.data(), end.data(), 2, 2};
  }
};

}  // namespace

TEST(one_iteration_of_model1) {
  const TwoPairs pairs;
  for (const int64_t chunk_cells : {1, 1000}) {
    WordAligner aligner(pairs.view(), 1, chunk_cells, Isa::baseline, 2);
    CHECK_EQUAL(aligner.n_cells(), 6);
    // Everything is 1/2, so each alignment of the first pair is 1/3 and of the second 1/2.
    CHECK_NEAR(aligner.model1(), 3 * std::log(0.5), 1e-6);
    const TranslationCells cells = aligner.cells(0);
    const double expected[] = {5. / 7, 2. / 7, 0.5, 0.5, 5. / 7, 2. / 7};  // words 0, 1, null
    for (int i = 0; i < 6; ++i) CHECK_NEAR(cells.values[i], expected[i], 1e-6);
    // Next: columns of pair 1 are 5/7 + 1/2 + 5/7 and 2/7 + 1/2 + 2/7, of pair 2 5/7 + 5/7.
    const double first = 27. / 14 / 3, second = 15. / 14 / 3, third = 5. / 7;
    CHECK_NEAR(aligner.model1(), std::log(first) + std::log(second) + std::log(third), 1e-6);
  }
}

TEST(rare_pairs_have_no_cell) {
  const TwoPairs pairs;
  WordAligner aligner(pairs.view(), 2, 1000, Isa::baseline, 1);
  const TranslationCells cells = aligner.cells(0);
  CHECK(cells.starts == (std::vector<int64_t>{0, 1, 1, 3}));
  CHECK(cells.columns == (std::vector<int32_t>{0, 0, 1}));
  // Column 0 of pair 1: word 0 and null; column 1: null alone.
  CHECK_NEAR(aligner.model1(), std::log(1. / 3) + std::log(0.5 / 3) + std::log(0.5), 1e-6);
}

TEST(one_source_word_in_the_hmm) {
  // Only how often it stays and moves is open: all emissions are equal.
  const JumpClasses classes{1};
  const int32_t words[] = {1, 0};
  const float jumps[] = {1, 2, 3, 4, 5, 5, 4, 3, 2, 1};  // word 0, the beginning
  for (const Isa isa : supported_isas()) {
    HmmPair pair(classes, 0.2, isa);
    std::vector<float> cells(4, 0.5f), statistics(20, -1.0f);
    CHECK_NEAR(pair.expect(cells.data(), 2, 2, words, jumps, statistics.data()), 2 * std::log(0.5), 1e-6);
    const double expected[] = {0.2, 0.2, 0.8, 0.8};
    for (int i = 0; i < 4; ++i) CHECK_NEAR(cells[i], expected[i], 1e-6);
    // From the beginning by +1: at once 0.8, or after one null word 0.2 * 0.8; from word 1 to itself 0.8 *
    // 0.8.
    for (int k = 0; k < 5; ++k) {
      CHECK_NEAR(statistics[k], k == 3 ? 0.96 : 0, 1e-6);
      CHECK_NEAR(statistics[5 + k], k == 3 ? 0.96 / 2 : 0, 1e-6);  // the only jump there is has weight 2
      CHECK_NEAR(statistics[10 + k], k == 2 ? 0.64 : 0, 1e-6);
      CHECK_NEAR(statistics[15 + k], k == 2 ? 0.64 / 3 : 0, 1e-6);
    }
  }
}

TEST(long_sentences_do_not_overflow) {
  const JumpClasses classes{5};
  const int64_t n = 130, m = 400;
  std::vector<int32_t> words(n, 0);
  std::vector<float> jumps(13, 1.0f), cells(n * m), statistics(2 * 13 * n);
  for (const Isa isa : supported_isas()) {
    for (int64_t i = 0; i < n * m; ++i) cells[i] = (i * 7919) % 101 == 0 ? 0.9f : 1e-12f;
    HmmPair pair(classes, 0.2, isa);
    CHECK(std::isfinite(pair.expect(cells.data(), n, m, words.data(), jumps.data(), statistics.data())));
    for (int64_t j = 0; j < m; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += cells[i * m + j];
      CHECK_NEAR(sum, 1.0, 1e-4);
    }
  }
}

TEST(sparse_times_sparse) {
  const int64_t a_starts[] = {0, 2, 2, 4}, b_starts[] = {0, 2, 3};
  const int32_t a_columns[] = {1, 0, 0, 0}, b_columns[] = {7, 2, 0};
  const double a_values[] = {2, 3, 1, -1};
  const float b_values[] = {5, 1, 4};
  const CsrView<int32_t, double> a{3, 2, a_starts, a_columns, a_values};
  const CsrView<int32_t, float> b{2, 9, b_starts, b_columns, b_values};
  auto parts = multiply_sparse<double>(a, b, 2);
  int64_t starts[4];
  int32_t columns[5];
  double values[5];
  join_parts(&parts, starts, columns, values, 2);
  // Sorted columns; what cancels stays as a zero.
  const int64_t expected_starts[] = {0, 3, 3, 5};
  const int32_t expected_columns[] = {0, 2, 7, 2, 7};
  const double expected_values[] = {8, 3, 15, 0, 0};
  for (int i = 0; i < 4; ++i) CHECK_EQUAL(starts[i], expected_starts[i]);
  for (int i = 0; i < 5; ++i) {
    CHECK_EQUAL(columns[i], expected_columns[i]);
    CHECK_EQUAL(values[i], expected_values[i]);
  }
  const int32_t bad[] = {1, 2, 0, 0};
  const CsrView<int32_t, double> c{3, 2, a_starts, bad, a_values};
  CHECK_THROWS(std::invalid_argument, "column index 2", multiply_sparse<double>(c, b, 1));
}
