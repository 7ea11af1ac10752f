#pragma once
// Sorts records by their keys, integers of up to 192 bits, on all cores.
//
// Records have a `key`. First they are dealt to buckets by their topmost word: a table from words to buckets
// of about equal mass, because words are anything but uniform. A bucket that is small enough for the cache is
// sorted by digits of 11 bits, the lowest first, without those in which all of its keys agree. A large one (a
// frequent word) is dealt out once more, by the topmost word in which its keys differ. Stable; the result
// does not depend on the number of threads.
//
// Cost: two passes over memory, and 2 to 3 ns for each record and digit in cache. Memory: the records twice.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "lm/ngram_key.h"
#include "lm/word_buckets.h"

namespace semproj::lm {

struct SortRange {
  int low;  // Only bits from here on are compared: where they are equal, records stay in the order they have.
  int high;  // above the topmost bit
  int word_bits;
};

template <class Record>
class RecordSorter {
 public:
  RecordSorter(const WordBuckets& buckets, const SortRange& range, int n_threads)
      : buckets_(buckets), range_(range), n_threads_(n_threads) {}

  // The result is in `to`; what is left in `from` is of no use.
  void sort(Record* from, Record* to, int64_t n) const {
    constexpr int64_t kTasks = 128, kLeast = 1 << 15;
    const int64_t grain = std::max(kLeast, (n + kTasks - 1) / kTasks), n_tasks = block_count(n, grain);
    const int n_buckets = buckets_.size(), low = range_.high - range_.word_bits;
    std::vector<int64_t> places(static_cast<size_t>(n_tasks) * n_buckets, 0);
    parallel_for(n_tasks, n_threads_, [&](int64_t task, int) {
      const Block block = block_at(n, grain, task);
      int64_t* const mine = places.data() + task * n_buckets;
      for (int64_t i = block.begin; i < block.end; ++i) ++mine[bucket_of(from[i], low)];
    });
    std::vector<int64_t> starts(static_cast<size_t>(n_buckets) + 1);
    int64_t total = 0;
    for (int b = 0; b < n_buckets; ++b) {
      starts[b] = total;
      for (int64_t task = 0; task < n_tasks; ++task) {
        int64_t& place = places[task * n_buckets + b];
        const int64_t count = place;
        place = total;
        total += count;
      }
    }
    starts[n_buckets] = total;
    parallel_for(n_tasks, n_threads_, [&](int64_t task, int) {
      const Block block = block_at(n, grain, task);
      int64_t* const mine = places.data() + task * n_buckets;
      in_stretches(block.begin, block.end, [&](int64_t i) { to[mine[bucket_of(from[i], low)]++] = from[i]; });
    });
    parallel_for(n_buckets, n_threads_, [&](int64_t b, int) {
      sort_bucket(to + starts[b], from + starts[b], starts[b + 1] - starts[b], false, true);
    });
  }

 private:
  static constexpr int64_t kFew = 48;
  static constexpr int64_t kInCache = (512 << 10) / sizeof(Record);
  static constexpr int kDigit = 11, kSmallDigit = 8;

  uint32_t bucket_of(const Record& record, int low) const {
    return buckets_(record.key.bits(low, (1u << range_.word_bits) - 1));
  }

  // Sorted in `records`, or in `other`; both have room for n.
  void sort_bucket(Record* records, Record* other, int64_t n, bool in_other, bool divisible) const {
    if (n <= kFew) {
      insert_all(records, n);
      if (in_other && n > 0) std::copy_n(records, n, other);
      return;
    }
    auto difference = records[0].key;
    for (uint64_t& word : difference.words) word = 0;
    in_stretches(1, n, [&](int64_t i) {
      for (size_t w = 0; w < std::size(difference.words); ++w) {
        difference.words[w] |= records[i].key.words[w] ^ records[0].key.words[w];
      }
    });
    const int top = 64 * static_cast<int>(std::size(difference.words)) - difference.leading_zeros();
    if (top <= range_.low) {
      if (in_other) std::copy_n(records, n, other);
      return;
    }
    if (n > kInCache && divisible) {
      deal(records, other, n, (top - 1) / range_.word_bits * range_.word_bits, in_other);
    } else {
      sort_by_digits(records, other, n, difference, top, in_other);
    }
  }

  // By the word at `low`, above which all keys agree.
  void deal(Record* records, Record* other, int64_t n, int low, bool in_other) const {
    std::vector<int64_t> places(static_cast<size_t>(buckets_.size()) + 1, 0);
    in_stretches(0, n, [&](int64_t i) { ++places[bucket_of(records[i], low) + 1]; });
    for (int b = 0; b < buckets_.size(); ++b) places[b + 1] += places[b];
    const std::vector<int64_t> starts = places;
    in_stretches(0, n, [&](int64_t i) { other[places[bucket_of(records[i], low)]++] = records[i]; });
    for (int b = 0; b < buckets_.size(); ++b) {
      const int64_t count = starts[b + 1] - starts[b];
      if (count == 0) continue;
      // If all went into one bucket, dealing by the same word would never end.
      sort_bucket(other + starts[b], records + starts[b], count, !in_other, count < n);
    }
  }

  template <class Difference>
  void sort_by_digits(Record* records, Record* other, int64_t n, const Difference& difference, int top,
                      bool in_other) const {
    constexpr int64_t kSmall = 2000;
    const int width = n < kSmall ? kSmallDigit : kDigit;
    uint32_t counts[1 << kDigit];
    Record *from = records, *to = other;
    for (int low = range_.low; low < top; low += width) {
      const uint32_t mask = (1u << std::min(width, top - low)) - 1;
      if (difference.bits(low, mask) == 0) continue;
      std::fill_n(counts, mask + 1, 0u);
      in_stretches(0, n, [&](int64_t i) { ++counts[from[i].key.bits(low, mask)]; });
      uint32_t total = 0;
      for (uint32_t d = 0; d <= mask; ++d) total += std::exchange(counts[d], total);
      in_stretches(0, n, [&](int64_t i) { to[counts[from[i].key.bits(low, mask)]++] = from[i]; });
      std::swap(from, to);
    }
    Record* const wanted = in_other ? other : records;
    if (from != wanted) std::copy_n(from, n, wanted);
  }

  void insert_all(Record* records, int64_t n) const {
    const int low = range_.low;
    for (int64_t i = 1; i < n; ++i) {
      const Record record = records[i];
      const auto value = record.key.value() >> low;
      int64_t j = i;
      for (; j > 0 && value < (records[j - 1].key.value() >> low); --j) records[j] = records[j - 1];
      records[j] = record;
    }
  }

  const WordBuckets& buckets_;
  SortRange range_;
  int n_threads_;
};

}  // namespace semproj::lm
