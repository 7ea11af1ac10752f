#include "lm/history_forest.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

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

int bits_for(int64_t n) {  // of numbers below n
  return std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(n, 1) - 1))));
}

// Sentences one after another, each behind n - 1 begins and with its end.
struct Stream {
  std::vector<int32_t> words;
  std::vector<uint32_t> tokens;  // those that are predicted, by tree
  std::vector<int64_t> trees;    // where each tree's begin

  template <class TreeOf>
  Stream(const ClassText& text, int64_t n_trees, const TreeOf& tree_of) {
    const auto before = static_cast<size_t>(text.order - 1), n = text.starts.size() - 1;
    words.reserve(text.ids.size() + n * (before + 1));
    if (words.capacity() > std::numeric_limits<uint32_t>::max()) {
      throw std::length_error("sentences: expected fewer than 2^32 words");
    }
    Patience patience;
    for (size_t s = 0; s < n; ++s) {
      words.insert(words.end(), before, text.begin);
      for (auto i = static_cast<size_t>(text.starts[s]); i < static_cast<size_t>(text.starts[s + 1]); ++i) {
        words.push_back(text.words[static_cast<size_t>(text.ids[i])]);
      }
      words.push_back(text.end);
      patience.spend(2 * (text.starts[s + 1] - text.starts[s] + text.order));
    }
    trees.assign(static_cast<size_t>(n_trees) + 1, 0);
    for_each_token(text, [&](size_t at) { ++trees[static_cast<size_t>(tree_of(words.data() + at)) + 1]; });
    std::partial_sum(trees.begin(), trees.end(), trees.begin());
    tokens.resize(static_cast<size_t>(trees.back()));
    std::vector<int64_t> next(trees.begin(), trees.end() - 1);
    for_each_token(text, [&](size_t at) {
      tokens[static_cast<size_t>(next[static_cast<size_t>(tree_of(words.data() + at))]++)] =
          static_cast<uint32_t>(at);
    });
  }

  template <class Visit>
  void for_each_token(const ClassText& text, const Visit& visit) const {
    Patience patience;
    size_t at = 0;
    for (size_t s = 0; s + 1 < text.starts.size(); ++s) {
      at += static_cast<size_t>(text.order - 1);
      const auto length = static_cast<size_t>(text.starts[s + 1] - text.starts[s]) + 1;
      for (const size_t end = at + length; at < end; ++at) visit(at);
      patience.spend(static_cast<int64_t>(8 * length));
    }
  }
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

template <class T>
void append(std::vector<T>& all, std::vector<T>& part, T shift = 0) {
  for (const T each : part) all.push_back(static_cast<T>(each + shift));
  part = {};
}

// Takes the levels of one tree, which it empties.
void append_tree(HistoryForest& forest, std::vector<HistoryLevel>& levels, size_t first_shared,
                 int64_t root) {
  std::vector<int64_t> contexts_before;
  for (const HistoryLevel& each : forest.levels) contexts_before.push_back(each.n_contexts());
  for (size_t d = 0; d < levels.size(); ++d) {
    HistoryLevel &all = forest.levels[d], &part = levels[d];
    if (d + 1 < levels.size()) {
      if (!part.children.empty()) part.children.erase(part.children.begin());
      append(all.children, part.children, all.children.back());
    }
    append(all.contexts, part.contexts, contexts_before[d]);
    part.starts.erase(part.starts.begin());
    append(all.starts, part.starts, all.starts.back());
    const bool is_first = d == 0 || d == first_shared;
    append(all.parents, part.parents, is_first ? root : contexts_before[d - 1]);
    append(all.symbols, part.symbols);
    append(all.labels, part.labels);
    append(all.counts, part.counts);
  }
}

struct Plan {
  Fields fields;
  size_t first_shared;
  bool has_root;
  int64_t n_trees;
  bool labels_of_tree;  // whether each tree has labels of its own
};

template <class LabelsOf, class KeyOf>
HistoryForest build(const ClassText& text, const Stream& stream, const Plan& plan, const LabelsOf& labels_of,
                    const KeyOf& key_of, int n_threads) {
  const auto n = static_cast<size_t>(plan.n_trees);
  std::vector<TreeBuilder> trees;
  for (size_t t = 0; t < n; ++t) {
    const auto root = static_cast<int32_t>(t);
    trees.emplace_back(plan.fields, plan.first_shared, plan.has_root, root, labels_of(root));
  }
  HistoryForest forest;
  forest.largest_first.resize(n);
  std::iota(forest.largest_first.begin(), forest.largest_first.end(), 0);
  const auto size = [&](int64_t t) {
    return stream.trees[static_cast<size_t>(t) + 1] - stream.trees[static_cast<size_t>(t)];
  };
  std::stable_sort(forest.largest_first.begin(), forest.largest_first.end(),
                   [&](int64_t a, int64_t b) { return size(a) > size(b); });
  parallel_for(plan.n_trees, n_threads, [&](int64_t task, int) {
    const auto t = static_cast<size_t>(forest.largest_first[static_cast<size_t>(task)]);
    Patience patience;
    std::vector<Key> keys;
    keys.reserve(static_cast<size_t>(size(static_cast<int64_t>(t))));
    for (auto i = static_cast<size_t>(stream.trees[t]); i < static_cast<size_t>(stream.trees[t + 1]); ++i) {
      keys.push_back(key_of(stream.words.data() + stream.tokens[i]));
      patience.spend(20);
    }
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
      patience.spend(2);
      return a < b;
    });
    trees[t].build(keys);
  });
  forest.levels.resize(plan.fields.size() - 1 + (plan.has_root ? 1 : 0));
  for (HistoryLevel& level : forest.levels) {
    level.starts.assign(1, 0);
    if (&level != &forest.levels.back()) level.children.assign(1, 0);
  }
  if (!plan.labels_of_tree) forest.label_counts.assign(static_cast<size_t>(labels_of(0)), 0);
  Patience patience;
  for (size_t t = 0; t < n; ++t) {
    TreeBuilder& tree = trees[t];
    HistoryTree place{};
    const auto n_labels = static_cast<int64_t>(tree.label_counts.size());
    const auto level_1_nodes = [&] {
      const HistoryLevel& level = forest.levels[0];
      if (!level.contexts.empty()) return static_cast<int64_t>(level.contexts.size());
      return level.n_contexts();
    };
    if (plan.labels_of_tree) {
      place.labels_begin = static_cast<int64_t>(forest.label_counts.size());
      forest.label_counts.insert(forest.label_counts.end(), tree.label_counts.begin(),
                                 tree.label_counts.end());
    } else {
      for (size_t y = 0; y < tree.label_counts.size(); ++y) forest.label_counts[y] += tree.label_counts[y];
    }
    place.labels_end = place.labels_begin + n_labels;
    place.nodes_begin = level_1_nodes();
    append_tree(forest, tree.levels, plan.first_shared, plan.labels_of_tree ? static_cast<int64_t>(t) : 0);
    place.nodes_end = level_1_nodes();
    forest.trees.push_back(place);
    forest.most_labels = std::max(forest.most_labels, n_labels);
    patience.spend(1 << 16);
  }
  (void)text;
  return forest;
}

