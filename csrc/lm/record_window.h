#pragma once
// Reads records back, a window at a time, wherever they are.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/parallel.h"
#include "lm/workspace.h"

namespace semproj::lm {

// What a window is filled from.
template <class Record>
class Source {
 public:
  virtual ~Source() = default;

  // All records, if they lie in memory one after another.
  virtual std::optional<std::span<const Record>> all() const { return std::nullopt; }

  // Otherwise: copies up to n of those that follow, and returns how many; 0 at the end.
  virtual int64_t read(Record* to, int64_t n) = 0;
};

// The records of a source, from those that have not been consumed on.
template <class Record>
class Window {
 public:
  Window(std::unique_ptr<Source<Record>> source, int64_t step_bytes)
      : source_(std::move(source)),
        step_(std::max<int64_t>(64, step_bytes / static_cast<int64_t>(sizeof(Record)))) {
    if (const auto all = source_->all()) {
      seen_ = *all;
      is_complete_ = true;
    }
  }

  std::span<const Record> seen() const { return seen_; }

  // Sees more; false at the end.
  bool extend() {
    if (is_complete_) return false;
    const auto kept = static_cast<int64_t>(seen_.size());
    if (kept > 0 && seen_.data() != buffer_.get()) {
      std::copy(seen_.begin(), seen_.end(), buffer_.get());
    }
    if (kept + step_ > capacity_) {
      const int64_t capacity = std::max(kept + step_, 2 * kept);
      Records<Record> larger(capacity);
      std::copy_n(buffer_.get(), kept, larger.get());
      buffer_ = std::move(larger);
      capacity_ = capacity;
    }
    const int64_t n = source_->read(buffer_.get() + kept, step_);
    is_complete_ = n == 0;
    seen_ = {buffer_.get(), static_cast<size_t>(kept + n)};
    return n > 0;
  }

  void consume(int64_t n) { seen_ = seen_.subspan(static_cast<size_t>(n)); }

  // The next records, at most n, but as many more as belong to the last one's group. Empty at the end.
  template <class SameGroup>
  std::span<const Record> next(int64_t n, const SameGroup& same_group) {
    while (static_cast<int64_t>(seen_.size()) <= n && extend()) {
    }
    int64_t end = std::min<int64_t>(n, seen_.size());
    if (end == 0) return {};
    for (;; ++end) {
      if (end == static_cast<int64_t>(seen_.size()) && !extend()) break;
      if (!same_group(seen_[end - 1], seen_[end])) break;
    }
    return seen_.first(static_cast<size_t>(end));
  }

  // Those whose key is not above this one.
  template <class Key>
  std::span<const Record> up_to(const Key& key) {
    while ((seen_.empty() || !(key < seen_.back().key)) && extend()) {
    }
    const auto above = std::upper_bound(seen_.begin(), seen_.end(), key,
                                        [](const Key& k, const Record& r) { return k < r.key; });
    return seen_.first(static_cast<size_t>(above - seen_.begin()));
  }

 private:
  std::unique_ptr<Source<Record>> source_;
  int64_t step_, capacity_ = 0;
  bool is_complete_ = false;
  Records<Record> buffer_;
  std::span<const Record> seen_;
};

}  // namespace semproj::lm
