#include "models/tucker.h"

#include <algorithm>
#include <vector>

#include "core/blas.h"
#include "core/parallel.h"

namespace semproj {
namespace {

constexpr int64_t kSumChildren = 512;  // added in T before going to double
constexpr int64_t kFewChildren = 8;    // below this a call of BLAS costs more than it saves
constexpr int64_t kPanelColumns = 64;  // of the children, for parents that have many
constexpr int64_t kParents = 32;       // in a task, where they have few

// The part of one parent's sum that one task makes: all children, some columns.
template <class T>
struct Fold {
  const MatrixView<const T>& factor;
  const MatrixView<const T>& children;
  const int64_t* keys;
  Block columns;
  std::vector<T> gathered, product;  // rows of the factor; r x columns
  std::vector<double> sum;

  int width() const { return static_cast<int>(columns.end - columns.begin); }
  const T* child(int64_t c) const { return children.row(c) + columns.begin; }

  // Children one by one, into `to`, whose rows are `stride` apart.
  void add_few(int64_t begin, int64_t end, T* to, int64_t stride) const {
    for (int64_t c = begin; c < end; ++c) {
      const T* weights = factor.row(keys[c]);
      const T* values = child(c);
      for (int64_t r = 0; r < factor.cols; ++r) {
        for (int x = 0; x < width(); ++x) to[r * stride + x] += weights[r] * values[x];
      }
    }
  }

  // At most kSumChildren children: to = beta to + factor' children.
  void multiply(int64_t begin, int64_t end, T beta, T* to, int64_t stride) {
    const auto rank = static_cast<int>(factor.cols), n = static_cast<int>(end - begin);
    gathered.resize(static_cast<size_t>(n) * rank);
    for (int64_t c = begin; c < end; ++c) {
      std::copy_n(factor.row(keys[c]), rank, gathered.data() + (c - begin) * rank);
    }
    gemm(true, false, rank, width(), n, T{1}, gathered.data(), rank, child(begin),
         static_cast<int>(children.stride), beta, to, static_cast<int>(stride));
  }

  void add_many(int64_t begin, int64_t end, T* to, int64_t stride) {
    const size_t size = static_cast<size_t>(factor.cols) * width();
    sum.assign(size, 0.0);
    product.resize(size);
    for (int64_t c = begin; c < end; c += kSumChildren) {
      multiply(c, std::min(end, c + kSumChildren), T{0}, product.data(), width());
      for (size_t i = 0; i < size; ++i) sum[i] += product[i];
      check_interrupt();
    }
    for (int64_t r = 0; r < factor.cols; ++r) {
      for (int x = 0; x < width(); ++x) to[r * stride + x] += static_cast<T>(sum[r * width() + x]);
    }
  }

  void add(int64_t begin, int64_t end, T* to, int64_t stride) {
    if (end - begin < kFewChildren) {
      add_few(begin, end, to, stride);
    } else if (end - begin <= kSumChildren) {
      multiply(begin, end, T{1}, to, stride);
    } else {
      add_many(begin, end, to, stride);
    }
  }
};

}  // namespace

template <class T>
void fold_fibres(const int64_t* offsets, const int64_t* keys, const MatrixView<const T>& factor,
                 const MatrixView<const T>& children, int64_t first_child, const MatrixView<T>& out,
                 int n_threads) {
  const int64_t w = children.cols;
  if (out.rows == 0 || children.rows == 0 || w == 0) return;
  const bool many = children.rows / out.rows >= kSumChildren;
  const int64_t panel = many ? std::min(w, kPanelColumns) : w, panels = block_count(w, panel);
  const int64_t parents = many ? 1 : kParents;
  parallel_for(block_count(out.rows, parents) * panels, n_threads, [&](int64_t task, int) {
    const Block mine = block_at(out.rows, parents, task / panels);
    Fold<T> fold{factor, children, keys, block_at(w, panel, task % panels), {}, {}, {}};
    for (int64_t p = mine.begin; p < mine.end; ++p) {
      const int64_t begin = std::max<int64_t>(offsets[p] - first_child, 0);
      const int64_t end = std::min(offsets[p + 1] - first_child, children.rows);
      if (begin < end) fold.add(begin, end, out.row(p) + fold.columns.begin, w);
    }
  });
}

template void fold_fibres(const int64_t*, const int64_t*, const MatrixView<const float>&,
                          const MatrixView<const float>&, int64_t, const MatrixView<float>&, int);
template void fold_fibres(const int64_t*, const int64_t*, const MatrixView<const double>&,
                          const MatrixView<const double>&, int64_t, const MatrixView<double>&, int);

}  // namespace semproj
