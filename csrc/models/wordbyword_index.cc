// What EM walks: the sentences cut into chunks, the tokens of each chunk sorted by source word, and the cells
// of the table. A cell is a pair of words that occur together in enough sentence pairs, found word by word:
// the target words of all its sentences are counted in a dense row. Done once, before the first iteration.

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/parallel.h"
#include "models/wordbyword.h"

namespace semproj {
namespace {

constexpr int64_t kTaskTokens = 4096;  // source tokens in one task

}  // namespace

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
  Patience patience;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t p = pairs[i];
    if (i > begin && p == pairs[i - 1]) continue;
    patience.spend(4 * (target_starts_[p + 1] - target_starts_[p]));
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

}  // namespace semproj