// The class of each word.
std::vector<int32_t> classes_of(const ClassText& text) {
  std::vector<int32_t> classes(static_cast<size_t>(text.class_starts.back()));
  for (size_t c = 0; c + 1 < text.class_starts.size(); ++c) {
    std::fill(classes.begin() + text.class_starts[c], classes.begin() + text.class_starts[c + 1],
              static_cast<int32_t>(c));
  }
  return classes;
}

}  // namespace

HistoryForest word_forest(const ClassText& text, int n_threads) {
  const std::vector<int32_t> classes = classes_of(text);
  const int64_t n_classes = text.n_classes();
  const int64_t last_size = text.class_starts.back() - text.class_starts[text.class_starts.size() - 2];
  const auto size = [&](int32_t c) {
    const auto at = static_cast<size_t>(c);
    const int64_t all = text.class_starts[at + 1] - text.class_starts[at];
    return c + 1 == n_classes ? last_size - text.n_unpredicted : all;
  };
  int64_t largest = 1;
  for (int32_t c = 0; c < n_classes; ++c) largest = std::max(largest, size(c));
  const int word_bits = bits_for(text.class_starts.back()), label_bits = bits_for(largest);
  std::vector<int> bits(static_cast<size_t>(text.order - 1), word_bits);
  bits.push_back(label_bits);
  const Stream stream(text, n_classes, [&](const int32_t* w) { return classes[static_cast<size_t>(*w)]; });
  // All levels have contexts of their own: the first one that may be shared is behind them.
  const Plan plan{Fields(bits), static_cast<size_t>(text.order), false, n_classes, true};
  return build(
      text, stream, plan, size,
      [&](const int32_t* w) {
        Key key;
        for (int i = 1; i < text.order; ++i) key.push(static_cast<uint64_t>(w[-i]), word_bits);
        const int64_t start = text.class_starts[static_cast<size_t>(classes[static_cast<size_t>(*w)])];
        key.push(static_cast<uint64_t>(*w - start), label_bits);
        return key;
      },
      n_threads);
}

HistoryForest class_forest(const ClassText& text, int n_threads) {
  const std::vector<int32_t> classes = classes_of(text);
  const int word_bits = bits_for(text.class_starts.back()), class_bits = bits_for(text.n_classes());
  std::vector<int> bits(static_cast<size_t>(text.order - 2), class_bits);
  bits.insert(bits.end(), static_cast<size_t>(text.order - 1), word_bits);
  bits.push_back(class_bits);
  const Stream stream(text, text.n_classes(),
                      [&](const int32_t* w) { return classes[static_cast<size_t>(w[-1])]; });
  const Plan plan{Fields(bits), static_cast<size_t>(text.order - 1), true, text.n_classes(), false};
  return build(
      text, stream, plan, [&](int32_t) { return text.n_classes(); },
      [&](const int32_t* w) {
        Key key;
        for (int i = 2; i < text.order; ++i) {
          key.push(static_cast<uint64_t>(classes[static_cast<size_t>(w[-i])]), class_bits);
        }
        for (int i = 1; i < text.order; ++i) key.push(static_cast<uint64_t>(w[-i]), word_bits);
        key.push(static_cast<uint64_t>(classes[static_cast<size_t>(*w)]), class_bits);
        return key;
      },
      n_threads);
}

}  // namespace semproj::lm
