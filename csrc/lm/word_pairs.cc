#include "lm/word_pairs.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

constexpr int64_t kGrain = 64;  // rows in one task

template <class Visit>
void for_each_pair(std::span<const int64_t> starts, std::span<const int32_t> ids, int32_t boundary,
                   const Visit& visit) {
  Patience patience;
  for (size_t s = 0; s + 1 < starts.size(); ++s) {
    int32_t last = boundary;
    in_stretches(starts[s], starts[s + 1], [&](int64_t i) {
      visit(last, ids[static_cast<size_t>(i)]);
      last = ids[static_cast<size_t>(i)];
    });
    visit(last, boundary);
    patience.spend(4 * (starts[s + 1] - starts[s] + 1));
  }
}

// Equal neighbors of one row become one, with their number.
int64_t count_equal(int32_t* words, int32_t* counts, int64_t n) {
  Patience patience;
  std::sort(words, words + n, [&](int32_t a, int32_t b) {
    patience.spend(2);
    return a < b;
  });
  int64_t kept = 0;
  for (int64_t i = 0, next = 0; i < n; i = next) {
    while (next < n && words[next] == words[i]) ++next;
    words[kept] = words[i];
    counts[kept++] = static_cast<int32_t>(next - i);
  }
  return kept;
}

Neighbors transposed(const Neighbors& rows) {
  const size_t n_words = rows.starts.size() - 1;
  Neighbors found;
  found.starts.assign(n_words + 1, 0);
  for (const int32_t w : rows.words) ++found.starts[static_cast<size_t>(w) + 1];
  std::partial_sum(found.starts.begin(), found.starts.end(), found.starts.begin());
  found.words.resize(rows.words.size());
  found.counts.resize(rows.words.size());
  std::vector<int64_t> next(found.starts.begin(), found.starts.end() - 1);
  Patience patience;
  for (size_t row = 0; row < n_words; ++row) {
    in_stretches(rows.starts[row], rows.starts[row + 1], [&](int64_t i) {
      const auto at = static_cast<size_t>(next[static_cast<size_t>(rows.words[static_cast<size_t>(i)])]++);
      found.words[at] = static_cast<int32_t>(row);
      found.counts[at] = rows.counts[static_cast<size_t>(i)];
    });
    patience.spend(4 * (rows.starts[row + 1] - rows.starts[row]));
  }
  return found;
}

}  // namespace

WordPairs count_word_pairs(std::span<const int64_t> starts, std::span<const int32_t> ids, int64_t n_words,
                           int32_t boundary, int n_threads) {
  std::vector<int64_t> bounds(static_cast<size_t>(n_words) + 1, 0);
  for_each_pair(starts, ids, boundary,
                [&](int32_t first, int32_t) { ++bounds[static_cast<size_t>(first) + 1]; });
  std::partial_sum(bounds.begin(), bounds.end(), bounds.begin());
  std::vector<int32_t> words(static_cast<size_t>(bounds.back())), counts(words.size());
  std::vector<int64_t> next(bounds.begin(), bounds.end() - 1);
  for_each_pair(starts, ids, boundary, [&](int32_t first, int32_t second) {
    words[static_cast<size_t>(next[static_cast<size_t>(first)]++)] = second;
  });
  std::vector<int64_t> sizes(static_cast<size_t>(n_words));
  parallel_for(block_count(n_words, kGrain), n_threads, [&](int64_t task, int) {
    const Block rows = block_at(n_words, kGrain, task);
    for (auto w = static_cast<size_t>(rows.begin); w < static_cast<size_t>(rows.end); ++w) {
      sizes[w] = count_equal(words.data() + bounds[w], counts.data() + bounds[w], bounds[w + 1] - bounds[w]);
    }
  });
  WordPairs pairs;
  Neighbors& after = pairs.after;
  after.starts.assign(1, 0);
  for (const int64_t size : sizes) after.starts.push_back(after.starts.back() + size);
  after.words.resize(static_cast<size_t>(after.starts.back()));
  after.counts.resize(after.words.size());
  Patience patience;
  for (size_t w = 0; w < sizes.size(); ++w) {
    patience.spend(sizes[w]);
    std::copy_n(words.begin() + bounds[w], sizes[w], after.words.begin() + after.starts[w]);
    std::copy_n(counts.begin() + bounds[w], sizes[w], after.counts.begin() + after.starts[w]);
  }
  pairs.before = transposed(after);
  return pairs;
}

}  // namespace semproj::lm
