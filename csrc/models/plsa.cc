#include "models/plsa.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "core/philox.h"

namespace semproj {
namespace {

// What a thread needs for documents, made when it takes its first.
struct Worker {
  DocumentPass pass;
  AlignedArray<float> theta;
  std::vector<float> ratios;

  Worker(const TopicWords& words, Isa isa) : pass(words, isa), theta(pass.new_row()) {}
};

class Workers {
 public:
  Workers(const TopicWords& words, int n_threads, Isa isa)
      : words_(words), isa_(isa), all_(static_cast<size_t>(n_threads)) {}

  Worker& operator[](int i) {
    auto& mine = all_[static_cast<size_t>(i)];
    if (!mine) mine = std::make_unique<Worker>(words_, isa_);
    return *mine;
  }

 private:
  const TopicWords& words_;
  Isa isa_;
  std::vector<std::unique_ptr<Worker>> all_;
};

constexpr int64_t kFoldedTogether = 16;

// Calls body(worker, document, ratios) for all documents.
template <class Body>
void for_documents(const CsrView<int32_t, float>& documents, const TopicWords& words, int n_threads, Isa isa,
                   const Body& body) {
  Workers workers(words, n_threads, isa);
  parallel_for(block_count(documents.n_rows, kFoldedTogether), n_threads, [&](int64_t task, int worker) {
    Worker& mine = workers[worker];
    const Block rows = block_at(documents.n_rows, kFoldedTogether, task);
    for (int64_t d = rows.begin; d < rows.end; ++d) {
      const auto n = static_cast<size_t>(documents.indptr[d + 1] - documents.indptr[d]);
      if (mine.ratios.size() < n) mine.ratios.resize(n);
      body(mine, d);
    }
  });
}

TokenSums run(Worker& worker, const CsrView<int32_t, float>& documents, int64_t d, const float* theta,
              float* ratios) {
  const int64_t begin = documents.indptr[d], n = documents.indptr[d + 1] - begin;
  return worker.pass.run(theta, documents.indices + begin, documents.data + begin, n, ratios);
}

// EM from the uniform mixture with fixed words. False when it is not finite.
bool fold(DocumentPass& pass, const int32_t* words, const float* counts, int64_t n, float prior,
          int64_t iterations, float* theta, float* ratios) {
  std::fill_n(theta, pass.n_topics(), 1.0f / static_cast<float>(pass.n_topics()));
  bool finite = true;
  for (int64_t i = 0; i < iterations; ++i) {
    const TokenSums sums = pass.run(theta, words, counts, n, ratios, i > 0 && pass.fits_cache(n));
    if (!(sums.mass > 0)) break;
    finite &= pass.update(theta, prior);
  }
  return finite;
}

// Some of a document's tokens.
struct Half {
  std::vector<int32_t> words;
  std::vector<float> counts;

