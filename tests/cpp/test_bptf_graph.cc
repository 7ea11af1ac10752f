// Lists of neighbours, classes of words and random pairs of BPTF.

#include "models/bptf_graph.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "check.h"

using namespace semproj;

TEST(lists_by_hand) {
  // A symmetric slice with cells (0, 1) and (2, 1), an asymmetric one with (1, 0): lists 0, 1 (rows), 2.
  const int32_t rows[] = {0, 2}, cols[] = {1, 1}, from[] = {1}, to[] = {0};
  const double values[] = {0.5, -1.0}, other[] = {3.0};
  for (const int n_threads : {1, 2, 7}) {
    const auto found =
        neighbor_lists<double>({{rows, cols, values, 2, 0, 0}, {from, to, other, 1, 1, 2}}, 4, 3, n_threads);
    CHECK((found.indptr == std::vector<int64_t>{0, 1, 1, 2, 4, 5, 5, 6, 6, 6, 6, 6, 6}));
    CHECK((found.words == std::vector<int32_t>{1, 1, 0, 2, 0, 1}));
    CHECK((found.values == std::vector<double>{0.5, 3.0, 0.5, -1.0, 3.0, -1.0}));
  }
}

TEST(classes_have_no_neighbors) {
  const int64_t n = 200;
  std::vector<int32_t> rows, cols;  // words whose numbers differ by 1 to 4
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = i + 1; j < std::min<int32_t>(n, i + 5); ++j) rows.push_back(i), cols.push_back(j);
  }
  const std::vector<float> values(rows.size(), 1.0f);
  const auto cells = static_cast<int64_t>(rows.size());
  const auto lists = neighbor_lists<float>({{rows.data(), cols.data(), values.data(), cells, 0, 0}}, n, 3, 2);
  std::vector<int64_t> indptr;
  for (int64_t i = 0; i <= n; ++i) indptr.push_back(lists.indptr[i * 3]);
  const WordClasses classes = color_classes(indptr.data(), lists.words.data(), n);
  CHECK_EQUAL(classes.bounds.front(), 0);
  CHECK_EQUAL(classes.bounds.back(), n);
  CHECK_EQUAL(std::set<int32_t>(classes.words.begin(), classes.words.end()).size(), size_t{200});
  CHECK(classes.bounds.size() >= 6);      // words 0 to 4 are all neighbours
  CHECK(classes.bounds.size() <= 1 + 9);  // at most one class more than a word has neighbours
  for (size_t c = 0; c + 1 < classes.bounds.size(); ++c) {
    const std::set<int32_t> members(classes.words.begin() + classes.bounds[c],
                                    classes.words.begin() + classes.bounds[c + 1]);
    CHECK(!members.empty());
    for (const int32_t word : members) {
      for (int64_t at = indptr[word]; at < indptr[word + 1]; ++at) CHECK(!members.count(lists.words[at]));
    }
  }
}

TEST(classes_by_hand) {
  // A star has two classes, its centre first; words without neighbours are in the first.
  const int64_t indptr[] = {0, 1, 1, 4, 5, 6};
  const int32_t neighbors[] = {2, 0, 3, 4, 2, 2};
  const WordClasses star = color_classes(indptr, neighbors, 5);
  CHECK((star.bounds == std::vector<int64_t>{0, 2, 5}));
  CHECK((star.words == std::vector<int32_t>{2, 1, 0, 3, 4}));
  const int64_t none[] = {0, 0, 0};
  CHECK((color_classes(none, nullptr, 2).bounds == std::vector<int64_t>{0, 2}));
  CHECK((color_classes(none, nullptr, 0).bounds == std::vector<int64_t>{0}));
}

TEST(pairs_are_different_words_that_are_not_excluded) {
  const int32_t words[] = {1, 4, 5, 9};
  const int64_t excluded[] = {1 * 10 + 4, 5 * 10 + 9};
  const int64_t n = 20000;  // several tasks
  for (const bool ordered : {false, true}) {
    const PairDraw draw{words, 4, 10, ordered, excluded, 2, 3, 5, 0};
    const WordPairs pairs = draw_pairs(draw, n, 1);
    CHECK_EQUAL(pairs.rows.size(), static_cast<size_t>(n));
    std::vector<int64_t> counts(100);
    for (size_t c = 0; c < pairs.rows.size(); ++c) {
      ++counts[static_cast<size_t>(pairs.rows[c] * 10 + pairs.cols[c])];
    }
    for (const int32_t i : words) {
      for (const int32_t j : words) {
        const int64_t key = i * 10 + j;
        const bool open = i != j && (ordered || i < j) && key != excluded[0] && key != excluded[1];
        // 4 of 6 pairs, or 10 of 12, all alike: six standard deviations
        const double mean = open ? static_cast<double>(n) / (ordered ? 10 : 4) : 0.0;
        CHECK_NEAR(static_cast<double>(counts[static_cast<size_t>(key)]), mean, 6 * std::sqrt(mean));
      }
    }
    CHECK(draw_pairs(draw, n, 3) == pairs);
    PairDraw later = draw;
    later.sweep = 6;
    CHECK(draw_pairs(later, n, 1) != pairs);
  }
  CHECK(draw_pairs({words, 1, 10, false, nullptr, 0, 3, 5, 0}, 5, 1).rows.empty());
  const int64_t all[] = {1 * 10 + 4};
  CHECK(draw_pairs({words, 2, 10, false, all, 1, 3, 5, 0}, 5, 1).rows.empty());
}
