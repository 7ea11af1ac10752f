#pragma once
// One tree of a forest of histories, from the sorted keys of its tokens.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "lm/history_forest.h"

namespace semproj::lm::histories {

// What is left of a token to sort by: up to 128 bits.
struct Key {
  uint64_t high = 0, low = 0;

  void push(uint64_t value, int bits) {
    high = high << bits | low >> (64 - bits);
    low = low << bits | value;
  }
  auto operator<=>(const Key&) const = default;
};

// Cuts fields out of keys. Fields are numbered from the first one pushed.
class Fields {
 public:
  explicit Fields(std::vector<int> bits) : bits_(std::move(bits)), shifts_(bits_.size()) {
    int shift = 0;
    for (size_t i = bits_.size(); i-- > 0; shift += bits_[i]) shifts_[i] = shift;
    if (shift > 128)
      throw std::invalid_argument("order: too many words and classes for a model of this order");
  }

  size_t size() const { return bits_.size(); }
  int bits(size_t i) const { return bits_[i]; }
  int32_t get(const Key& key, size_t i) const {
    const int shift = shifts_[i];
    uint64_t value = shift >= 64 ? key.high >> (shift - 64) : key.low >> shift;
    if (shift > 0 && shift < 64) value |= key.high << (64 - shift);
    return static_cast<int32_t>(value & ((uint64_t{1} << bits_[i]) - 1));
  }

 private:
  std::vector<int> bits_, shifts_;
};

// How often each label comes in a node that is open.
struct Labels {
  std::vector<int32_t> counts, found;

  void add(int32_t label, int32_t n) {
    if (counts[static_cast<size_t>(label)] == 0) found.push_back(label);
    counts[static_cast<size_t>(label)] += n;
  }
};

// One entry of a level whose contexts several nodes have.
struct Entry {
  uint64_t context;
  int32_t label, count;
};

// One tree from its keys, whose fields are the levels from 1 or 2 on, and the label.
class TreeBuilder {
 public:
  // Levels from `first_shared` on, but for the leaves, have contexts that nodes share: of them the fields are
  // words, and a context is the words from there on. `root` is the symbol of level 1 if keys do not have it.
  TreeBuilder(const Fields& fields, size_t first_shared, bool has_root, int32_t root, int64_t n_labels)
      : fields_(fields),
        first_shared_(first_shared),
        root_(has_root ? 1 : 0),
        n_levels_(fields.size() - 1 + root_),
        symbol_(root),
        levels(n_levels_),
        open_(n_levels_),
        entries_(n_levels_),
        node_keys_(n_levels_),
        nodes_(n_levels_, 0) {
    for (Labels& each : open_) each.counts.assign(static_cast<size_t>(n_labels), 0);
    label_counts.assign(static_cast<size_t>(n_labels), 0);
    for (HistoryLevel& each : levels) each.starts.assign(1, 0);
  }

  void build(const std::vector<Key>& keys) {
    Patience patience;
    for (size_t i = 0, next = 0; i < keys.size(); i = next) {
      while (next < keys.size() && keys[next] == keys[i]) ++next;
      const size_t same = i == 0 ? 0 : levels_in_common(keys[i - 1], keys[i]);
      if (i > 0) close_nodes(same);
      for (size_t d = same; d < n_levels_; ++d) open_node(d, keys[i]);
      const auto n = static_cast<int32_t>(next - i);
      const int32_t label = fields_.get(keys[i], fields_.size() - 1);
      for (Labels& each : open_) each.add(label, n);
      label_counts[static_cast<size_t>(label)] += n;
      patience.spend(static_cast<int64_t>(20 * n_levels_));
    }
    if (!keys.empty()) close_nodes(0);
    for (size_t d = 0; d + 1 < n_levels_; ++d) {
      levels[d].children.push_back(n_nodes(d + 1));
      if (is_shared(d)) merge_contexts(d);
    }
    set_parents();
    node_keys_ = context_keys_ = {};
  }

 private:
  const Fields& fields_;
  size_t first_shared_, root_, n_levels_;
  int32_t symbol_;

 public:
  std::vector<HistoryLevel> levels;
  std::vector<int64_t> label_counts;

 private:
  bool is_shared(size_t d) const { return d >= first_shared_ && d + 1 < n_levels_; }
  int64_t n_nodes(size_t d) const { return nodes_[d]; }