  void add(int32_t word, float count) {
    if (count > 0) words.push_back(word), counts.push_back(count);
  }
  int64_t size() const { return static_cast<int64_t>(words.size()); }
};

// What a document has, as one number: its coins do not depend on where it stands among others.
uint64_t fingerprint(const CsrView<int32_t, float>& documents, int64_t d) {
  constexpr uint64_t kStart = 0xCBF29CE484222325, kPrime = 0x100000001B3;  // FNV-1a, by 32 bits
  uint64_t hash = kStart;
  for (int64_t i = documents.indptr[d]; i < documents.indptr[d + 1]; ++i) {
    hash = (hash ^ static_cast<uint32_t>(documents.indices[i])) * kPrime;
    hash = (hash ^ std::bit_cast<uint32_t>(documents.data[i])) * kPrime;
  }
  return hash;
}

// How much of a word's count goes to the first half.
float first_part(float count, uint64_t key, uint64_t document, int32_t word) {
  constexpr float kCoins = 64;
  const Philox4 random = philox(key, {static_cast<uint32_t>(word), static_cast<uint32_t>(document),
                                      static_cast<uint32_t>(document >> 32), 0});
  const float whole = std::floor(count), tossed = std::min(whole, kCoins);
  const uint64_t coins = uint64_t{random[0]} << 32 | random[1];
  const uint64_t heads = tossed < kCoins ? coins & ((uint64_t{1} << static_cast<int>(tossed)) - 1) : coins;
  const float rest = random[2] & 1 ? count - whole : 0;
  return (whole - tossed) / 2 + static_cast<float>(std::popcount(heads)) + rest;
}

std::array<Half, 2> halves(const CsrView<int32_t, float>& documents, int64_t d, uint64_t key) {
  std::array<Half, 2> parts;
  const uint64_t document = fingerprint(documents, d);
  for (int64_t i = documents.indptr[d]; i < documents.indptr[d + 1]; ++i) {
    const float count = documents.data[i], first = first_part(count, key, document, documents.indices[i]);
    parts[0].add(documents.indices[i], first);
    parts[1].add(documents.indices[i], count - first);
  }
  return parts;
}

// Adds words that have a topic, but no probability by theta.
void add_excluded(const Half& half, const float* ratios, const TopicWords& words, TokenSums& sums) {
  const double least = std::log(static_cast<double>(simd::kLeastProbability));
  for (size_t i = 0; i < half.words.size(); ++i) {
    const float* row = words.data() + half.words[i] * words.stride();
    if (ratios[i] > 0 || std::none_of(row, row + words.n_topics(), [](float p) { return p > 0; })) continue;
    sums.log_likelihood += least * half.counts[i];
    sums.mass += half.counts[i];
  }
}

}  // namespace

TopicObjective plsa_sweep(TopicCorpus& corpus, TopicWords& words, const MatrixView<float>& theta,
                          const TopicPriors& priors, bool update, int n_threads, Isa isa) {
  const auto& documents = corpus.documents();
  const auto prior = static_cast<float>(priors.alpha - 1);
  struct Sums {
    double likelihood = 0, logs = 0;
  };
  std::vector<Sums> sums(static_cast<size_t>(documents.n_rows));  // added in the order of documents
  Workers workers(words, n_threads, isa);
  const auto task = [&](int64_t begin, int64_t end, int worker, float* used, float* ratios) {
    Worker& mine = workers[worker];
    const int64_t stride = words.stride();
    for (int64_t d = begin; d < end; ++d, used += stride) {
      std::fill(std::copy_n(theta.row(d), theta.cols, used), used + stride, 0.0f);
      Sums& here = sums[static_cast<size_t>(d)];
      here.likelihood = run(mine, documents, d, used, ratios + documents.indptr[d] - documents.indptr[begin])
                            .log_likelihood;
      if (priors.alpha > 1) here.logs = mine.pass.table().sum_logs(used, theta.cols);
      if (!update) continue;
      std::copy_n(used, stride, mine.theta.get());
      if (!mine.pass.update(mine.theta.get(), prior)) {
        here.likelihood = std::numeric_limits<double>::quiet_NaN();
      }
      std::copy_n(mine.theta.get(), theta.cols, theta.row(d));
    }
  };
  const double word_logs = corpus.sweep(words, priors.beta, priors.tempering, update, n_threads, isa, task);
  Sums all;
  for (const Sums& each : sums) all.likelihood += each.likelihood, all.logs += each.logs;
  return {all.likelihood, (priors.alpha - 1) * all.logs + (priors.beta - 1) * word_logs};
}

bool fold_in(const CsrView<int32_t, float>& documents, const TopicWords& words, double alpha,
             int64_t iterations, const MatrixView<float>& theta, int n_threads, Isa isa) {
  const auto prior = static_cast<float>(alpha - 1);
  std::atomic<bool> finite{true};
  for_documents(documents, words, n_threads, isa, [&](Worker& mine, int64_t d) {
    float* row = mine.theta.get();
    const int64_t begin = documents.indptr[d], n = documents.indptr[d + 1] - begin;
    if (!fold(mine.pass, documents.indices + begin, documents.data + begin, n, prior, iterations, row,
              mine.ratios.data())) {
      finite = false;
    }
    std::copy_n(row, words.n_topics(), theta.row(d));
  });
  return finite;
}

namespace {

TokenSums total(const std::vector<TokenSums>& sums) {
  TokenSums all{0, 0};
  for (const TokenSums& each : sums) all.log_likelihood += each.log_likelihood, all.mass += each.mass;
  return all;
}

}  // namespace

TokenSums token_likelihood(const CsrView<int32_t, float>& documents, const TopicWords& words,
                           const MatrixView<const float>& theta, int n_threads, Isa isa) {
  std::vector<TokenSums> sums(static_cast<size_t>(documents.n_rows));
  for_documents(documents, words, n_threads, isa, [&](Worker& mine, int64_t d) {
    std::copy_n(theta.row(d), words.n_topics(), mine.theta.get());
    sums[static_cast<size_t>(d)] = run(mine, documents, d, mine.theta.get(), mine.ratios.data());
  });
  return total(sums);
}

TokenSums document_completion(const CsrView<int32_t, float>& documents, const TopicWords& words, double alpha,
                              int64_t iterations, uint64_t key, int n_threads, Isa isa) {
  const auto prior = static_cast<float>(alpha - 1);
  std::vector<TokenSums> sums(static_cast<size_t>(documents.n_rows));
  for_documents(documents, words, n_threads, isa, [&](Worker& mine, int64_t d) {
    const auto parts = halves(documents, d, key);
    for (size_t side = 0; side < 2; ++side) {
      const Half &known = parts[side], &scored = parts[1 - side];
      fold(mine.pass, known.words.data(), known.counts.data(), known.size(), prior, iterations,
           mine.theta.get(), mine.ratios.data());
      TokenSums found = mine.pass.run(mine.theta.get(), scored.words.data(), scored.counts.data(),
                                      scored.size(), mine.ratios.data());
      add_excluded(scored, mine.ratios.data(), words, found);
      sums[static_cast<size_t>(d)].log_likelihood += found.log_likelihood;
      sums[static_cast<size_t>(d)].mass += found.mass;
    }
  });
  return total(sums);
}

}  // namespace semproj
