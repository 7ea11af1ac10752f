// An exponential bigram model small enough to be worked out by hand.

#include "lm/maxent.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"
#include "lm/history_forest.h"

using namespace semproj::lm;

namespace {

// Class 0 has the words a = 0 and b = 1, class 1 has </s> = 2 and <s> = 3: "a b", "a a".
struct Text {
  std::vector<int64_t> starts{0, 2, 4}, class_starts{0, 2, 4};
  std::vector<int32_t> ids{0, 1, 0, 0}, words{0, 1, 2, 3};

  ClassText view() const { return {starts, ids, words, class_starts, 3, 2, 1, 2}; }
};

}  // namespace

TEST(histories_of_words) {
  const Text text;
  const HistoryForest forest = word_forest(text.view(), 2);
  CHECK_EQUAL(forest.levels.size(), size_t{1});
  CHECK(forest.label_counts == (std::vector<int64_t>{3, 1, 2}));  // a, b; </s>
  // Behind a: a and b; behind <s>: a twice. The end, behind a and behind b.
  const HistoryLevel& leaves = forest.levels[0];
  CHECK(leaves.symbols == (std::vector<int32_t>{0, 3, 0, 1}));
  CHECK(leaves.parents == (std::vector<int64_t>{0, 0, 1, 1}));
  CHECK(leaves.starts == (std::vector<int64_t>{0, 2, 3, 4, 5}));
  CHECK(leaves.labels == (std::vector<int32_t>{0, 1, 0, 0, 0}));
  CHECK(leaves.counts == (std::vector<int32_t>{1, 1, 2, 1, 1}));
}

TEST(histories_of_classes) {
  const Text text;
  const HistoryForest forest = class_forest(text.view(), 1);
  CHECK_EQUAL(forest.levels.size(), size_t{2});
  CHECK(forest.label_counts == (std::vector<int64_t>{4, 2}));
  // Behind class 0: words twice, the end twice; behind the boundary: words twice.
  CHECK(forest.levels[0].labels == (std::vector<int32_t>{0, 1, 0}));
  CHECK(forest.levels[0].counts == (std::vector<int32_t>{2, 2, 2}));
  CHECK(forest.levels[0].children == (std::vector<int64_t>{0, 2, 3}));
  CHECK(forest.levels[1].symbols == (std::vector<int32_t>{0, 1, 3}));
  CHECK(forest.levels[1].labels == (std::vector<int32_t>{0, 1, 1, 0}));
  CHECK(forest.levels[1].counts == (std::vector<int32_t>{2, 1, 1, 2}));
}

TEST(likelihood_and_expectations) {
  const Text text;
  const HistoryForest forest = word_forest(text.view(), 1);
  std::vector<double> labels{0.5, -0.25, 0.1}, leaves{0.3, -0.2, 0.7, 0, 0}, e0(3), e1(5);
  const double value =
      sweep_forest(forest, {{labels.data(), leaves.data()}, {e0.data(), e1.data()}}, {0.5, 6}, false, 2);
  const double a_a = std::exp(0.8), a_b = std::exp(-0.45), s_a = std::exp(1.2), s_b = std::exp(-0.25);
  const double expected =
      std::log(a_a / (a_a + a_b)) + std::log(a_b / (a_a + a_b)) + 2 * std::log(s_a / (s_a + s_b));
  CHECK_NEAR(value, expected, 1e-12);
  CHECK_NEAR(e1[0], 2 * a_a / (a_a + a_b), 1e-12);
  CHECK_NEAR(e1[1], 2 * a_b / (a_a + a_b), 1e-12);
  CHECK_NEAR(e1[2], 2 * s_a / (s_a + s_b), 1e-12);
  CHECK_NEAR(e0[0], e1[0] + e1[2], 1e-12);
  CHECK_NEAR(e0[1], e1[1] + 2 * s_b / (s_a + s_b), 1e-12);
  CHECK_NEAR(e0[2], 2, 1e-12);
}

TEST(leaves_are_solved) {
  const Text text;
  const HistoryForest forest = word_forest(text.view(), 1);
  std::vector<double> labels{0, 0, 0}, leaves(5, 0), e0(3), e1(5);
  for (int i = 0; i < 5; ++i) {
    sweep_forest(forest, {{labels.data(), leaves.data()}, {e0.data(), e1.data()}}, {0.5, 6}, true, 1);
  }
  // Behind a both words come once: no slope. Behind <s>: 2 (1 - p) - 0.5 - l / 6 = 0 with p = e^l / (e^l +
  // 1).
  CHECK_EQUAL(leaves[0], 0.0);
  CHECK_EQUAL(leaves[1], 0.0);
  const double p = std::exp(leaves[2]) / (std::exp(leaves[2]) + 1);
  CHECK(leaves[2] > 0.3);
  CHECK_NEAR(2 * (1 - p) - 0.5 - leaves[2] / 6, 0, 1e-4);
  CHECK_EQUAL(leaves[3], 0.0);  // certain already
}

TEST(weights_go_to_the_maximum_of_the_bound) {
  // 5 - 2 exp(2 d) - 0.5 - (1 + d) / 6 = 0.
  double weight = 1, reached = 9;
  const double expected = 2;
  const int64_t count = 5;
  improve_weights(&weight, &reached, &expected, &count, 1, {0.5, 6}, {2, 0}, 1);
  CHECK_NEAR(5 - 2 * std::exp(2 * (weight - 1)) - 0.5 - weight / 6, 0, 1e-8);
  CHECK_EQUAL(weight, reached);
  // What the text has as often as expected, within alpha, needs no weight.
  double small = 0.01, there = 0;
  const double about = 5.2;
  improve_weights(&small, &there, &about, &count, 1, {0.5, 6}, {2, 0}, 1);
  CHECK_EQUAL(small, 0.0);
  // With momentum it goes on from the last maximum.
  double on = 1, last = reached - 0.1;
  improve_weights(&on, &last, &expected, &count, 1, {0.5, 6}, {2, 0.5}, 1);
  CHECK_NEAR(on, reached + 0.05, 1e-8);
  CHECK_NEAR(penalty_of(&weight, 1, {0.5, 6}, 1), 0.5 * weight + weight * weight / 12, 1e-12);
}
