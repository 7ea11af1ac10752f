// EM over sentence pairs. Expectations are those of wordbyword_pair.cc; the new probabilities are
//
//   t(t | s) = sum of expected alignments of t to s / the same summed over t      (at least 1e-12)
//
// and for jumps, in Python, c(k) = counts(k) / exposure(k): one step of Hunter's (2004) minorisation for
// weights that are normalised over different sets (here: the positions of a sentence), which never lowers the
// likelihood.
//
// The table has a cell for each pair of words that occur together, found word by word: the target words of
// all its sentences are counted in a dense row. It is never searched. The sentences are cut into chunks; in
// each chunk, for each source word: its row is spread out over a dense row, from which the cells of all its
// occurrences in the chunk are copied. Then the expectations are taken pair by pair, and then, again word by
// word, the cells of its occurrences are added up in a dense row and from there to the table. So each task
// writes only what it owns and every sum has one order: chunks, and within them occurrences.
//
// Cost of an iteration: about 5 ns for each pair of words in each sentence pair, and 6 n^2 m flops for the
// HMM. Memory: 16 bytes a cell of the table, 12 bytes a source word and 4 a target word of the text, 4 bytes
// a cell of one chunk and, for the HMM, 104 bytes (with 13 classes) for each of its source words; 12 bytes a
// target type for each thread. Cells float32, their sums double.

#include "models/wordbyword.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr double kLeast = 1e-12;       // a possible translation stays possible
constexpr int64_t kTaskTokens = 4096;  // source tokens in one task
constexpr int64_t kTaskPairs = 64;
constexpr int64_t kAhead = 6;  // occurrences between the prefetch of a row of cells and its use

}  // namespace

struct WordAligner::Worker {
  explicit Worker(int64_t n_target) : dense(n_target), sums(n_target), seen(n_target, -1) {}

  std::vector<float> dense;   // zero between words
  std::vector<double> sums;   // zero between words
  std::vector<int32_t> seen;  // the last pair with this target word, while cells are looked for
  std::vector<int32_t> touched;
  std::vector<float> scratch;
  std::unique_ptr<HmmPair> hmm;
};

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

WordAligner::~WordAligner() = default;

WordAligner::Worker& WordAligner::worker(int index) {
  if (!workers_[index]) workers_[index] = std::make_unique<Worker>(n_target_);
  return *workers_[index];
}

void WordAligner::copy_pairs(const SentencePairs& pairs) {
  if (pairs.size >= std::numeric_limits<int32_t>::max()) throw std::length_error("too many sentence pairs");
  int64_t n_source = 0, n_target = 0;
  source_starts_.push_back(0);
  target_starts_.push_back(0);
  for (int64_t p = 0; p < pairs.size; ++p) {
    n_source += pairs.source_end[p] - pairs.source_begin[p] + 1;
    n_target += pairs.target_end[p] - pairs.target_begin[p];
    source_starts_.push_back(n_source);
    target_starts_.push_back(n_target);
  }
  source_.resize(n_source);
  target_.resize(n_target);
  for (int64_t p = 0; p < pairs.size; ++p) {
    int32_t* s = source_.data() + source_starts_[p];
    *s = n_source_;
    std::copy(pairs.source + pairs.source_begin[p], pairs.source + pairs.source_end[p], s + 1);
    std::copy(pairs.target + pairs.target_begin[p], pairs.target + pairs.target_end[p],
              target_.data() + target_starts_[p]);
  }
}

void WordAligner::cut_chunks(int64_t chunk_cells) {
  offsets_.resize(n_pairs());
  int64_t cells = 0, largest = 0;
  for (int64_t p = 0; p < n_pairs(); ++p) {
    const int64_t more = n_rows(p) * n_columns(p);
    if (chunks_.empty() || (cells > 0 && cells + more > chunk_cells)) {
      chunks_.push_back({p, p, {}, {}});
      cells = 0;
    }
    offsets_[p] = cells;
    cells += more;
    largest = std::max(largest, cells);
    chunks_.back().last = p + 1;
  }
  chunk_cells_.resize(largest);
  occurrences_.resize(source_.size());
  std::vector<std::vector<int64_t>> counts(n_threads_);
  parallel_for(static_cast<int64_t>(chunks_.size()), n_threads_, [&](int64_t c, int w) {
    counts[w].resize(n_source_ + 2);
    sort_words(&chunks_[c], &counts[w]);
  });
}

