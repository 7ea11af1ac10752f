#include "models/cplsa.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "models/cplsa_pair.h"

namespace semproj {
namespace {

constexpr int64_t kPairsTogether = 8;

PairProjector& projector(std::vector<std::unique_ptr<PairProjector>>& all, int worker,
                         const TopicWords& first, const TopicWords& second, const Coupling& coupling,
                         bool posteriors, Isa isa) {
  auto& mine = all[static_cast<size_t>(worker)];
  if (!mine) mine = std::make_unique<PairProjector>(first, second, coupling, posteriors, isa);
  return *mine;
}

SideTokens tokens_of(const CsrView<int32_t, float>& documents, int64_t d) {
  const int64_t begin = documents.indptr[d];
  return {documents.indices + begin, documents.data + begin, documents.indptr[d + 1] - begin};
}

}  // namespace

CoupledSweep cplsa_sweep(TopicCorpus& corpus, TopicWords& words, const MatrixView<float>& theta,
                         const MatrixView<float>& multipliers, const PairReports& reports, double alpha,
                         double beta, const Coupling& coupling, bool update, int n_threads, Isa isa) {
  const auto& documents = corpus.documents();
  const int64_t stride = words.stride(), n_topics = words.n_topics();
  const auto prior = static_cast<float>(alpha - 1);
  struct Sums {
    double likelihood = 0, logs = 0;
  };
  std::vector<Sums> sums(static_cast<size_t>(documents.n_rows / 2));    // added in the order of pairs
  std::atomic<int64_t> evaluations{0}, first_failed{documents.n_rows};  // no pair from there on is needed
  std::vector<FailedCall> failures(coupling.prox != nullptr ? sums.size() : 0);
  std::vector<std::unique_ptr<PairProjector>> workers(static_cast<size_t>(n_threads));
  const auto task = [&](int64_t begin, int64_t end, int worker, float* used, float* ratios) {
    PairProjector& mine = projector(workers, worker, words, words, coupling, true, isa);
    for (int64_t d = begin; d < end && d / 2 < first_failed; d += 2) {
      Sums& here = sums[static_cast<size_t>(d / 2)];
      for (int side = 0; side < 2; ++side) {
        std::copy_n(theta.row(d + side), n_topics, mine.theta(side));
        if (alpha > 1) here.logs += mine.table().sum_logs(mine.theta(side), n_topics);
      }
      std::copy_n(multipliers.row(d / 2), n_topics, mine.multipliers());
      const int64_t offset = documents.indptr[d] - documents.indptr[begin];
      const PairOutcome found =
          mine.project(tokens_of(documents, d), tokens_of(documents, d + 1), ratios + offset,
                       ratios + offset + documents.indptr[d + 1] - documents.indptr[d]);
      here.likelihood = found.log_likelihood;
      if (mine.failure().failed) {
        failures[static_cast<size_t>(d / 2)] = mine.failure();
        int64_t known = first_failed;
        while (d / 2 < known && !first_failed.compare_exchange_weak(known, d / 2)) {
        }
        return;
      }
      reports.gaps[d / 2] = found.gap;
      reports.converged[d / 2] = found.converged;
      evaluations += found.evaluations;
      std::copy_n(mine.multipliers(), n_topics, multipliers.row(d / 2));
      if (!update) continue;
      for (int side = 0; side < 2; ++side, used += stride) {
        std::copy_n(mine.tilted(side), stride, used);
        if (!mine.update_tilted(side, prior)) here.likelihood = std::numeric_limits<double>::quiet_NaN();
        std::copy_n(mine.tilted(side), n_topics, theta.row(d + side));
      }
    }
  };
  const double word_logs = corpus.sweep(words, beta, 1.0, update, n_threads, isa, task);
  if (first_failed < documents.n_rows) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none, evaluations, first_failed, failures[static_cast<size_t>(first_failed.load())]};
  }
  Sums all;
  for (const Sums& each : sums) all.likelihood += each.likelihood, all.logs += each.logs;
  return {all.likelihood, (alpha - 1) * all.logs + (beta - 1) * word_logs, evaluations};
}

void project_posteriors(const PairSide& first, const PairSide& second, const MatrixView<float>& multipliers,
                        double* gaps, int64_t* evaluations, const Coupling& coupling, int n_threads,
                        Isa isa) {
  const PairSide* sides[] = {&first, &second};
  const int64_t n = first.documents.n_rows, n_topics = first.words.n_topics();
  std::vector<std::unique_ptr<PairProjector>> workers(static_cast<size_t>(n_threads));
  parallel_for(block_count(n, kPairsTogether), n_threads, [&](int64_t t, int worker) {
    PairProjector& mine = projector(workers, worker, first.words, second.words, coupling, false, isa);
    std::vector<float> ratios[2];
    const Block pairs = block_at(n, kPairsTogether, t);
    for (int64_t d = pairs.begin; d < pairs.end; ++d) {
      for (int side = 0; side < 2; ++side) {
        std::copy_n(sides[side]->theta.row(d), n_topics, mine.theta(side));
        ratios[side].resize(static_cast<size_t>(tokens_of(sides[side]->documents, d).n));
      }
      std::copy_n(multipliers.row(d), n_topics, mine.multipliers());
      const PairOutcome found = mine.project(tokens_of(first.documents, d), tokens_of(second.documents, d),
                                             ratios[0].data(), ratios[1].data());
      gaps[d] = found.gap;
      evaluations[d] = found.converged ? found.evaluations : -found.evaluations;
      std::copy_n(mine.multipliers(), n_topics, multipliers.row(d));
      for (int side = 0; side < 2; ++side) {
        std::copy_n(mine.fractions(side), n_topics, sides[side]->fractions.row(d));
      }
    }
  });
}

}  // namespace semproj
