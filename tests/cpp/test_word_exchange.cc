// Pairs of words and gains of moves, counted by hand.

#include "lm/word_exchange.h"

#include <algorithm>
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
  return n > 0 ? n * std::log(n) : 0;
}

struct Text {
  std::vector<int64_t> starts{0};
  std::vector<int32_t> ids;
};

// Words that like to follow themselves and their neighbors; some sentences are empty. The last word is the
// boundary, which is in no sentence.
Text random_text(uint64_t seed, int n_words, int n_sentences) {
  Text text;
  uint64_t state = 2 * seed + 1;
  const auto below = [&](int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<uint64_t>(n));
  };
  for (int s = 0; s < n_sentences; ++s) {
    int word = below(n_words - 1);
    for (int i = below(9); i > 0; --i) {
      text.ids.push_back(word);
      const int kind = below(6);
      if (kind > 2) word = below(n_words - 1);
      if (kind == 2) word = (word + 1) % (n_words - 1);
    }
    text.starts.push_back(static_cast<int64_t>(text.ids.size()));
  }
  return text;
}

// By its definition: the sum over neighbors of log p(class | class before) p(word | class).
double plain_log_likelihood(const Text& text, const std::vector<int32_t>& classes, int n_classes) {
  const auto boundary = static_cast<int32_t>(classes.size()) - 1;
  std::vector<double> pairs(static_cast<size_t>(n_classes) * n_classes), totals(n_classes),
      words(classes.size());
  const auto see = [&](int32_t a, int32_t b) {
    ++pairs[static_cast<size_t>(classes[a]) * n_classes + classes[b]];
    ++totals[classes[b]];
    ++words[b];
  };
  for (size_t s = 0; s + 1 < text.starts.size(); ++s) {
    int32_t last = boundary;
    for (int64_t i = text.starts[s]; i < text.starts[s + 1]; ++i) {
      see(last, text.ids[static_cast<size_t>(i)]);
      last = text.ids[static_cast<size_t>(i)];
    }
    see(last, boundary);
  }
  double sum = 0;
  for (const double n : pairs) sum += g(n);
  for (const double n : totals) sum -= 2 * g(n);
  for (const double n : words) sum += g(n);
  return sum;
}

// Where the whole text is most likely with a word, unless it is the last of its class.
int32_t plain_best(const Text& text, std::vector<int32_t> classes, size_t word, int n_classes, int n_free) {
  const int32_t own = classes[word];
  if (own >= n_free || std::count(classes.begin(), classes.end(), own) == 1) return own;
  double best = plain_log_likelihood(text, classes, n_classes) + 1e-6;
  int32_t where = own;
  for (int32_t c = 0; c < n_free; ++c) {
    classes[word] = c;
    const double here = plain_log_likelihood(text, classes, n_classes);
    if (c != own && here > best + 1e-9) best = here, where = c;
  }
  return where;
}

// Words of a batch choose side by side. Then they move one by one, if that is still a gain.
int64_t plain_sweep(const Text& text, std::vector<int32_t>& classes, int n_classes, int n_free) {
  int64_t moves = 0;
  for (size_t begin = 0, end; begin < classes.size(); begin = end) {
    end = std::min(classes.size(), begin + std::clamp<size_t>(begin / 8, 1, 128));
    std::vector<int32_t> wanted;
    for (size_t w = begin; w < end; ++w) wanted.push_back(plain_best(text, classes, w, n_classes, n_free));
    for (size_t w = begin; w < end; ++w) {
      std::vector<int32_t> moved = classes;
      moved[w] = wanted[w - begin];
      const bool is_last = std::count(classes.begin(), classes.end(), classes[w]) == 1;
      if (moved == classes || is_last) continue;
      const double gain =
          plain_log_likelihood(text, moved, n_classes) - plain_log_likelihood(text, classes, n_classes);
      if (gain <= 1e-6) continue;
      classes = moved;
      ++moves;
    }
  }
  return moves;
}

std::vector<int32_t> dealt(int n_words, int n_free) {
  std::vector<int32_t> classes(static_cast<size_t>(n_words));
  for (int w = 0; w < n_words; ++w) classes[static_cast<size_t>(w)] = w % n_free;
  classes.back() = classes[classes.size() - 2] = n_free;  // as <s> and </s>, whose class nothing leaves
  return classes;
}

}  // namespace

