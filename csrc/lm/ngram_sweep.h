#pragma once
// From sorted n-grams of the highest order to the counts of all orders, in one sweep.
//
// In suffix order the n-grams with the same last k words are neighbours. So an n-gram of order k begins where
// fewer than k words are as in the key before, and ends where the next one begins. Its raw count is the
// number of words of the text meanwhile; the different words before it are the n-grams of order k + 1 that
// begin meanwhile. An n-gram that begins with <s> has nothing before it: its adjusted count is the raw one,
// as that of the highest order is.
//
// The records are cut into tasks anywhere between two keys. Tasks first count the n-grams that begin in them,
// so that each knows its places in the lists; what lies open between two tasks is joined afterwards. Sums of
// integers: any cut gives the same. Cost: about 10 ns for each record.

#include <array>
#include <vector>

#include "lm/key_layout.h"
#include "lm/ngram_records.h"
#include "lm/ngram_sink.h"
#include "lm/record_store.h"

namespace semproj::lm {

inline constexpr int kMostDiscounted =
    62;  // the largest count that a table of counts of counts must know, but one

struct OrderCounts {
  int64_t n = 0;                                    // n-grams
  int64_t kept = 0;                                 // those that are not cut
  std::array<int64_t, kMostDiscounted + 2> n_of{};  // [r]: how many have the count r; the last: that, or more
};

template <int kWords>
class CountSweep {
 public:
  using List = RecordList<Valued<kWords>>;
  using Layout = KeyLayout<kWords>;

  // `lists` of each order from 1, at its number. `adjusted`: the counts of n-grams are adjusted ones.
  CountSweep(const Layout& layout, bool adjusted, std::vector<int64_t> min_counts, std::vector<List>* lists,
             int n_threads)
      : layout_(layout),
        adjusted_(adjusted),
        min_counts_(std::move(min_counts)),
        lists_(lists),
        n_threads_(n_threads),
        counts(static_cast<size_t>(layout.order()) + 1) {}

  // Records in suffix order: Occurrence, with each key as often as it came, all of one key in one call, or
  // Counted.
  template <class Record>
  void add(std::span<const Record> records);

  // What is still open ends.
  void finish();

 private:
  struct Open {
    int64_t place = -1;  // in the list; -1: before this task, or nowhere
    uint64_t adjusted = 0, raw = 0;
    bool ends = false;
  };
  struct Task {
    int64_t begin = 0, end = 0;
    std::array<int64_t, kMaxOrder + 2> begun{}, places{};  // how many begin here, and where the first goes
    std::array<Open, kMaxOrder + 1> head{}, tail{};
    std::vector<OrderCounts> counts{};
    Key<kWords> last{};
  };

  static bool same(const Occurrence<kWords>& a, const Occurrence<kWords>& b) { return a.key == b.key; }
  static bool same(const Counted<kWords>&, const Counted<kWords>&) { return false; }

  // Calls visit(key, count, words in common with the key before, length of that one).
  template <class Record, class Visit>
  void visit_all(std::span<const Record> records, const Task& task, const Visit& visit) const;
  template <class Record>
  void count_begun(std::span<const Record> records, Task& task) const;
  template <class Record>
  void fill(std::span<const Record> records, Task& task, const std::vector<Valued<kWords>*>& out) const;
  void close(Valued<kWords>* to, const Key<kWords>& key, int order, uint64_t adjusted, uint64_t raw,
             OrderCounts& counts) const;
  void join(std::vector<Task>& tasks, const std::vector<Valued<kWords>*>& out);

  const Layout& layout_;
  bool adjusted_;
  std::vector<int64_t> min_counts_;  // by order
  std::vector<List>* lists_;
  int n_threads_;
  bool has_last_ = false;
  Key<kWords> last_{};                         // of the records before
  std::array<Open, kMaxOrder + 1> carried_{};  // the n-grams that were open then

