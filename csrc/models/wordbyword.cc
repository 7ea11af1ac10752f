// EM over sentence pairs. Expectations are those of wordbyword_pair.cc; the new probabilities are
//
//   t(t | s) = sum of expected alignments of t to s / the same summed over t      (at least 1e-12)
//
// and for jumps, in Python, c(k) = counts(k) / exposure(k): one step of Hunter's (2004) minorisation for
// weights that are normalised over different sets (here: the positions of a sentence), which never lowers the
// likelihood.
//
// The table has a cell for each pair of words that occur together (wordbyword_index.cc finds them). It is
// never searched. The sentences are cut into chunks; in each chunk, for each source word: its row is spread
// out over a dense row, from which the cells of all its occurrences in the chunk are copied. Then the
// expectations are taken pair by pair, and then, again word by word, the cells of its occurrences are added
// up in a dense row and from there to the table. So each task writes only what it owns and every sum has one
// order: chunks, and within them occurrences.
//
// Cost of an iteration: about 5 ns for each pair of words in each sentence pair, and 6 n^2 m flops for the
// HMM. Memory: 16 bytes a cell of the table, 12 bytes a source word and 4 a target word of the text, 4 bytes
// a cell of one chunk and, for the HMM, 104 bytes (with 13 classes) for each of its source words; 12 bytes a
// target type for each thread. Cells float32, their sums double.

#include "models/wordbyword.h"

#include <algorithm>
#include <numeric>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr double kLeast = 1e-12;  // a possible translation stays possible
constexpr int64_t kTaskPairs = 64;
constexpr int64_t kAhead = 6;  // occurrences between the prefetch of a row of cells and its use

}  // namespace

WordAligner::WordAligner(const SentencePairs& pairs, int64_t min_cooccurrence, int64_t chunk_cells, Isa isa,
                         int n_threads)
    : isa_(isa), n_threads_(std::max(n_threads, 1)), n_source_(pairs.n_source), n_target_(pairs.n_target) {
  workers_.resize(n_threads_);
  copy_pairs(pairs);
  cut_chunks(chunk_cells);
  find_cells(min_cooccurrence);
  probability_.assign(columns_.size(), static_cast<float>(1.0 / std::max(n_target_, 1)));
  count_.assign(columns_.size(), 0.0);
}

WordAligner::Worker& WordAligner::worker(int index) {
  if (!workers_[index]) workers_[index] = std::make_unique<Worker>(n_target_);
  return *workers_[index];
}

// Occurrences of a word lie anywhere in the chunk; without this every one of them waits for memory.
void WordAligner::prefetch(const Occurrence& occurrence) const {
  const int64_t p = occurrence.pair, m = n_columns(p);
  const float* cells = chunk_cells_.data() + offsets_[p] + occurrence.row * m;
  const int32_t* target = target_.data() + target_starts_[p];
  for (int64_t j = 0; j < m; j += 16) {
    __builtin_prefetch(cells + j, 1);
    __builtin_prefetch(target + j);
  }
}

const float* WordAligner::statistics_of(const Chunk& chunk, const Occurrence& occurrence, int64_t n) const {
  const int64_t token = source_starts_[occurrence.pair] - source_starts_[chunk.first] + occurrence.row;
  return chunk_statistics_.data() + token * n;
}

void WordAligner::fill(const Chunk& chunk) {
  parallel_for(static_cast<int64_t>(chunk.cuts.size()) - 1, n_threads_, [&](int64_t task, int index) {
    float* dense = worker(index).dense.data();
    for (int64_t g = chunk.cuts[task]; g < chunk.cuts[task + 1]; ++g) {
      const Group& group = chunk.groups[g];
      const int64_t begin = starts_[group.word], end = starts_[group.word + 1];
      for (int64_t c = begin; c < end; ++c) dense[columns_[c]] = probability_[c];
      for (int64_t o = group.begin; o < group.end; ++o) {
        if (o + kAhead < group.end) prefetch(occurrences_[o + kAhead]);
        const auto [p, row] = occurrences_[o];
        const int64_t m = n_columns(p);
        const int32_t* target = target_.data() + target_starts_[p];
        float* out = chunk_cells_.data() + offsets_[p] + row * m;
        for (int64_t j = 0; j < m; ++j) out[j] = dense[target[j]];
      }
      for (int64_t c = begin; c < end; ++c) dense[columns_[c]] = 0;
    }
  });
}

