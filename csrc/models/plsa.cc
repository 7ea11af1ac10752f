#include "models/plsa.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>

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
              float* ratios, bool again = false) {
  const int64_t begin = documents.indptr[d], n = documents.indptr[d + 1] - begin;
  return worker.pass.run(theta, documents.indices + begin, documents.data + begin, n, ratios,
                         again && worker.pass.fits_cache(n));
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
  const double word_logs = corpus.sweep(words, priors.beta, update, n_threads, isa, task);
  Sums all;
  for (const Sums& each : sums) all.likelihood += each.likelihood, all.logs += each.logs;
  return {all.likelihood, (priors.alpha - 1) * all.logs + (priors.beta - 1) * word_logs};
}

bool fold_in(const CsrView<int32_t, float>& documents, const TopicWords& words, double alpha,
             int64_t iterations, const MatrixView<float>& theta, int n_threads, Isa isa) {
  const auto prior = static_cast<float>(alpha - 1);
  const float uniform = 1.0f / static_cast<float>(words.n_topics());
  std::atomic<bool> finite{true};
  for_documents(documents, words, n_threads, isa, [&](Worker& mine, int64_t d) {
    float* row = mine.theta.get();
    std::fill_n(row, words.n_topics(), uniform);
    for (int64_t i = 0; i < iterations; ++i) {
      const TokenSums sums = run(mine, documents, d, row, mine.ratios.data(), i > 0);
      if (!(sums.mass > 0)) break;
      if (!mine.pass.update(row, prior)) finite = false;
    }
    std::copy_n(row, words.n_topics(), theta.row(d));
  });
  return finite;
}

TokenSums token_likelihood(const CsrView<int32_t, float>& documents, const TopicWords& words,
                           const MatrixView<const float>& theta, int n_threads, Isa isa) {
  std::vector<TokenSums> sums(static_cast<size_t>(documents.n_rows));
  for_documents(documents, words, n_threads, isa, [&](Worker& mine, int64_t d) {
    std::copy_n(theta.row(d), words.n_topics(), mine.theta.get());
    sums[static_cast<size_t>(d)] = run(mine, documents, d, mine.theta.get(), mine.ratios.data());
  });
  TokenSums all{0, 0};
  for (const TokenSums& each : sums) all.log_likelihood += each.log_likelihood, all.mass += each.mass;
  return all;
}

}  // namespace semproj