  size_t levels_in_common(const Key& a, const Key& b) const {
    size_t d = root_;
    while (d < n_levels_ && fields_.get(a, d - root_) == fields_.get(b, d - root_)) ++d;
    return d;
  }

  void open_node(size_t d, const Key& key) {
    ++nodes_[d];
    if (d + 1 < n_levels_) levels[d].children.push_back(nodes_[d + 1]);
    if (d >= first_shared_) {
      uint64_t words = 0;
      for (size_t e = first_shared_; e <= d; ++e) {
        words = words << fields_.bits(e - root_) | static_cast<uint64_t>(fields_.get(key, e - root_));
      }
      node_keys_[d].push_back(words);
    }
    levels[d].symbols.push_back(d < root_ ? symbol_ : fields_.get(key, d - root_));
  }

  void close_nodes(size_t from) {
    for (size_t d = from; d < n_levels_; ++d) {
      Labels& open = open_[d];
      std::sort(open.found.begin(), open.found.end());
      for (const int32_t label : open.found) {
        int32_t& count = open.counts[static_cast<size_t>(label)];
        if (is_shared(d)) {
          entries_[d].push_back({node_keys_[d].back(), label, count});
        } else {
          levels[d].labels.push_back(label);
          levels[d].counts.push_back(count);
        }
        count = 0;
      }
      open.found.clear();
      if (!is_shared(d)) levels[d].starts.push_back(static_cast<int64_t>(levels[d].labels.size()));
    }
  }

  // The contexts of nodes, by their words, and their features.
  void merge_contexts(size_t d) {
    HistoryLevel& level = levels[d];
    std::vector<Entry>& entries = entries_[d];
    Patience patience;
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      patience.spend(4);
      return a.context != b.context ? a.context < b.context : a.label < b.label;
    });
    std::vector<uint64_t>& contexts = context_keys_[d];
    for (size_t i = 0; i < entries.size(); ++i) {
      const bool is_new = contexts.empty() || contexts.back() != entries[i].context;
      if (is_new && !contexts.empty()) level.starts.push_back(static_cast<int64_t>(level.labels.size()));
      if (is_new) contexts.push_back(entries[i].context);
      if (is_new || level.labels.back() != entries[i].label) {
        level.labels.push_back(entries[i].label);
        level.counts.push_back(0);
      }
      level.counts.back() += entries[i].count;
      patience.spend(8);
    }
    if (!contexts.empty()) level.starts.push_back(static_cast<int64_t>(level.labels.size()));
    level.contexts.reserve(node_keys_[d].size());
    for (const uint64_t key : node_keys_[d]) {
      level.contexts.push_back(std::lower_bound(contexts.begin(), contexts.end(), key) - contexts.begin());
      patience.spend(50);
    }
    level.symbols.clear();
    const uint64_t mask = (uint64_t{1} << fields_.bits(d - root_)) - 1;
    for (const uint64_t key : contexts) level.symbols.push_back(static_cast<int32_t>(key & mask));
    entries = {};
  }

  void set_parents() {
    Patience patience;
    for (size_t d = 0; d < n_levels_; ++d) {
      HistoryLevel& level = levels[d];
      std::vector<int64_t>& parents = level.parents;
      if (d == 0 || d == first_shared_) {
        parents.assign(level.symbols.size(), 0);
      } else if (d > first_shared_) {
        const std::vector<uint64_t>& above = context_keys_[d - 1];
        for (const uint64_t key : is_shared(d) ? context_keys_[d] : node_keys_[d]) {
          const uint64_t wanted = key >> fields_.bits(d - root_);
          parents.push_back(std::lower_bound(above.begin(), above.end(), wanted) - above.begin());
          patience.spend(50);
        }
      } else {
        const std::vector<int64_t>& children = levels[d - 1].children;
        for (size_t i = 0; i + 1 < children.size(); ++i) {
          parents.insert(parents.end(), static_cast<size_t>(children[i + 1] - children[i]),
                         static_cast<int64_t>(i));
        }
      }
    }
  }

  std::vector<Labels> open_;
  std::vector<std::vector<Entry>> entries_;
  std::vector<std::vector<uint64_t>> node_keys_, context_keys_ = node_keys_;
  std::vector<int64_t> nodes_;
};

}  // namespace semproj::lm::histories