// A counting sort of the chunk's source tokens by word; `counts` is zero before and after.
void WordAligner::sort_words(Chunk* chunk, std::vector<int64_t>* counts) {
  int64_t* next = counts->data();
  const int64_t begin = source_starts_[chunk->first], end = source_starts_[chunk->last];
  for (int64_t i = begin; i < end; ++i) ++next[source_[i]];
  int64_t at = begin, tokens = 0;
  chunk->cuts.push_back(0);
  for (int32_t word = 0; word <= n_source_; ++word) {
    if (next[word] == 0) continue;
    chunk->groups.push_back({word, at, at + next[word]});
    at += next[word];
    tokens += next[word];
    next[word] = at - next[word];
    if (tokens >= kTaskTokens) {
      chunk->cuts.push_back(static_cast<int64_t>(chunk->groups.size()));
      tokens = 0;
    }
  }
  if (tokens > 0) chunk->cuts.push_back(static_cast<int64_t>(chunk->groups.size()));
  for (int64_t p = chunk->first; p < chunk->last; ++p) {
    for (int64_t row = 0; row < n_rows(p); ++row) {
      occurrences_[next[source_[source_starts_[p] + row]]++] = {static_cast<int32_t>(p),
                                                                static_cast<int32_t>(row)};
    }
  }
  for (const Group& group : chunk->groups) next[group.word] = 0;
}

void WordAligner::find_cells(int64_t min_cooccurrence) {
  // The sentence pairs of each source word, the null word left out.
  std::vector<int64_t> begin(n_source_ + 2, 0);
  for (const int32_t word : source_) ++begin[word + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int32_t> pairs(begin[n_source_]);
  std::vector<int64_t> next(begin.begin(), begin.end() - 1);
  for (int64_t p = 0; p < n_pairs(); ++p) {
    for (int64_t i = source_starts_[p] + 1; i < source_starts_[p + 1]; ++i) {
      pairs[next[source_[i]]++] = static_cast<int32_t>(p);
    }
  }
  std::vector<int64_t> cuts{0};
  for (int64_t word = 0; word < n_source_; ++word) {
    if (begin[word + 1] - begin[cuts.back()] >= kTaskTokens) cuts.push_back(word + 1);
  }
  if (cuts.back() < n_source_) cuts.push_back(n_source_);
  const auto n_parts = static_cast<int64_t>(cuts.size()) - 1;
  std::vector<std::vector<int32_t>> parts(n_parts);
  starts_.assign(n_source_ + 2, 0);
  parallel_for(n_parts, n_threads_, [&](int64_t part, int w) {
    for (int64_t word = cuts[part]; word < cuts[part + 1]; ++word) {
      const size_t before = parts[part].size();
      count_row(min_cooccurrence, pairs, begin[word], begin[word + 1], worker(w), &parts[part]);
      starts_[word + 1] = static_cast<int64_t>(parts[part].size() - before);
    }
  });
  std::vector<char> occurs(n_target_, 0);
  for (const int32_t t : target_) occurs[t] = 1;
  starts_[n_source_ + 1] = std::count(occurs.begin(), occurs.end(), 1);
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  columns_.reserve(starts_.back());
  for (std::vector<int32_t>& part : parts) {
    columns_.insert(columns_.end(), part.begin(), part.end());
    std::vector<int32_t>().swap(part);
  }
  for (int32_t t = 0; t < n_target_; ++t) {
    if (occurs[t]) columns_.push_back(t);
  }
}

// Appends, sorted, the target words that occur in at least min_cooccurrence of these pairs.
void WordAligner::count_row(int64_t min_cooccurrence, const std::vector<int32_t>& pairs, int64_t begin,
                            int64_t end, Worker& w, std::vector<int32_t>* out) const {
  w.touched.clear();
  for (int64_t i = begin; i < end; ++i) {
    const int32_t p = pairs[i];
    if (i > begin && p == pairs[i - 1]) continue;
    for (int64_t j = target_starts_[p]; j < target_starts_[p + 1]; ++j) {
      const int32_t t = target_[j];
      if (w.seen[t] == p) continue;
      w.seen[t] = p;
      if (w.sums[t] == 0) w.touched.push_back(t);
      w.sums[t] += 1;
    }
  }
  const size_t before = out->size();
  for (const int32_t t : w.touched) {
    if (w.sums[t] >= static_cast<double>(min_cooccurrence)) out->push_back(t);
    w.sums[t] = 0;
    w.seen[t] = -1;
  }
  std::sort(out->begin() + static_cast<int64_t>(before), out->end());
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

void WordAligner::normalise() {
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
  normalise();
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
