// A query adds its weight times the list of each of its terms to the sums of a block of rows, which stay in
// the first-level cache. Lists are those of the rarest terms first. Once the k best so far are known, the
// rest of a query often is too short to lift a row above the worst of them that has little so far:
//
//   score of a row <= its sum so far + |rest of the query| |longest row|
//
// Then the lists of the commonest terms, which are most of the work, are left out, and rows whose bound is
// above the bar are completed one by one: the same products, added in the same order. So a score has the same
// bits whichever lists were left out, and nothing depends on threads.
//
// Cost: about 0.9 ns for each entry of a list that is walked, and one look at the sum of each row. Memory:
// see inverted_rows.h; for each thread a block of sums and a number for each term; for some 8000 queries at a
// time (2 k + 64) x 8 bytes. Precision: float32, terms in order.

#include "kernels/sparse_topk.h"

#include <algorithm>
#include <memory>

#include "core/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/reservoirs.h"

namespace semproj {
namespace {

constexpr int64_t kGroup = 256;  // queries that meet a block of rows while it is in the second-level cache
constexpr int64_t kTasksPerThread = 4;  // so that threads end at about the same time
constexpr int64_t kMostCandidates = 1024;
constexpr float kShare = 0.5f;  // of the bar, that what is left out may have

// The terms of a query that rows have, rarest first, and the length of what is left from each on.
struct Query {
  std::vector<SparseEntry> terms;
  std::vector<float> rest;  // one more
  double length = 0;

  template <class Index, class Value>
  void read(const CsrView<Index, Value>& rows, int64_t row, Metric metric, const InvertedRows& corpus,
            std::vector<float>* values) {
    length = read_sparse_row(rows, row, metric, "queries", values);
    terms.clear();
    for (int64_t i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) {
      const uint32_t term = corpus.terms[static_cast<size_t>(rows.indices[i])];
      if (term != InvertedRows::kNoTerm) {
        terms.push_back({term, (*values)[static_cast<size_t>(i - rows.indptr[row])]});
      }
    }
    std::sort(terms.begin(), terms.end(),
              [](const SparseEntry& a, const SparseEntry& b) { return a.term < b.term; });
    rest.assign(terms.size() + 1, 0.0f);
    const double longest = metric == Metric::cosine ? 1.0 : corpus.longest;
    double sum = 0;
    for (size_t t = terms.size(); t-- > 0;) {
      sum += static_cast<double>(terms[t].value) * terms[t].value;
      rest[t] = static_cast<float>(std::sqrt(sum) * longest);
    }
  }
};

struct Scratch {
  explicit Scratch(const InvertedRows& corpus)
      : sums(aligned_array<float>(static_cast<size_t>(corpus.block_rows))),
        weights(static_cast<size_t>(corpus.n_terms)),
        candidates(kMostCandidates) {}

  AlignedArray<float> sums;
  std::vector<float> weights;  // of all terms; zeros between queries
  std::vector<uint64_t> candidates;
};

// What is left out of a query, and what a sum must reach then.
struct Cut {
  size_t kept;
  float threshold;
};

// Terms are left out if what they have is less than half of the bar: few rows have the other half.
Cut cut_of(const Query& query, float bar) {
  const size_t all = query.terms.size();
  if (!(bar > 0)) return {all, 0};
  const float margin = 1.2e-7f * static_cast<float>(all + 8) * query.rest[0];
  size_t kept = all;
  while (kept > 0 && query.rest[kept - 1] + margin < kShare * bar) --kept;
  return {kept, bar - query.rest[kept] - margin};
}

// A list has no row twice: what is added to four rows need not wait for one another.
void add_list(const uint16_t* __restrict ids, const float* __restrict values, int64_t n, float weight,
              float* __restrict sums) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const uint16_t a = ids[i], b = ids[i + 1], c = ids[i + 2], d = ids[i + 3];
    const float at_a = sums[a] + weight * values[i], at_b = sums[b] + weight * values[i + 1],
                at_c = sums[c] + weight * values[i + 2], at_d = sums[d] + weight * values[i + 3];
    sums[a] = at_a;
    sums[b] = at_b;
    sums[c] = at_c;
    sums[d] = at_d;
  }
  for (; i < n; ++i) sums[ids[i]] += weight * values[i];
}

