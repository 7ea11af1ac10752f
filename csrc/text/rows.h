#pragma once
// Rows of counts on their way to CSR.

#include <cstdint>
#include <vector>

namespace semproj::text {

// The counts of some consecutive documents, in no order within a row.
struct RowBlock {
  struct Entry {
    uint32_t id;
    uint32_t count;
  };
  std::vector<Entry> entries;
  std::vector<uint32_t> lengths;  // entries of each row
  int worker = 0;                 // whose ids these are
};

// Counts the ids of one document.
class RowCounter {
 public:
  // Ids below n_ids will come, at most n_more of them before the next call of reserve.
  void reserve(int64_t n_ids, int64_t n_more) {
    if (static_cast<int64_t>(counts_.size()) < n_ids) counts_.resize(n_ids + n_ids / 2);
    if (static_cast<int64_t>(touched_.size()) < n_touched_ + n_more)
      touched_.resize(2 * (n_touched_ + n_more));
  }

  void add(const uint32_t* ids, int64_t n) {
    uint32_t* const touched = touched_.data();
    int64_t n_touched = n_touched_;
    for (int64_t i = 0; i < n; ++i) {  // without a branch: whether a word is new to a document is a coin toss
      const uint32_t id = ids[i], before = counts_[id]++;
      touched[n_touched] = id;
      n_touched += before == 0;
    }
    n_touched_ = n_touched;
  }

  // Appends the row of the ids other than `ignored` and starts the next document.
  void finish(RowBlock* block, uint32_t ignored);

 private:
  std::vector<uint32_t> counts_;  // by id; zero between documents
  std::vector<uint32_t> touched_;
  int64_t n_touched_ = 0;
};

// Sorts rows by column. One per thread: it owns the memory that this needs.
class RowSorter {
 public:
  explicit RowSorter(int64_t n_columns);

  // Writes the n entries, which have distinct ids below n_columns, by increasing id. Changes the entries.
  void sort(RowBlock::Entry* entries, int64_t n, int32_t* indices, int32_t* data);

 private:
  void sort_short(const RowBlock::Entry* entries, int64_t n, int32_t* indices, int32_t* data);
  void sort_long(RowBlock::Entry* entries, int64_t n, int32_t* indices, int32_t* data);

  int n_digits_;
  std::vector<RowBlock::Entry> scratch_;
};

}  // namespace semproj::text
