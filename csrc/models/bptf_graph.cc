#include "models/bptf_graph.h"

#include <algorithm>
#include <numeric>

#include "core/parallel.h"
#include "core/philox.h"

namespace semproj {

template <class T>
NeighborLists<T> neighbor_lists(const std::vector<Cells<T>>& slices, int64_t n_words, int64_t n_lists,
                                int n_threads) {
  NeighborLists<T> found;
  found.indptr.assign(static_cast<size_t>(n_words * n_lists + 1), 0);
  // Every task reads all cells and writes the lists of its own words: cells are read fast, one after the
  // other.
  const int64_t tasks = std::min<int64_t>(n_threads, n_words);
  const auto for_each = [&](const auto& visit) {
    parallel_for(tasks, n_threads, [&](int64_t task, int) {
      const int64_t begin = n_words * task / tasks, end = n_words * (task + 1) / tasks;
      Patience patience;
      for (const Cells<T>& slice : slices) {
        for (int64_t c = 0; c < slice.n; ++c) {
          patience.spend(4);
          const int64_t i = slice.rows[c], j = slice.cols[c];
          if (i >= begin && i < end) visit(i * n_lists + slice.row_list, j, slice, c);
          if (j >= begin && j < end) visit(j * n_lists + slice.col_list, i, slice, c);
        }
      }
    });
  };
  for_each([&](int64_t list, int64_t, const Cells<T>&, int64_t) {
    ++found.indptr[static_cast<size_t>(list) + 1];
  });
  std::partial_sum(found.indptr.begin(), found.indptr.end(), found.indptr.begin());
  const auto total = static_cast<size_t>(found.indptr.back());
  found.words.resize(total);
  found.values.resize(total);
  if (std::ranges::any_of(slices, [](const Cells<T>& slice) { return slice.roots != nullptr; })) {
    found.roots.resize(total, T{1});
  }
  std::vector<int64_t> next(found.indptr.begin(), found.indptr.end() - 1);
  for_each([&](int64_t list, int64_t word, const Cells<T>& slice, int64_t c) {
    const auto at = static_cast<size_t>(next[static_cast<size_t>(list)]++);
    found.words[at] = static_cast<int32_t>(word);
    found.values[at] = slice.values[c];
    if (slice.roots != nullptr) found.roots[at] = slice.roots[c];
  });
  return found;
}

WordClasses color_classes(const int64_t* indptr, const int32_t* neighbors, int64_t n_words) {
  std::vector<int32_t> order(static_cast<size_t>(n_words));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return indptr[a + 1] - indptr[a] > indptr[b + 1] - indptr[b];
  });
  std::vector<int32_t> color(static_cast<size_t>(n_words), -1), taken_by;
  std::vector<int64_t> sizes;
  Patience patience;
  for (const int32_t word : order) {
    patience.spend(8 * (indptr[word + 1] - indptr[word]) + static_cast<int64_t>(sizes.size()));
    for (int64_t at = indptr[word]; at < indptr[word + 1]; ++at) {
      const int32_t theirs = color[static_cast<size_t>(neighbors[at])];
      if (theirs >= 0) taken_by[static_cast<size_t>(theirs)] = word;
    }
    const auto free = std::find_if(taken_by.begin(), taken_by.end(), [&](int32_t by) { return by != word; });
    const auto mine = static_cast<size_t>(free - taken_by.begin());
    if (mine == taken_by.size()) {
      taken_by.push_back(-1);
      sizes.push_back(0);
    }
    color[static_cast<size_t>(word)] = static_cast<int32_t>(mine);
    ++sizes[mine];
  }
  WordClasses classes;
  classes.bounds.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), classes.bounds.begin() + 1);
  classes.words.resize(static_cast<size_t>(n_words));
  std::vector<int64_t> next(classes.bounds.begin(), classes.bounds.end() - 1);
  for (const int32_t word : order) {  // the longest first, so that none of them comes last
    const auto c = static_cast<size_t>(color[static_cast<size_t>(word)]);
    classes.words[static_cast<size_t>(next[c]++)] = word;
  }
  return classes;
}

WordPairs draw_pairs(const PairDraw& draw, int64_t n, int n_threads) {
  constexpr int64_t kPairs = 1 << 12;
  constexpr uint32_t kAttempts = 32, kPairDraws = 1;
  std::vector<int32_t> rows(static_cast<size_t>(n)), cols(static_cast<size_t>(n));
  if (draw.n_candidates < 2) return {};
  const auto below = [](uint32_t high, uint32_t low, int64_t bound) {
    const auto unit = static_cast<double>((uint64_t{high} << 20) | (low >> 12)) * 0x1p-52;
    return static_cast<int64_t>(unit * static_cast<double>(bound));
  };
  parallel_for(block_count(n, kPairs), n_threads, [&](int64_t task, int) {
    const Block mine = block_at(n, kPairs, task);
    for (int64_t c = mine.begin; c < mine.end; ++c) {
      rows[static_cast<size_t>(c)] = -1;
      for (uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
        const Philox4 r = philox(
            draw.seed, {static_cast<uint32_t>(c), draw.sweep, draw.slice * kAttempts + attempt, kPairDraws});
        const int64_t first = below(r[0], r[1], draw.n_candidates);
        const int64_t second = (first + 1 + below(r[2], r[3], draw.n_candidates - 1)) % draw.n_candidates;
        int32_t i = draw.candidates[first], j = draw.candidates[second];
        if (!draw.ordered && i > j) std::swap(i, j);
        const int64_t key = i * draw.n_words + j;
        if (std::binary_search(draw.excluded, draw.excluded + draw.n_excluded, key)) continue;
        rows[static_cast<size_t>(c)] = i;
        cols[static_cast<size_t>(c)] = j;
        break;
      }
    }
  });
  size_t kept = 0;
  for (size_t c = 0; c < rows.size(); ++c) {
    if (rows[c] < 0) continue;
    rows[kept] = rows[c];
    cols[kept++] = cols[c];
  }
  rows.resize(kept);
  cols.resize(kept);
  return {std::move(rows), std::move(cols)};
}

template NeighborLists<float> neighbor_lists(const std::vector<Cells<float>>&, int64_t, int64_t, int);
template NeighborLists<double> neighbor_lists(const std::vector<Cells<double>>&, int64_t, int64_t, int);

}  // namespace semproj
