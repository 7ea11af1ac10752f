#pragma once
// The best scores of each query while the corpus goes by.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/aligned.h"
#include "core/parallel.h"
#include "kernels/retrieve.h"

namespace semproj {

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// Moves the k largest of n different keys to the front. Partitions without branches: keys come in no order
// that a branch predictor could learn, which makes std::nth_element five times as slow here.
inline void keep_largest(uint64_t* keys, int64_t n, int64_t k) {
  constexpr int64_t kFew = 8;
  if (k == n) return;
  int64_t low = 0, high = n;
  for (int round = 0; round < 64 && high - low > kFew; ++round) {
    const uint64_t a = keys[low], b = keys[low + (high - low) / 2], c = keys[high - 1];
    const uint64_t pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    int64_t above = low;
    for (int64_t i = low; i < high; ++i) {
      const uint64_t key = keys[i];
      keys[i] = keys[above];
      keys[above] = key;
      above += key > pivot ? 1 : 0;
    }
    if (above == k) return;
    // The pivot itself is not among those above it, so neither side is everything.
    (above > k ? high : low) = above;
  }
  if (low < k && k < high) std::nth_element(keys + low, keys + k, keys + high, std::greater<>());
}

// Writes ids and scores of the k largest keys, best first, and -1 and NaN where there are fewer.
inline void write_best(std::vector<uint64_t>& keys, int64_t k, Metric metric, int64_t* ids, float* scores) {
  const int64_t found = std::min(k, static_cast<int64_t>(keys.size()));
  keep_largest(keys.data(), static_cast<int64_t>(keys.size()), found);
  std::sort(keys.begin(), keys.begin() + found, std::greater<>());
  std::fill(ids + found, ids + k, -1);
  std::fill(scores + found, scores + k, std::numeric_limits<float>::quiet_NaN());
  for (int64_t i = 0; i < found; ++i) {
    const float score = simd::score_of(keys[static_cast<size_t>(i)]);
    ids[i] = simd::id_of(keys[static_cast<size_t>(i)]);
    scores[i] = metric == Metric::l1 || metric == Metric::jensen_shannon ? 0.0f - score : score;
  }
}

// The best keys of one query so far, and others that were above the bar when they came.
struct Reservoir {
  uint64_t* keys;
  int64_t* count;
  float* bar;

  void cut(int64_t k) const {
    keep_largest(keys, *count, k);
    *count = k;
    *bar = simd::score_of(*std::min_element(keys, keys + k));
  }
};

// The reservoirs of a batch of queries, `parts` of them for each.
class Reservoirs {
 public:
  Reservoirs(int64_t queries, int64_t parts, int64_t k)
      : parts_(parts),
        k_(k),
        room_(k + std::max<int64_t>(k, 64)),
        keys_(aligned_array<uint64_t>(static_cast<size_t>(queries * parts * room_))),
        counts_(static_cast<size_t>(queries * parts)),
        bars_(static_cast<size_t>(queries * parts), kLeast) {}

  void add(const simd::ScoreTable& table, int64_t query, int64_t part, const float* scores, int64_t n,
           int64_t first_id) const {
    const Reservoir mine = at(query, part);
    for (int64_t from = 0; from < n;) {
      if (*mine.count + kMostLanes > room_) mine.cut(k_);
      from = table.select(scores, from, n, *mine.bar, static_cast<uint32_t>(first_id), mine.keys, mine.count,
                          room_);
    }
  }

  // The same for one score of a row behind all that came before.
  void add_one(int64_t query, int64_t part, float score, uint32_t id) const {
    const Reservoir mine = at(query, part);
    if (!(score > *mine.bar)) return;
    if (*mine.count == room_) mine.cut(k_);
    mine.keys[(*mine.count)++] = simd::key_of(score, id);
  }

  // The least of the k best so far, if there are as many.
  float raise_bar(int64_t query, int64_t part) const {
    const Reservoir mine = at(query, part);
    if (*mine.count >= k_) mine.cut(k_);
    return *mine.bar;
  }

  // The keys that may be among the best of a query.
  void gather(int64_t query, std::vector<uint64_t>& keys) const {
    keys.clear();
    for (int64_t part = 0; part < parts_; ++part) {
      const Reservoir mine = at(query, part);
      keys.insert(keys.end(), mine.keys, mine.keys + *mine.count);
    }
  }

  // Ids and scores of all queries, k of each.
  void write_all(Metric metric, int64_t* ids, float* scores, int n_threads) const {
    constexpr int64_t kGrain = 256;
    const auto n = static_cast<int64_t>(counts_.size()) / parts_;
    parallel_for(block_count(n, kGrain), n_threads, [&](int64_t task, int) {
      const Block mine = block_at(n, kGrain, task);
      std::vector<uint64_t> keys;
      Patience patience;
      for (int64_t q = mine.begin; q < mine.end; ++q) {
        gather(q, keys);
        write_best(keys, k_, metric, ids + q * k_, scores + q * k_);
        patience.spend(64 * k_);
      }
    });
  }

 private:
  static constexpr int64_t kMostLanes = 16;

  Reservoir at(int64_t query, int64_t part) const {
    const int64_t i = query * parts_ + part;
    return {keys_.get() + i * room_, counts_.data() + i, bars_.data() + i};
  }

  int64_t parts_, k_, room_;
  AlignedArray<uint64_t> keys_;
  mutable std::vector<int64_t> counts_;
  mutable std::vector<float> bars_;
};

}  // namespace semproj
