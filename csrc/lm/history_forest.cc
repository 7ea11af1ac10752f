#include "lm/history_forest.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/parallel.h"
#include "lm/history_tree.h"

namespace semproj::lm {
namespace {

using namespace histories;

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
      in_stretches(text.starts[s], text.starts[s + 1], [&](int64_t i) {
        words.push_back(text.words[static_cast<size_t>(text.ids[static_cast<size_t>(i)])]);
      });
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
    int64_t at = 0;
    for (size_t s = 0; s + 1 < text.starts.size(); ++s) {
      at += text.order - 1;
      const int64_t length = text.starts[s + 1] - text.starts[s] + 1;
      in_stretches(at, at + length, [&](int64_t i) { visit(static_cast<size_t>(i)); });
      at += length;
      patience.spend(8 * length);
    }
  }
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
HistoryForest build(const Stream& stream, const Plan& plan, const LabelsOf& labels_of, const KeyOf& key_of,
                    int n_threads) {
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
      stream, plan, size,
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
      stream, plan, [&](int32_t) { return text.n_classes(); },
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
