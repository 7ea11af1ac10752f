#pragma once
// The histories of a text, as trees, and the features of an exponential n-gram model that each history has.
//
// A label y after a history h has the probability exp(sum of weights) / Z(h). The weights are those of
// (context, label) for all contexts of h; a feature is there if it came in the text. Contexts of h are nodes
// on the path from a root of the forest to the leaf of h:
//
//   words:    class c, the root of a tree           labels are the words of c, all of which have a feature
//             v c, u v c, ...                       the words before, nearest first; the last one is the leaf
//   classes:  nothing, which all trees share        labels are classes, all of which have a feature
//             c(v), the root of a tree              classes of the words before, nearest first
//             c(u) c(v), ...
//             v                                     words before, nearest first; the last one is the leaf
//             u v, ...
//
// Level 0 is that of all labels. From one level to the next there are more nodes, and a node of level d < D
// has the children children[i] .. children[i + 1]. Several nodes may have one context: v is below each c(u)
// c(v) that comes before it. Leaves are contexts of their own.

#include <cstdint>
#include <span>
#include <vector>

namespace semproj::lm {

struct HistoryLevel {
  std::vector<int64_t> children;  // one more than nodes; of leaves empty
  std::vector<int64_t> contexts;  // of each node; empty where node i has context i
  // Of contexts:
  std::vector<int64_t> starts;   // one more than contexts: features
  std::vector<int64_t> parents;  // the context without its last word or class: of the level before that is of
                                 // the same kind, or the number of the class, or 0
  std::vector<int32_t> symbols;  // the word or the class that it has more
  // Of features:
  std::vector<int32_t> labels;  // they rise within a context
  std::vector<int32_t> counts;

  int64_t n_contexts() const { return static_cast<int64_t>(starts.size()) - 1; }
};

struct HistoryTree {
  int64_t nodes_begin, nodes_end;    // of level 1
  int64_t labels_begin, labels_end;  // features of level 0
};

struct HistoryForest {
  std::vector<HistoryTree> trees;
  std::vector<int64_t> largest_first;  // the order to take trees in
  std::vector<int64_t> label_counts;   // of features of level 0
  std::vector<HistoryLevel> levels;    // levels[0] is level 1
  int64_t most_labels = 0;             // of a tree
};

// A text for a model of order n. Words are numbered so that those of a class follow each other; those of
// class c are [class_starts[c], class_starts[c + 1]), and words[w] is the number of word w of the text.
struct ClassText {
  std::span<const int64_t> starts;  // sentence s is ids[starts[s] .. starts[s + 1])
  std::span<const int32_t> ids;
  std::span<const int32_t> words;
  std::span<const int64_t> class_starts;
  int32_t begin, end;     // numbers, as they are in `words`, of what comes before a sentence and at its end
  int32_t n_unpredicted;  // how many words, the last of the last class, are never predicted
  int order;

  int64_t n_classes() const { return static_cast<int64_t>(class_starts.size()) - 1; }
};

// Cost: a sort of the tokens of each tree. Memory meanwhile: 8 bytes a token, 16 for those of trees at work.
HistoryForest word_forest(const ClassText& text, int n_threads);
HistoryForest class_forest(const ClassText& text, int n_threads);

}  // namespace semproj::lm
