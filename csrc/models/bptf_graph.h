#pragma once
// Which words share an observed cell, and classes of words that share none.
//
// A cell (i, j) of a symmetric slice is in a list of both words; one of an asymmetric slice is in a list of
// its row and in another list of its column, because the two words play different parts in it. Two words of a
// cell may not be drawn at the same moment. Greedy colouring in the order of falling degree puts every word
// in the first class that has none of its neighbours: at most one more than the largest degree, in practice a
// few dozen classes. Time and memory are linear in the cells; both are done anew whenever cells change.

#include <cstdint>
#include <vector>

namespace semproj {

// Cells of one slice, and the lists that their rows and their columns have them in.
template <class T>
struct Cells {
  const int32_t* rows;
  const int32_t* cols;
  const T* values;
  int64_t n;
  int64_t row_list, col_list;  // the same: a symmetric slice
  const T* roots = nullptr;    // of the precisions of the cells, over alpha; none: all are 1
};

// Neighbours of each word in each list, in the order of the cells: list l of word i is
// [indptr[i * n_lists + l], indptr[i * n_lists + l + 1]).
template <class T>
struct NeighborLists {
  std::vector<int64_t> indptr;
  std::vector<int32_t> words;
  std::vector<T> values;
  std::vector<T> roots;  // empty if no slice has any
};

// Words must be in range.
template <class T>
NeighborLists<T> neighbor_lists(const std::vector<Cells<T>>& slices, int64_t n_words, int64_t n_lists,
                                int n_threads);

// Words by class, and where each class begins, and the end.
struct WordClasses {
  std::vector<int32_t> words;
  std::vector<int64_t> bounds;
};

// `indptr` (n_words + 1) bounds the neighbours of a word in all its lists. The relation must be symmetric.
WordClasses color_classes(const int64_t* indptr, const int32_t* neighbors, int64_t n_words);

// Pairs of different words, each drawn by itself: pair c is a function of (seed, sweep, slice, c), and the
// same one may come twice. Words are out of `candidates`, in either order or with the smaller one first. A
// pair (i, j) whose key i * n_words + j is among the sorted `excluded` ones is drawn again, up to 32 times,
// and then left out.
struct PairDraw {
  const int32_t* candidates;
  int64_t n_candidates, n_words;
  bool ordered;
  const int64_t* excluded;
  int64_t n_excluded;
  uint64_t seed;
  uint32_t sweep, slice;
};

struct WordPairs {
  std::vector<int32_t> rows, cols;

  bool operator==(const WordPairs&) const = default;
};

WordPairs draw_pairs(const PairDraw& draw, int64_t n, int n_threads);

}  // namespace semproj
