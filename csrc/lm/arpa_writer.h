#pragma once
// A model as an ARPA file, piece by piece. Numbers have as many digits as bring back the same float32.

#include <cstdint>
#include <string>
#include <vector>

#include "lm/ngram_model.h"

namespace semproj::lm {

class ArpaWriter {
 public:
  ArpaWriter(const NGramModel& model, std::vector<int64_t> counts, int n_threads)
      : model_(model), counts_(std::move(counts)), n_threads_(n_threads) {}

  // The next part of the file; empty at its end.
  std::string next();

 private:
  std::string header() const;
  std::string unigrams(int64_t begin, int64_t end) const;
  std::string ngrams(int order, int64_t begin, int64_t end) const;

  const NGramModel& model_;
  std::vector<int64_t> counts_;
  int n_threads_;
  int order_ = 0;  // the order that is being written; 0 before the header
  int64_t at_ = 0;
};

}  // namespace semproj::lm