class Search {
 public:
  Search(const InvertedRows& corpus, const simd::ScoreTable& table, Metric metric, const Reservoirs& best)
      : corpus_(corpus), table_(table), cosine_(metric == Metric::cosine), best_(best) {}

  // Looks at a block of rows; `slot` is the query's among those of the reservoirs.
  void look(const Query& query, int64_t slot, int64_t part, int64_t block, Scratch* scratch,
            Patience* patience) const {
    const Block rows = block_at(corpus_.n_rows, corpus_.block_rows, block);
    const int64_t n = rows.end - rows.begin;
    float* sums = scratch->sums.get();
    std::fill_n(sums, n, 0.0f);
    const Cut cut = cut_of(query, best_.raise_bar(slot, part));
    const int64_t* starts = corpus_.starts.get() + block * (corpus_.n_terms + 1);
    int64_t work = n / 8;
    for (size_t t = 0; t < cut.kept; ++t) {
      const SparseEntry& term = query.terms[t];
      const int64_t begin = starts[term.term], end = starts[term.term + 1];
      add_list(corpus_.ids.get() + begin, corpus_.values.get() + begin, end - begin, term.value, sums);
      work += end - begin;
    }
    patience->spend(work);
    if (cut.kept == query.terms.size()) {
      for (int64_t i = 0; cosine_ && i < n; ++i) {
        if (corpus_.lengths[rows.begin + i] == 0) sums[i] = kLeast;
      }
      best_.add(table_, slot, part, sums, n, rows.begin);
    } else {
      complete(query, cut, slot, part, rows, scratch, patience);
    }
  }

 private:
  // Adds what was left out to the sums of the rows that may be among the best.
  void complete(const Query& query, const Cut& cut, int64_t slot, int64_t part, const Block& rows,
                Scratch* scratch, Patience* patience) const {
    const int64_t n = rows.end - rows.begin;
    const uint32_t first_term = query.terms[cut.kept].term;
    for (size_t t = cut.kept; t < query.terms.size(); ++t) {
      scratch->weights[query.terms[t].term] = query.terms[t].value;
    }
    for (int64_t from = 0; from < n;) {
      int64_t found = 0;
      from = table_.select(scratch->sums.get(), from, n, cut.threshold, 0, scratch->candidates.data(), &found,
                           static_cast<int64_t>(scratch->candidates.size()));
      for (int64_t c = 0; c < found; ++c) {
        const uint32_t id = simd::id_of(scratch->candidates[c]);
        const int64_t row = rows.begin + id;
        const SparseEntry *entry = corpus_.entries.get() + corpus_.row_starts[row],
                          *last = corpus_.entries.get() + corpus_.row_starts[row + 1];
        float sum = scratch->sums[id];
        for (; entry < last; ++entry) {
          if (entry->term >= first_term) sum += scratch->weights[entry->term] * entry->value;
        }
        best_.add_one(slot, part, sum, static_cast<uint32_t>(row));
        patience->spend(8 + corpus_.row_starts[row + 1] - corpus_.row_starts[row]);
      }
    }
    for (size_t t = cut.kept; t < query.terms.size(); ++t) scratch->weights[query.terms[t].term] = 0;
  }

  const InvertedRows& corpus_;
  const simd::ScoreTable& table_;
  bool cosine_;
  const Reservoirs& best_;
};

}  // namespace