 public:
  std::vector<OrderCounts> counts;  // by order
};

template <int kWords>
template <class Record, class Visit>
void CountSweep<kWords>::visit_all(std::span<const Record> records, const Task& task,
                                   const Visit& visit) const {
  const Key<kWords>* before = task.begin > 0 ? &records[task.begin - 1].key : has_last_ ? &last_ : nullptr;
  int length = before != nullptr ? layout_.length(*before) : 0;
  for (int64_t i = task.begin; i < task.end;) {
    const Key<kWords>& key = records[i].key;
    uint64_t count = 0;
    if constexpr (std::is_same_v<Record, Counted<kWords>>) {
      count = records[i++].count;
    } else {
      const int64_t first = i++;
      while (i < task.end && records[i].key == key) ++i;
      count = static_cast<uint64_t>(i - first);
    }
    visit(key, count, before != nullptr ? layout_.common(*before, key) : 0, length);
    before = &key;
    length = layout_.length(key);
  }
}

template <int kWords>
template <class Record>
void CountSweep<kWords>::count_begun(std::span<const Record> records, Task& task) const {
  std::array<int64_t, kMaxOrder + 2> from{}, to{};
  visit_all(records, task, [&](const Key<kWords>& key, uint64_t, int common, int) {
    ++from[common + 1];
    ++to[layout_.length(key)];
  });
  // Where fewer than k words are as before, but for keys that have fewer than k.
  for (int k = 1; k <= layout_.order(); ++k) task.begun[k] = task.begun[k - 1] + from[k] - to[k - 1];
}

template <int kWords>
void CountSweep<kWords>::close(Valued<kWords>* to, const Key<kWords>& key, int order, uint64_t adjusted,
                               uint64_t raw, OrderCounts& counts) const {
  const uint64_t count = adjusted_ ? adjusted : raw;
  const bool is_cut = raw < static_cast<uint64_t>(min_counts_[order]);
  *to = {layout_.suffix(key, order), Value(count, is_cut)};
  ++counts.n;
  counts.kept += is_cut ? 0 : 1;
  ++counts.n_of[std::min<uint64_t>(count, counts.n_of.size() - 1)];
}

template <int kWords>
template <class Record>
void CountSweep<kWords>::fill(std::span<const Record> records, Task& task,
                              const std::vector<Valued<kWords>*>& out) const {
  struct Now {
    int64_t place = -1;
    uint64_t adjusted = 0, since = 0;
  };
  std::array<Now, kMaxOrder + 1> now{};
  std::array<int64_t, kMaxOrder + 2> next = task.places;
  uint64_t total = 0;
  const Key<kWords>* before = task.begin > 0 ? &records[task.begin - 1].key : has_last_ ? &last_ : nullptr;
  int length_now = before != nullptr ? layout_.length(*before) : 0;
  visit_all(records, task, [&](const Key<kWords>& key, uint64_t count, int common, int length_before) {
    for (int k = common + 1; k <= length_before; ++k) {
      const uint64_t raw = total - now[k].since;
      const uint64_t adjusted = k == length_before ? raw : now[k].adjusted;
      if (now[k].place < 0) {
        task.head[k] = {-1, adjusted, raw, true};
      } else {
        close(out[k] + now[k].place, *before, k, adjusted, raw, task.counts[k]);
      }
    }
    if (common > 0) ++now[common].adjusted;
    const int length = layout_.length(key);
    for (int k = common + 1; k <= length; ++k) now[k] = {next[k]++, 1, total};
    total += count;
    before = &key;
    length_now = length;
  });
  for (int k = 1; k <= length_now; ++k) {
    const uint64_t raw = total - now[k].since;
    const Open open{now[k].place, k == length_now ? raw : now[k].adjusted, raw, false};
    (open.place < 0 ? task.head : task.tail)[k] = open;
  }
  if (before != nullptr) task.last = *before;
}

// The n-grams that more than one task has seen, and those that are open at the end.
template <int kWords>
void CountSweep<kWords>::join(std::vector<Task>& tasks, const std::vector<Valued<kWords>*>& out) {
  Key<kWords> key = last_;
  for (Task& task : tasks) {
    for (int k = 1; k <= layout_.order(); ++k) {
      Open& open = carried_[k];
      open.adjusted += task.head[k].adjusted;
      open.raw += task.head[k].raw;
      if (task.head[k].ends) {
        close(out[k] + open.place, key, k, open.adjusted, open.raw, counts[k]);
        open = {};
      }
      if (task.tail[k].place >= 0) open = task.tail[k];
      counts[k].n += task.counts[k].n;
      counts[k].kept += task.counts[k].kept;
      for (size_t r = 0; r < counts[k].n_of.size(); ++r) counts[k].n_of[r] += task.counts[k].n_of[r];
    }
    key = task.last;
  }
  last_ = key;
  has_last_ = true;
}

template <int kWords>
template <class Record>
void CountSweep<kWords>::add(std::span<const Record> records) {
  constexpr int64_t kGrain = 1 << 15;
  const auto n = static_cast<int64_t>(records.size());
  if (n == 0) return;
  std::vector<Task> tasks;
  for (int64_t begin = 0; begin < n;) {
    int64_t end = std::min(begin + kGrain, n);
    while (end < n && same(records[end - 1], records[end])) ++end;
    tasks.push_back({.begin = begin, .end = end});
    begin = end;
  }
  const auto n_tasks = static_cast<int64_t>(tasks.size());
  parallel_for(n_tasks, n_threads_, [&](int64_t t, int) { count_begun(records, tasks[t]); });
  std::vector<Valued<kWords>*> out(static_cast<size_t>(layout_.order()) + 1);
  std::vector<int64_t> sizes(out.size());
  for (int k = 1; k <= layout_.order(); ++k) {
    // What is open from before comes first; the last one will be open.
    int64_t place = carried_[k].place >= 0 ? 1 : 0;
    for (Task& task : tasks) {
      task.places[k] = place;
      place += task.begun[k];
    }
    sizes[k] = place;
    out[k] = (*lists_)[k].reserve(place);
    if (carried_[k].place >= 0) carried_[k].place = 0;
  }
  parallel_for(n_tasks, n_threads_, [&](int64_t t, int) {
    tasks[t].counts.resize(out.size());
    fill(records, tasks[t], out);
  });
  join(tasks, out);
  for (int k = 1; k <= layout_.order(); ++k) {
    (*lists_)[k].commit(sizes[k] - (carried_[k].place >= 0 ? 1 : 0));
  }
}

template <int kWords>
void CountSweep<kWords>::finish() {
  for (int k = 1; k <= layout_.order(); ++k) {
    if (carried_[k].place < 0) continue;
    close((*lists_)[k].reserve(1), last_, k, carried_[k].adjusted, carried_[k].raw, counts[k]);
    (*lists_)[k].commit(1);
    carried_[k] = {};
  }
}

}  // namespace semproj::lm
