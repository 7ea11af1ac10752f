#pragma once
// Sorts any number of records. Those that fit are sorted in memory. Otherwise blocks are sorted and written
// to a temporary file as runs, which a reader merges: it holds a buffer for each, and takes the least record
// next by a heap. Either way the reader gives the same records in the same order.
//
// A `Run` record is what is written: the sorted record itself, or equal ones joined with their number.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lm/record_sort.h"
#include "lm/record_store.h"

namespace semproj::lm {

struct RunPlace {
  int64_t offset, size;  // in bytes; in records
};

template <class Record>
class MergedRuns : public Source<Record> {
 public:
  MergedRuns(std::shared_ptr<const TempFile> file, const std::vector<RunPlace>& runs, int64_t memory)
      : file_(std::move(file)) {
    constexpr int64_t kLeast = 4096;
    const int64_t share = std::max(kLeast, memory / std::max<int64_t>(1, static_cast<int64_t>(runs.size())));
    capacity_ = share / static_cast<int64_t>(sizeof(Record)) + 1;
    buffer_ = Records<Record>(static_cast<int64_t>(runs.size()) * capacity_);
    cursors_.reserve(runs.size());
    for (const RunPlace& run : runs) {
      Record* const buffer = buffer_.get() + static_cast<int64_t>(cursors_.size()) * capacity_;
      cursors_.push_back({buffer, buffer, buffer, run.offset, run.size});
      if (refill(cursors_.back())) heap_.push_back(&cursors_.back());
    }
    std::make_heap(heap_.begin(), heap_.end(), &is_after);
  }

  int64_t read(Record* to, int64_t n) override {
    int64_t done = 0;
    while (!heap_.empty()) {
      const Record& least = *heap_.front()->next;
      if (done > 0 && least.joins(to[done - 1])) {
        to[done - 1].join(least);
      } else if (done == n) {
        break;  // not before: equal records of all runs are joined
      } else {
        to[done++] = least;
      }
      advance();
    }
    return done;
  }

 private:
  struct Cursor {
    Record *buffer, *next, *end;
    int64_t offset, left;
  };

  static bool is_after(const Cursor* a, const Cursor* b) { return b->next->key < a->next->key; }

  bool refill(Cursor& cursor) {
    const int64_t n = std::min(capacity_, cursor.left);
    const auto n_bytes = n * static_cast<int64_t>(sizeof(Record));
    file_->read(cursor.offset, cursor.buffer, n_bytes);
    cursor.next = cursor.buffer, cursor.end = cursor.buffer + n;
    cursor.offset += n_bytes, cursor.left -= n;
    return n > 0;
  }

  // The run with the least record goes on by one, and sinks to its place in the heap.
  void advance() {
    patience_.spend(32);
    Cursor* const moved = heap_.front();
    if (++moved->next == moved->end && !refill(*moved)) {
      heap_.front() = heap_.back();
      heap_.pop_back();
      if (heap_.empty()) return;
    }
    Cursor* const sinking = heap_.front();
    const size_t n = heap_.size();
    size_t hole = 0;
    for (size_t child = 1; child < n; child = 2 * hole + 1) {
      if (child + 1 < n && is_after(heap_[child], heap_[child + 1])) ++child;
      if (!is_after(sinking, heap_[child])) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = sinking;
  }

  std::shared_ptr<const TempFile> file_;
  int64_t capacity_;
  Records<Record> buffer_;
  std::vector<Cursor> cursors_;
  std::vector<Cursor*> heap_;
  Patience patience_;
};

template <class Record>
class InMemory : public Source<Record> {
 public:
  explicit InMemory(std::span<const Record> records) : records_(records) {}
  std::optional<std::span<const Record>> all() const override { return records_; }
  int64_t read(Record*, int64_t) override { return 0; }

 private:
  std::span<const Record> records_;
};

// What a sorter leaves. In memory there are records, in a file runs.
template <class Record, class Run = Record>
struct Sorted {
  Records<Record> records;
  int64_t size = 0;
  Taken taken{};
  std::shared_ptr<const TempFile> file{};
  std::vector<RunPlace> runs{};