template <class Index, class Value>
void sparse_top_k(const CsrView<Index, Value>& queries, const InvertedRows& corpus, int64_t k, int64_t* ids,
                  float* scores, const RetrieveOptions& options) {
  const Metric metric = options.metric;
  const simd::ScoreTable& table = simd_table(options.isa).scores;
  const int64_t n_blocks = block_count(corpus.n_rows, corpus.block_rows);
  const int64_t batch = kGroup * kTasksPerThread * std::max(options.n_threads, 8);
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<size_t>(options.n_threads));
  for (int64_t start = 0; start < queries.n_rows; start += batch) {
    const int64_t n = std::min(batch, queries.n_rows - start);
    std::vector<Query> read(static_cast<size_t>(n));
    parallel_for(block_count(n, kGroup), options.n_threads, [&](int64_t task, int) {
      const Block mine = block_at(n, kGroup, task);
      std::vector<float> values;
      Patience patience;
      for (int64_t q = mine.begin; q < mine.end; ++q) {
        read[q].read(queries, start + q, metric, corpus, &values);
        patience.spend(64 * static_cast<int64_t>(values.size() + 1));
      }
    });
    double longest = 0;
    for (const Query& query : read) longest = std::max(longest, query.length);
    if (!in_range(longest, corpus.longest, metric)) {
      throw std::invalid_argument("queries: too large, scores would leave the range of float32");
    }
    // Few queries: the blocks are shared out as well, and each part has reservoirs of its own.
    const int64_t groups = block_count(n, kGroup);
    const int64_t parts = options.n_threads == 1
                              ? 1
                              : std::min(block_count(kTasksPerThread * options.n_threads, groups), n_blocks);
    const int64_t share = block_count(n_blocks, parts);
    const Reservoirs best(n, parts, k);
    const Search search(corpus, table, metric, best);
    parallel_for(groups * parts, options.n_threads, [&](int64_t task, int worker) {
      auto& room = scratch[static_cast<size_t>(worker)];
      if (!room) room = std::make_unique<Scratch>(corpus);
      const Block mine = block_at(n, kGroup, task / parts), blocks = block_at(n_blocks, share, task % parts);
      Patience patience;
      for (int64_t b = blocks.begin; b < blocks.end; ++b) {
        for (int64_t q = mine.begin; q < mine.end; ++q) {
          if (metric == Metric::cosine && read[q].length == 0) continue;
          search.look(read[q], q, task % parts, b, room.get(), &patience);
        }
      }
    });
    best.write_all(metric, ids + start * k, scores + start * k, options.n_threads);
  }
}

template <class Index, class Value>
std::vector<char> used_columns(const CsrView<Index, Value>& rows, const char* name) {
  std::vector<char> used(static_cast<size_t>(rows.n_cols));
  Patience patience;
  for (int64_t i = rows.indptr[0]; i < rows.indptr[rows.n_rows]; ++i) {
    const auto column = static_cast<int64_t>(rows.indices[i]);
    if (column < 0 || column >= rows.n_cols) {
      throw std::invalid_argument(std::string(name) + ": column index " + std::to_string(column) +
                                  " is out of range for " + std::to_string(rows.n_cols) + " columns");
    }
    used[static_cast<size_t>(column)] = 1;
    patience.spend(1);
  }
  return used;
}

#define SEMPROJ_INSTANTIATE(Index, Value)                                                                  \
  template void sparse_top_k(const CsrView<Index, Value>&, const InvertedRows&, int64_t, int64_t*, float*, \
                             const RetrieveOptions&);                                                      \
  template std::vector<char> used_columns(const CsrView<Index, Value>&, const char*);
SEMPROJ_INSTANTIATE(int32_t, float)
SEMPROJ_INSTANTIATE(int32_t, double)
SEMPROJ_INSTANTIATE(int32_t, int32_t)
SEMPROJ_INSTANTIATE(int64_t, float)
SEMPROJ_INSTANTIATE(int64_t, double)
SEMPROJ_INSTANTIATE(int64_t, int32_t)
#undef SEMPROJ_INSTANTIATE

}  // namespace semproj
