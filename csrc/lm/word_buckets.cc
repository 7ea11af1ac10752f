#include "lm/word_buckets.h"

#include <algorithm>

namespace semproj::lm {

WordBuckets::WordBuckets(std::span<const int64_t> counts, int n_buckets) : of_(counts.size(), 0) {
  int64_t total = 0;
  for (const int64_t count : counts) total += count;
  const int64_t share = total / std::max(1, n_buckets) + 1;
  int64_t sum = 0;
  uint32_t bucket = 0;
  for (size_t code = 0; code < counts.size(); ++code) {
    // A frequent word has a bucket of its own.
    const bool full = sum > 0 && sum + counts[code] > share;
    if (full && bucket < 0xFFFF) ++bucket, sum = 0;
    of_[code] = static_cast<uint16_t>(bucket);
    sum += counts[code];
  }
  n_ = static_cast<int>(bucket) + 1;
}

}  // namespace semproj::lm
