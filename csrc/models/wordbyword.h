#pragma once
// Word translation probabilities p(target word | source word) from sentence pairs: IBM Model 1, then the HMM.

#include <cstdint>
#include <memory>
#include <vector>

#include "models/wordbyword_pair.h"

namespace semproj {

// Pair p has the source words [source_begin[p], source_end[p]) and as much of the target; neither is empty.
struct SentencePairs {
  int64_t size = 0;
  const int32_t* source = nullptr;  // ids below n_source
  const int32_t* target = nullptr;  // ids below n_target
  const int64_t *source_begin = nullptr, *source_end = nullptr;
  const int64_t *target_begin = nullptr, *target_end = nullptr;
  int32_t n_source = 0, n_target = 0;
};

// Row n_source is the null word's.
struct TranslationCells {
  std::vector<int64_t> starts;
  std::vector<int32_t> columns;
  std::vector<float> values;
};

class WordAligner {
 public:
  // Only pairs of words that occur together in at least min_cooccurrence sentence pairs can be translations;
  // the null word can be of anything. Copies the sentences.
  WordAligner(const SentencePairs& pairs, int64_t min_cooccurrence, int64_t chunk_cells, Isa isa,
              int n_threads);

  // One iteration of EM: expectations over all pairs, then new probabilities. Returns the log likelihood
  // under the probabilities before. After an exception the object is of no more use.
  double model1();

  // `jumps`: a row of weights for each source word and, last, for the beginning of a sentence. `counts` and
  // `exposure`, of the same shape, get the statistics of HmmPair summed over the occurrences of each word.
  double hmm(const JumpClasses& classes, double null_probability, const float* jumps, double* counts,
             double* exposure);

  int32_t n_source() const { return n_source_; }
  int32_t n_target() const { return n_target_; }
  int64_t n_cells() const { return static_cast<int64_t>(columns_.size()); }

  // The cells that are at least this probable.
  TranslationCells cells(double min_probability) const;

 private:
  struct Occurrence {
    int32_t pair;
    int32_t row;
  };
  struct Group {  // the occurrences of one word in a chunk
    int32_t word;
    int64_t begin, end;
  };
  struct Chunk {
    int64_t first = 0, last = 0;  // pairs
    std::vector<Group> groups;
    std::vector<int64_t> cuts;  // of the groups into tasks
  };
  struct Worker {
    explicit Worker(int64_t n_target) : dense(n_target), sums(n_target), seen(n_target, -1) {}

    std::vector<float> dense;   // zero between words
    std::vector<double> sums;   // zero between words
    std::vector<int32_t> seen;  // the last pair with this target word, while cells are looked for
    std::vector<int32_t> touched;
    std::vector<float> scratch;
    std::unique_ptr<HmmPair> hmm;
  };

  void copy_pairs(const SentencePairs& pairs);
  void cut_chunks(int64_t chunk_cells);
  void sort_words(Chunk* chunk, std::vector<int64_t>* counts);
  void find_cells(int64_t min_cooccurrence);
  void count_row(int64_t min_cooccurrence, const std::vector<int32_t>& pairs, int64_t begin, int64_t end,
                 Worker& worker, std::vector<int32_t>* out) const;
  template <class Expect>
  double sweep(const Expect& expect, int64_t n_statistics, double* statistics);
  void prefetch(const Occurrence& occurrence) const;
  const float* statistics_of(const Chunk& chunk, const Occurrence& occurrence, int64_t n) const;
  void fill(const Chunk& chunk);
  void accumulate(const Chunk& chunk, int64_t n_statistics, double* statistics);
  void normalize();
  Worker& worker(int index);

  int64_t n_pairs() const { return static_cast<int64_t>(source_starts_.size()) - 1; }
  int64_t n_rows(int64_t p) const { return source_starts_[p + 1] - source_starts_[p]; }
  int64_t n_columns(int64_t p) const { return target_starts_[p + 1] - target_starts_[p]; }

  Isa isa_;
  int n_threads_;
  int32_t n_source_, n_target_;           // without the null word
  std::vector<int32_t> source_, target_;  // the null word before each source sentence
  std::vector<int64_t> source_starts_, target_starts_;
  std::vector<int64_t> offsets_;  // of each pair among the chunk's cells
  std::vector<Occurrence> occurrences_;
  std::vector<Chunk> chunks_;
  std::vector<std::unique_ptr<Worker>> workers_;

  std::vector<int64_t> starts_;  // rows of the table
  std::vector<int32_t> columns_;
  std::vector<float> probability_;
  std::vector<double> count_;

  std::vector<float> chunk_cells_;
  std::vector<float> chunk_statistics_;  // by source token of the chunk
};

}  // namespace semproj
