// Rows of up to kShort entries are sorted by ranks: an entry's place is the number of smaller ids, n^2
// compares that the compiler does four at a time and without a branch. Longer rows take one radix pass per
// byte of the largest column. Both cost 10 to 20 cycles per entry.

#include "text/rows.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace semproj::text {
namespace {

constexpr int64_t kShort = 64;

}  // namespace

void RowCounter::finish(RowBlock* block, uint32_t ignored) {
  const size_t begin = block->entries.size();
  block->entries.resize(begin + n_touched_);
  RowBlock::Entry* out = block->entries.data() + begin;
  for (int64_t i = 0; i < n_touched_; ++i) {
    const uint32_t id = touched_[i], count = std::exchange(counts_[id], 0);
    if (count > uint32_t{std::numeric_limits<int32_t>::max()})
      throw std::overflow_error("a count above 2^31");
    *out = {id, count};
    out += id != ignored;
  }
  const auto length = static_cast<uint32_t>(out - (block->entries.data() + begin));
  block->entries.resize(begin + length);
  block->lengths.push_back(length);
  n_touched_ = 0;
}

RowSorter::RowSorter(int64_t n_columns) : n_digits_(1) {
  while (n_digits_ < 4 && n_columns > int64_t{1} << 8 * n_digits_) ++n_digits_;
}

void RowSorter::sort(RowBlock::Entry* entries, int64_t n, int32_t* indices, int32_t* data) {
  n <= kShort ? sort_short(entries, n, indices, data) : sort_long(entries, n, indices, data);
}

void RowSorter::sort_short(const RowBlock::Entry* entries, int64_t n, int32_t* indices, int32_t* data) {
  int32_t ids[kShort];
  std::fill_n(ids, kShort, std::numeric_limits<int32_t>::max());  // never smaller than an id
  for (int64_t i = 0; i < n; ++i) ids[i] = static_cast<int32_t>(entries[i].id);
  const int64_t padded = (n + 3) / 4 * 4;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t id = ids[i];
    int32_t rank = 0;
    for (int64_t j = 0; j < padded; ++j) rank += ids[j] < id;
    indices[rank] = id;
    data[rank] = static_cast<int32_t>(entries[i].count);
  }
}

void RowSorter::sort_long(RowBlock::Entry* entries, int64_t n, int32_t* indices, int32_t* data) {
  if (static_cast<int64_t>(scratch_.size()) < n) scratch_.resize(2 * n);
  uint32_t starts[4][256] = {};
  for (int64_t i = 0; i < n; ++i) {
    for (int d = 0; d < n_digits_; ++d) ++starts[d][entries[i].id >> 8 * d & 255];
  }
  RowBlock::Entry *from = entries, *to = scratch_.data();
  for (int d = 0; d < n_digits_; ++d) {
    uint32_t total = 0;
    for (uint32_t& start : starts[d]) total += std::exchange(start, total);
    if (d + 1 == n_digits_) break;
    for (int64_t i = 0; i < n; ++i) to[starts[d][from[i].id >> 8 * d & 255]++] = from[i];
    std::swap(from, to);
  }
  for (int64_t i = 0; i < n; ++i) {  // the last pass writes where the row belongs
    const uint32_t place = starts[n_digits_ - 1][from[i].id >> 8 * (n_digits_ - 1) & 255]++;
    indices[place] = static_cast<int32_t>(from[i].id);
    data[place] = static_cast<int32_t>(from[i].count);
  }
}

}  // namespace semproj::text
