#include "models/plsa.h"

#include <cmath>
#include <vector>

#include "check.h"
#include "models/cplsa.h"

using namespace semproj;

namespace {

// Documents with words of all frequencies, some of them empty, one with every word.
struct Corpus {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> words;
  std::vector<float> counts;
  int64_t n_words;

  Corpus(int64_t n, int64_t n_words) : n_words(n_words) {
    uint32_t state = 7;
    const auto draw = [&](uint32_t bound) {
      state = state * 1664525u + 1013904223u;
      return (state >> 8) % bound;
    };
    for (int64_t d = 0; d < n; ++d) {
      for (int64_t w = 0; w < n_words; ++w) {
        if (d % 17 == 5 || (d != 3 && draw(static_cast<uint32_t>(2 + w / 4)) > 0)) continue;
        words.push_back(static_cast<int32_t>(w));
        counts.push_back(0.5f + static_cast<float>(draw(4)));
      }
      indptr.push_back(static_cast<int64_t>(words.size()));
    }
  }
  CsrView<int32_t, float> view() const {
    return {static_cast<int64_t>(indptr.size()) - 1, n_words, indptr.data(), words.data(), counts.data()};
  }
};

std::vector<float> some_words(int64_t n_words, int64_t n_topics) {
  std::vector<float> phi(static_cast<size_t>(n_words * n_topics));
  for (int64_t t = 0; t < n_topics; ++t) {
    double sum = 0;
    for (int64_t w = 0; w < n_words; ++w) sum += 1.0 + static_cast<double>((w * 31 + t * 17) % 23);
    for (int64_t w = 0; w < n_words; ++w) {
      phi[static_cast<size_t>(w * n_topics + t)] =
          static_cast<float>((1.0 + static_cast<double>((w * 31 + t * 17) % 23)) / sum);
    }
  }
  return phi;
}

TopicWords words_of(const std::vector<float>& phi, int64_t n_words, int64_t n_topics) {
  return TopicWords(MatrixView<const float>{phi.data(), n_words, n_topics, n_topics}, 1);
}

}  // namespace

TEST(a_sweep_by_hand) {
  // One document, two words with counts 3 and 1, two topics: s = (0.5, 0.5), r = (6, 2).
  const int64_t indptr[] = {0, 2};
  const int32_t indices[] = {0, 1};
  const float counts[] = {3, 1};
  const std::vector<float> phi{0.75f, 0.25f, 0.25f, 0.75f};
  for (const Isa isa : supported_isas()) {
    std::vector<float> theta{0.5f, 0.5f};
    TopicWords words = words_of(phi, 2, 2);
    TopicCorpus corpus({1, 2, indptr, indices, counts}, {0, 2}, 2, 1, 1);
    const TopicObjective found = plsa_sweep(corpus, words, {theta.data(), 1, 2, 2}, {2, 3}, true, 1, isa);
    CHECK_NEAR(found.log_likelihood, 4 * std::log(0.5), 1e-6);
    CHECK_NEAR(found.log_prior, 2 * std::log(0.5) + 2 * 2 * (std::log(0.75) + std::log(0.25)), 1e-6);
    // theta ~ 1 + theta (r . phi) = 1 + (2.5, 1.5), phi ~ 2 + phi r theta: columns (4.25, 2.25), (2.75, 2.75)
    CHECK_NEAR(theta[0], 3.5 / 6, 1e-6);
    CHECK_NEAR(theta[1], 2.5 / 6, 1e-6);
    CHECK_NEAR(words.row(0)[0], 4.25 / 6.5, 1e-6);
    CHECK_NEAR(words.row(1)[0], 2.25 / 6.5, 1e-6);
    CHECK_NEAR(words.row(0)[1], 2.75 / 5.5, 1e-6);
  }
}