void WordAligner::accumulate(const Chunk& chunk, int64_t n_statistics, double* statistics) {
  parallel_for(static_cast<int64_t>(chunk.cuts.size()) - 1, n_threads_, [&](int64_t task, int index) {
    double* sums = worker(index).sums.data();
    for (int64_t g = chunk.cuts[task]; g < chunk.cuts[task + 1]; ++g) {
      const Group& group = chunk.groups[g];
      double* word_statistics = statistics + group.word * n_statistics;
      for (int64_t o = group.begin; o < group.end; ++o) {
        if (o + kAhead < group.end) prefetch(occurrences_[o + kAhead]);
        const auto [p, row] = occurrences_[o];
        const int64_t m = n_columns(p);
        const int32_t* target = target_.data() + target_starts_[p];
        const float* in = chunk_cells_.data() + offsets_[p] + row * m;
        for (int64_t j = 0; j < m; ++j) sums[target[j]] += in[j];
      }
      for (int64_t o = group.begin; o < group.end && n_statistics > 0; ++o) {
        const float* more = statistics_of(chunk, occurrences_[o], n_statistics);
        if (o + kAhead < group.end) {
          const float* next = statistics_of(chunk, occurrences_[o + kAhead], n_statistics);
          for (int64_t k = 0; k < n_statistics; k += 16) __builtin_prefetch(next + k);
        }
        for (int64_t k = 0; k < n_statistics; ++k) word_statistics[k] += more[k];
      }
      // Words that cannot be translations have expectation zero: nothing else is left in the sums.
      for (int64_t c = starts_[group.word]; c < starts_[group.word + 1]; ++c) {
        count_[c] += sums[columns_[c]];
        sums[columns_[c]] = 0;
      }
    }
  });
}

void WordAligner::normalize() {
  constexpr int64_t kGrain = 256;
  const int64_t n = n_source_ + 1;
  parallel_for(block_count(n, kGrain), n_threads_, [&](int64_t task, int) {
    const Block block = block_at(n, kGrain, task);
    for (int64_t row = block.begin; row < block.end; ++row) {
      double total = 0;
      for (int64_t c = starts_[row]; c < starts_[row + 1]; ++c) total += count_[c];
      const double scale = total > 0 ? 1 / total : 0;
      for (int64_t c = starts_[row]; c < starts_[row + 1]; ++c) {
        probability_[c] = static_cast<float>(std::max(count_[c] * scale, kLeast));
        count_[c] = 0;
      }
    }
  });
}

template <class Expect>
double WordAligner::sweep(const Expect& expect, int64_t n_statistics, double* statistics) {
  double total = 0;
  std::vector<double> sums;
  for (const Chunk& chunk : chunks_) {
    fill(chunk);
    const int64_t n = chunk.last - chunk.first;
    sums.assign(block_count(n, kTaskPairs), 0.0);
    parallel_for(static_cast<int64_t>(sums.size()), n_threads_, [&](int64_t task, int index) {
      const Block block = block_at(n, kTaskPairs, task);
      for (int64_t p = chunk.first + block.begin; p < chunk.first + block.end; ++p) {
        sums[task] += expect(worker(index), chunk, p, chunk_cells_.data() + offsets_[p]);
      }
    });
    total = std::accumulate(sums.begin(), sums.end(), total);
    accumulate(chunk, n_statistics, statistics);
  }
  normalize();
  return total;
}

double WordAligner::model1() {
  return sweep([&](Worker& w, const Chunk&, int64_t p,
                   float* cells) { return expect_model1(cells, n_rows(p), n_columns(p), &w.scratch); },
               0, nullptr);
}

double WordAligner::hmm(const JumpClasses& classes, double null_probability, const float* jumps,
                        double* counts, double* exposure) {
  const int64_t k = classes.count(), n = 2 * k;
  int64_t most = 0;
  for (const Chunk& chunk : chunks_) {
    most = std::max(most, source_starts_[chunk.last] - source_starts_[chunk.first]);
  }
  chunk_statistics_.resize(most * n);
  for (const auto& w : workers_) {
    if (w) w->hmm = nullptr;
  }
  std::vector<double> statistics((n_source_ + 1) * n, 0.0);
  const double total = sweep(
      [&](Worker& w, const Chunk& chunk, int64_t p, float* cells) {
        if (!w.hmm) w.hmm = std::make_unique<HmmPair>(classes, null_probability, isa_);
        const int64_t token = source_starts_[p] - source_starts_[chunk.first];
        return w.hmm->expect(cells, n_rows(p), n_columns(p), source_.data() + source_starts_[p], jumps,
                             chunk_statistics_.data() + token * n);
      },
      n, statistics.data());
  for (int64_t row = 0; row <= n_source_; ++row) {
    std::copy_n(statistics.data() + row * n, k, counts + row * k);
    std::copy_n(statistics.data() + row * n + k, k, exposure + row * k);
  }
  return total;
}

TranslationCells WordAligner::cells(double min_probability) const {
  TranslationCells result;
  result.starts.push_back(0);
  for (int64_t row = 0; row <= n_source_; ++row) {
    for (int64_t c = starts_[row]; c < starts_[row + 1]; ++c) {
      if (static_cast<double>(probability_[c]) < min_probability) continue;
      result.columns.push_back(columns_[c]);
      result.values.push_back(probability_[c]);
    }
    result.starts.push_back(static_cast<int64_t>(result.columns.size()));
  }
  return result;
}

}  // namespace semproj
