#pragma once
// Buckets of words of about equal mass, so that records can be dealt out by a word.

#include <cstdint>
#include <span>
#include <vector>

namespace semproj::lm {

// Which words share a bucket: from 0 up, by code.
class WordBuckets {
 public:
  // By how often each code comes. About n_buckets, at most 2^16.
  WordBuckets(std::span<const int64_t> counts, int n_buckets);

  int size() const { return n_; }
  uint32_t operator()(uint32_t code) const { return of_[code]; }

 private:
  std::vector<uint16_t> of_;
  int n_ = 1;
};

}  // namespace semproj::lm