TEST(same_bits_for_any_number_of_threads_and_as_in_double) {
  const int64_t n = 150, n_words = 400, n_topics = 37;
  const Corpus corpus(n, n_words);
  const std::vector<float> phi = some_words(n_words, n_topics);
  std::vector<double> expected(static_cast<size_t>(n * n_topics));
  double likelihood = 0;
  for (int64_t d = 0; d < n; ++d) {
    std::vector<double> next(static_cast<size_t>(n_topics), 0.1);
    double sum = 0.1 * static_cast<double>(n_topics);
    for (int64_t e = corpus.indptr[d]; e < corpus.indptr[d + 1]; ++e) {
      const float* row = phi.data() + corpus.words[e] * n_topics;
      double s = 0;
      for (int64_t t = 0; t < n_topics; ++t) s += static_cast<double>(row[t]) / static_cast<double>(n_topics);
      likelihood += static_cast<double>(corpus.counts[e]) * std::log(s);
      sum += static_cast<double>(corpus.counts[e]);
      for (int64_t t = 0; t < n_topics; ++t) {
        next[t] += static_cast<double>(corpus.counts[e]) * static_cast<double>(row[t]) /
                   static_cast<double>(n_topics) / s;
      }
    }
    for (int64_t t = 0; t < n_topics; ++t) expected[d * n_topics + t] = next[t] / sum;
  }
  for (const Isa isa : supported_isas()) {
    std::vector<float> first;
    for (const int n_threads : {1, 2, 5}) {
      std::vector<float> theta(static_cast<size_t>(n * n_topics), 1.0f / static_cast<float>(n_topics));
      TopicWords words = words_of(phi, n_words, n_topics);
      TopicCorpus index(corpus.view(), {0, 150, n_words}, n_topics, 1, n_threads);
      const TopicObjective found =
          plsa_sweep(index, words, {theta.data(), n, n_topics, n_topics}, {1.1, 1.01}, true, n_threads, isa);
      CHECK_NEAR(found.log_likelihood, likelihood, 1e-7 * std::abs(likelihood));
      for (size_t i = 0; i < theta.size(); ++i) CHECK_NEAR(theta[i], expected[i], 1e-6);
      plsa_sweep(index, words, {theta.data(), n, n_topics, n_topics}, {1.1, 1.01}, true, n_threads, isa);
      std::vector<float> all(static_cast<size_t>(n_words * n_topics));
      words.copy_to({all.data(), n_words, n_topics, n_topics}, 1);
      for (int64_t t = 0; t < n_topics; ++t) {
        double sums[2] = {0, 0};
        for (int64_t w = 0; w < n_words; ++w)
          sums[w < 150 ? 0 : 1] += static_cast<double>(all[w * n_topics + t]);
        CHECK_NEAR(sums[0], 1.0, 1e-6);
        CHECK_NEAR(sums[1], 1.0, 1e-6);
      }
      all.insert(all.end(), theta.begin(), theta.end());
      if (first.empty()) first = all;
      CHECK(all == first);
    }
  }
}

TEST(projections_agree_as_asked) {
  const int64_t n = 40, n_words = 120, n_topics = 21;
  const Corpus left(n, n_words), right(n, 90);
  const std::vector<float> phi = some_words(n_words, n_topics);
  const TopicWords first = words_of(phi, n_words, n_topics),
                   second = words_of(some_words(90, n_topics), 90, n_topics);
  const std::vector<float> theta(static_cast<size_t>(n * n_topics), 1.0f / static_cast<float>(n_topics));
  const auto one = left.view(), two = right.view();
  for (const Isa isa : supported_isas()) {
    for (const double coupling : {0.0, 3.0, static_cast<double>(INFINITY)}) {
      for (const bool l2 : {false, true}) {
        std::vector<float> lambda(theta.size(), 0.0f), f1(theta.size()), f2(theta.size());
        std::vector<double> gaps(static_cast<size_t>(n));
        std::vector<int64_t> evaluations(static_cast<size_t>(n));
        const auto rows = [&](auto& x) { return MatrixView{x.data(), n, n_topics, n_topics}; };
        project_posteriors({one, first, rows(theta), rows(f1)}, {two, second, rows(theta), rows(f2)},
                           rows(lambda), gaps.data(), evaluations.data(), {coupling, l2, 1e-6, 200}, 2, isa);
        for (int64_t d = 0; d < n; ++d) {
          CHECK(evaluations[d] > 0);
          double gap = 0, largest = 0, squares = 0, product = 0, length = 0;
          for (int64_t t = 0; t < n_topics; ++t) {
            const auto at = static_cast<size_t>(d * n_topics + t);
            const auto g = static_cast<double>(f1[at]) - static_cast<double>(f2[at]);
            const auto l = static_cast<double>(lambda[at]);
            largest = std::max(largest, std::abs(g));
            gap += coupling * std::abs(g) - l * g;
            squares += g * g, product += l * g, length += l * l;
            if (!l2 && !std::isinf(coupling)) CHECK(std::abs(l) <= coupling);
          }
          if (d % 17 == 5) {  // empty
            CHECK_EQUAL(length, 0.0);
            continue;
          }
          if (std::isinf(coupling)) {
            CHECK(largest <= 1.01e-6);
            CHECK_NEAR(gaps[d], largest, 1e-9);
          } else {
            if (l2) CHECK(std::sqrt(length) <= coupling * (1 + 1e-5));
            CHECK_NEAR(gaps[d], l2 ? coupling * std::sqrt(squares) - product : gap, 1e-5);
            CHECK(gaps[d] < 2e-3);
          }
        }
      }
    }
  }
}

TEST(completion_scores_each_token_once) {
  // With one topic all mixtures are alike, so halves have what the whole has.
  const Corpus corpus(60, 40);
  const auto phi = some_words(40, 1);
  const TopicWords words = words_of(phi, 40, 1);
  const std::vector<float> ones(60, 1.0f);
  for (const Isa isa : supported_isas()) {
    const TokenSums whole =
        token_likelihood(corpus.view(), words, MatrixView<const float>{ones.data(), 60, 1, 1}, 2, isa);
    const TokenSums halves = document_completion(corpus.view(), words, 1.1, 3, 5, 2, isa);
    CHECK_NEAR(halves.mass, whole.mass, 1e-4);
    CHECK_NEAR(halves.log_likelihood, whole.log_likelihood, 1e-3);
  }
}