  bool in_memory() const { return file == nullptr; }
  std::span<const Record> span() const { return {records.get(), static_cast<size_t>(size)}; }

  std::unique_ptr<Source<Run>> source(const Workspace& workspace) const {
    if constexpr (std::is_same_v<Record, Run>) {
      if (in_memory()) return std::make_unique<InMemory<Record>>(span());
    }
    return std::make_unique<MergedRuns<Run>>(file, runs, workspace.for_reading());
  }
};

template <class Record, class Run = Record>
class Sorter {
 public:
  // `expected` records, or a few more.
  Sorter(Workspace* workspace, const WordBuckets& buckets, const SortRange& range, int64_t expected,
         int n_threads)
      : workspace_(workspace), sorter_(buckets, range, n_threads) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(Record));
    constexpr int64_t kLeast = 1024;
    spills_ = expected * kSize > workspace->for_sorting() || !workspace->take(expected * kSize);
    if (!spills_) taken_ = Taken(workspace, expected * kSize);
    capacity_ = spills_ ? std::max(kLeast, workspace->for_sorting() / (2 * kSize)) : expected;
    block_ = Records<Record>(capacity_);
    if (spills_) sorted_ = Records<Record>(capacity_);
  }

  // How many records may be added at once.
  int64_t capacity() const { return capacity_; }

  // Where to write n more records.
  Record* append(int64_t n) {
    if (size_ + n > capacity_) {
      if (size_ > 0) spill();
      if (n > capacity_) {  // a group that is larger than all that we may have: it must be somewhere
        capacity_ = n;
        block_ = Records<Record>(n);
        sorted_ = Records<Record>(n);
      }
    }
    size_ += n;
    return block_.get() + size_ - n;
  }

  Sorted<Record, Run> finish() {
    if (file_) {
      if (size_ > 0) spill();
      block_.reset();
      sorted_.reset();
      return {.records = {}, .file = file_, .runs = std::move(runs_)};
    }
    if (spills_) {
      spill();
      return finish();
    }
    sorted_ = Records<Record>(size_);
    sorter_.sort(block_.get(), sorted_.get(), size_);
    block_.reset();
    return {.records = std::move(sorted_), .size = size_, .taken = std::move(taken_)};
  }

 private:
  void spill() {
    if (!file_) file_ = std::make_shared<TempFile>(workspace_->folder());
    if (sorted_.empty()) sorted_ = Records<Record>(capacity_);
    sorter_.sort(block_.get(), sorted_.get(), size_);
    const int64_t offset = file_->size();
    int64_t n = size_;
    if constexpr (std::is_same_v<Record, Run>) {
      file_->append(sorted_.get(), n * static_cast<int64_t>(sizeof(Record)));
    } else {
      n = write_joined();
    }
    runs_.push_back({offset, n});
    size_ = 0;
  }

  int64_t write_joined() {
    constexpr int64_t kBatch = 8192;
    std::vector<Run> batch;
    batch.reserve(kBatch);
    int64_t written = 0;
    const auto write = [&] {
      file_->append(batch.data(), static_cast<int64_t>(batch.size() * sizeof(Run)));
      written += static_cast<int64_t>(batch.size());
      batch.clear();
    };
    for (int64_t i = 0; i < size_;) {
      int64_t end = i + 1;
      while (end < size_ && sorted_[end].key == sorted_[i].key) ++end;
      batch.push_back(Run{sorted_[i].key, static_cast<uint64_t>(end - i)});
      if (static_cast<int64_t>(batch.size()) == kBatch) write();
      i = end;
    }
    write();
    return written;
  }

  Workspace* workspace_;
  RecordSorter<Record> sorter_;
  bool spills_;
  Taken taken_;
  int64_t capacity_, size_ = 0;
  Records<Record> block_, sorted_;
  std::shared_ptr<TempFile> file_;
  std::vector<RunPlace> runs_;
};

}  // namespace semproj::lm