TEST(pairs_by_their_definition) {
  const int n_words = 40;
  const Text text = random_text(3, n_words, 300);
  std::vector<int32_t> expected(static_cast<size_t>(n_words) * n_words);
  for (size_t s = 0; s + 1 < text.starts.size(); ++s) {
    int32_t last = n_words - 1;
    for (int64_t i = text.starts[s]; i <= text.starts[s + 1]; ++i) {
      const int32_t next = i < text.starts[s + 1] ? text.ids[static_cast<size_t>(i)] : n_words - 1;
      ++expected[static_cast<size_t>(last) * n_words + next];
      last = next;
    }
  }
  for (const int n_threads : {1, 3}) {
    const WordPairs pairs = count_word_pairs(text.starts, text.ids, n_words, n_words - 1, n_threads);
    for (const bool after : {true, false}) {
      const Neighbors& found = after ? pairs.after : pairs.before;
      std::vector<int32_t> counts(expected.size());
      for (int64_t w = 0; w < n_words; ++w) {
        for (auto i = static_cast<size_t>(found.starts[w]); i < static_cast<size_t>(found.starts[w + 1]);
             ++i) {
          const int64_t first = after ? w : found.words[i], second = after ? found.words[i] : w;
          counts[static_cast<size_t>(first * n_words + second)] += found.counts[i];
          const bool rises = i == static_cast<size_t>(found.starts[w]) || found.words[i - 1] < found.words[i];
          CHECK(rises);
        }
      }
      CHECK(counts == expected);
    }
  }
}

TEST(moves_are_the_best_ones) {
  // Of 15 words each batch is one word, of 60 some have several. With few classes many words are beside their
  // own.
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (const int n_free : {1, 2, 3, 5}) {
      const int n_words = seed < 8 ? 15 : 60;
      const Text text = random_text(seed, n_words, 60);
      const WordPairs pairs = count_word_pairs(text.starts, text.ids, n_words, n_words - 1, 1);
      std::vector<int32_t> ours = dealt(n_words, n_free), plain = ours;
      for (int sweep = 0; sweep < 3; ++sweep) {
        const ExchangeSweep found = exchange_words(pairs, ours.data(), n_free + 1, n_free, 2);
        CHECK_EQUAL(found.moves, plain_sweep(text, plain, n_free + 1, n_free));
        CHECK(ours == plain);
        CHECK_NEAR(found.log_likelihood, plain_log_likelihood(text, ours, n_free + 1), 1e-9);
      }
    }
  }
}

TEST(counts_beyond_the_table) {
  // Counts around 2^16, up to which logarithms are looked up.
  for (const int n : {65535, 65536, 65537, 70000}) {
    Text text;
    text.ids.assign(static_cast<size_t>(n) + 1, 0);
    text.ids.push_back(1);
    text.starts.push_back(n + 2);
    const WordPairs pairs = count_word_pairs(text.starts, text.ids, 3, 2, 1);
    const std::vector<int32_t> classes{0, 1, 2};
    const double expected = plain_log_likelihood(text, classes, 3);
    CHECK_NEAR(class_log_likelihood(pairs, classes.data(), 3), expected, 1e-9 * n);
  }
}

TEST(batches_rise_and_do_not_depend_on_threads) {
  const int n_words = 400, n_free = 7;
  const Text text = random_text(5, n_words, 3000);
  const WordPairs pairs = count_word_pairs(text.starts, text.ids, n_words, n_words - 1, 2);
  std::vector<int32_t> one = dealt(n_words, n_free), three = one;
  double last = plain_log_likelihood(text, one, n_free + 1);
  CHECK_NEAR(class_log_likelihood(pairs, one.data(), n_free + 1), last, 1e-9 * -last);
  for (int sweep = 0; sweep < 4; ++sweep) {
    const std::vector<int32_t> before = one;
    const ExchangeSweep found = exchange_words(pairs, one.data(), n_free + 1, n_free, 1);
    CHECK_EQUAL(exchange_words(pairs, three.data(), n_free + 1, n_free, 3).moves, found.moves);
    CHECK(one == three);
    int64_t changed = 0;
    for (size_t w = 0; w < one.size(); ++w) changed += one[w] != before[w];
    CHECK_EQUAL(found.moves, changed);
    CHECK_NEAR(found.log_likelihood, plain_log_likelihood(text, one, n_free + 1), -1e-9 * last);
    CHECK(found.log_likelihood >= last);
    last = found.log_likelihood;
  }
}

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
