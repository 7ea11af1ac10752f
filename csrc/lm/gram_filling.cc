#include "lm/gram_filling.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>

#include "core/parallel.h"
#include "lm/pages.h"

namespace semproj::lm {
namespace {

constexpr int64_t kGrain = 1 << 14;  // n-grams of a block, at least
constexpr int64_t kMostBlocks = 64, kPieces = 256;

// An n-gram that is dealt to a piece of its table.
struct Entry {
  uint64_t key;
  float log_prob, backoff;
};
static_assert(sizeof(Entry) == kFillingBytes);

// The number of the nearest of rising values.
uint32_t nearest(const float* values, int n, float x) {
  const auto at = static_cast<int>(std::lower_bound(values, values + n, x) - values);
  if (at == 0) return 0;
  if (at == n) return static_cast<uint32_t>(n - 1);
  return static_cast<uint32_t>(x - values[at - 1] <= values[at] - x ? at - 1 : at);
}

// N-grams by piece of the table, each piece being some groups; within a piece in the order they came.
class Deal {
 public:
  Deal(const GramRows& rows, const GramTable& table, int n_threads)
      : rows_(rows),
        table_(table),
        n_(static_cast<int64_t>(rows.keys.size())),
        n_lines_(table.layout().n_lines),
        of_piece_(std::max<int64_t>(1, n_lines_ / table.layout().group / kPieces) * table.layout().group),
        n_blocks_(std::min(kMostBlocks, block_count(n_, kGrain))),
        of_block_(n_blocks_ == 0 ? 0 : block_count(n_, n_blocks_)),
        starts_(static_cast<size_t>(n_blocks_ * n_pieces()) + 1, 0),
        pages_(static_cast<size_t>(std::max<int64_t>(n_, 1)) * sizeof(Entry)) {
    count(n_threads);
    deal(n_threads);
  }

  int64_t n_pieces() const { return block_count(n_lines_, of_piece_); }
  Block lines_of(int64_t piece) const { return block_at(n_lines_, of_piece_, piece); }
  std::span<const Entry> entries_of(int64_t piece) const {
    const auto begin = starts_[static_cast<size_t>(piece * n_blocks_)],
               end = starts_[static_cast<size_t>((piece + 1) * n_blocks_)];
    return {pages_.as<Entry>() + begin, static_cast<size_t>(end - begin)};
  }

 private:
  template <class F>
  void each_of(int64_t block, const F& f) const {  // f(number, piece)
    in_stretches(block * of_block_, std::min(n_, (block + 1) * of_block_), [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      f(at, static_cast<size_t>(table_.home(rows_.keys[at]).line / of_piece_));
    });
  }

  size_t start_of(size_t piece, int64_t block) const {
    return piece * static_cast<size_t>(n_blocks_) + static_cast<size_t>(block);
  }

  void count(int n_threads) {
    parallel_for(n_blocks_, n_threads, [&](int64_t block, int) {
      std::vector<int64_t> counts(static_cast<size_t>(n_pieces()));
      each_of(block, [&](size_t, size_t piece) { ++counts[piece]; });
      for (size_t p = 0; p < counts.size(); ++p) starts_[start_of(p, block) + 1] = counts[p];
    });
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  }

  void deal(int n_threads) {
    Entry* const entries = pages_.as<Entry>();
    parallel_for(n_blocks_, n_threads, [&](int64_t block, int) {
      std::vector<int64_t> next(static_cast<size_t>(n_pieces()));
      for (size_t p = 0; p < next.size(); ++p) next[p] = starts_[start_of(p, block)];
      each_of(block, [&](size_t i, size_t piece) {
        const float backoff = rows_.backoffs.empty() ? 0 : rows_.backoffs[i];
        entries[next[piece]++] = {rows_.keys[i], rows_.log_probs[i], backoff};
      });
    });
  }

  const GramRows& rows_;
  const GramTable& table_;
  int64_t n_, n_lines_, of_piece_, n_blocks_, of_block_;
  std::vector<int64_t> starts_;  // by piece, then by block
  Pages pages_;
};

}  // namespace

uint32_t stored_log_prob(const Codebook* codebook, float log_prob) {
  return codebook == nullptr ? prob_bits_of(log_prob) : nearest(codebook->log_probs.data(), 256, log_prob);
}

uint32_t stored_backoff(const Codebook* codebook, float backoff) {
  if (codebook == nullptr) return std::bit_cast<uint32_t>(backoff);
  if (backoff == 0) return std::signbit(backoff) ? 0 : 1;
  return 2 + nearest(codebook->backoffs.data() + 2, 254, backoff);
}

bool fill_table(const GramRows& rows, const GramTable& table, const Codebook* codebook, int n_threads,
                uint64_t* lines, std::vector<uint64_t>* twice) {
  const Deal dealt(rows, table, n_threads);
  std::atomic<bool> full = false;
  std::mutex mutex;
  parallel_for(dealt.n_pieces(), n_threads, [&](int64_t piece, int) {
    const Block block = dealt.lines_of(piece);
    uint64_t* const first = lines + block.begin * kLineWords;
    clear_lines(first, block.end - block.begin);
    for (const Entry& entry : dealt.entries_of(piece)) {
      if (full) return;
      int64_t slot;
      const Put put =
          put_gram(first, block.begin, table.layout(), table.home(entry.key),
                   stored_log_prob(codebook, entry.log_prob), stored_backoff(codebook, entry.backoff), &slot);
      if (put == Put::full) full = true;
      if (put == Put::twice) {
        const std::lock_guard lock(mutex);
        twice->push_back(entry.key);
      }
    }
  });
  return !full;
}

}  // namespace semproj::lm
