// Pairs of words and gains of moves, counted by hand.

#include "lm/word_exchange.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"

using namespace semproj::lm;

namespace {

// Words 0 and 1, and the boundary 2: "0 1", "0 0 1".
WordPairs few_pairs() {
  const std::vector<int64_t> starts{0, 2, 5};
  const std::vector<int32_t> ids{0, 1, 0, 0, 1};
  return count_word_pairs(starts, ids, 3, 2, 2);
}

double g(double n) {
  return n * std::log(n);
}

}  // namespace

TEST(pairs_are_those_of_a_circle) {
  const WordPairs pairs = few_pairs();
  CHECK(pairs.after.starts == (std::vector<int64_t>{0, 2, 3, 4}));
  CHECK(pairs.after.words == (std::vector<int32_t>{0, 1, 2, 0}));
  CHECK(pairs.after.counts == (std::vector<int32_t>{1, 2, 2, 2}));
  CHECK(pairs.before.starts == (std::vector<int64_t>{0, 2, 3, 4}));
  CHECK(pairs.before.words == (std::vector<int32_t>{0, 2, 0, 1}));
  CHECK(pairs.before.counts == (std::vector<int32_t>{1, 2, 2, 2}));
}

TEST(likelihood_by_hand) {
  const WordPairs pairs = few_pairs();
  // One class of 0 and 1: it follows itself 3 times, and is beside the boundary twice on each side.
  const std::vector<int32_t> together{0, 0, 1}, apart{0, 1, 2};
  const double words = g(3) + g(2) + g(2);
  CHECK_NEAR(class_log_likelihood(pairs, together.data(), 2), g(3) + 2 * g(2) - 2 * (g(5) + g(2)) + words,
             1e-12);
  CHECK_NEAR(class_log_likelihood(pairs, apart.data(), 3), 3 * g(2) - 2 * (g(3) + 2 * g(2)) + words, 1e-12);
}

TEST(words_move_to_where_they_belong) {
  // Words 0 and 1 come between 2 and 3, which follow each other; 4 is the boundary.
  const std::vector<int64_t> starts{0, 12};
  const std::vector<int32_t> ids{2, 0, 3, 2, 1, 3, 2, 0, 3, 2, 1, 3};
  const WordPairs pairs = count_word_pairs(starts, ids, 5, 4, 1);
  std::vector<int32_t> classes{0, 1, 1, 2, 3};
  double last = class_log_likelihood(pairs, classes.data(), 4);
  const ExchangeSweep found = exchange_words(pairs, classes.data(), 4, 3, 2);
  CHECK_EQUAL(found.moves, 1);
  CHECK_EQUAL(classes[1], classes[0]);
  CHECK_EQUAL(classes[4], 3);
  CHECK(found.log_likelihood > last);
  CHECK_NEAR(found.log_likelihood, class_log_likelihood(pairs, classes.data(), 4), 1e-12);
  CHECK_EQUAL(exchange_words(pairs, classes.data(), 4, 3, 1).moves, 0);
}
