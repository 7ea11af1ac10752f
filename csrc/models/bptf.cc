#include "models/bptf.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "core/aligned.h"
#include "core/parallel.h"
#include "core/philox.h"
#include "kernels/rowsolve.h"
#include "kernels/rowsolve_entries.h"

namespace semproj {
namespace {

constexpr int64_t kSummedCells = 256;  // in T before going to double: their rounding is far below the noise
constexpr double kTaskCells = 512;     // of a task of words, which are a few dozen microseconds
constexpr int64_t kPairs = 1 << 12;    // of a task of single cells
constexpr uint32_t kWordDraws = 0;     // the last part of a counter: what a random number is for

// Rows of `stride` elements by a factor each.
template <class T>
void scale_rows(const T* factors, int64_t n, int64_t stride, T* __restrict__ rows) {
  for (int64_t c = 0; c < n; ++c, rows += stride) {
    const T factor = factors[c];
    for (int64_t i = 0; i < stride; ++i) rows[i] *= factor;
  }
}

// G and s of a list, in double, `stride` apart; the upper triangle of G. Rows that are padded have room for
// the cell's value behind the vector: s is then a column of their Gram matrix, and costs nothing.
template <class T>
class ListSums {
 public:
  ListSums(const T* vectors, int64_t d, int64_t stride, Isa isa)
      : vectors_(vectors),
        d_(d),
        stride_(stride),
        tables_(dense_table<T>(isa)),
        block_(aligned_array<T>(static_cast<size_t>(kSummedCells * stride))),
        partial_(aligned_array<T>(static_cast<size_t>(stride))),
        gram_(aligned_array<double>(static_cast<size_t>(stride * stride))),
        sum_(static_cast<size_t>(stride)),
        weighted_(static_cast<size_t>(kSummedCells)) {}

  // Over cells [begin, end) of the lists.
  void add_up(const WordLists<T>& lists, int64_t begin, int64_t end) {
    std::fill_n(gram_.get(), stride_ * stride_, 0.0);
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (int64_t at = begin; at < end; at += kSummedCells) {
      const int64_t n = std::min(kSummedCells, end - at);
      tables_.rows.gather(vectors_, stride_, lists.words + at, n, block_.get());
      if (d_ < stride_) {
        for (int64_t c = 0; c < n; ++c) block_[c * stride_ + d_] = lists.values[at + c];
      }
      if (lists.roots != nullptr) scale_rows(lists.roots + at, n, stride_, block_.get());
      tables_.rows.column_gram(block_.get(), n, stride_, d_, 1.0, gram_.get());
      patience_.spend(n * stride_ * stride_ / 16);
      if (d_ < stride_) continue;
      const T* values = lists.values + at;
      if (lists.roots != nullptr) {
        for (int64_t c = 0; c < n; ++c) weighted_[c] = lists.roots[at + c] * values[c];
        values = weighted_.data();
      }
      tables_.rows.combine(values, block_.get(), n, stride_, partial_.get());
      for (int64_t i = 0; i < d_; ++i) sum_[i] += static_cast<double>(partial_[i]);
    }
    if (d_ < stride_) {
      for (int64_t i = 0; i < d_; ++i) sum_[i] = gram_row(i)[d_];
    }
  }

  const double* gram_row(int64_t i) const { return gram_.get() + i * stride_; }
  double gram(int64_t i, int64_t j) const { return i <= j ? gram_row(i)[j] : gram_row(j)[i]; }
  const double* sum() const { return sum_.data(); }

 private:
  const T* vectors_;
  int64_t d_, stride_;
  const simd::DenseTable<T>& tables_;
  AlignedArray<T> block_, partial_;
  AlignedArray<double> gram_;
  std::vector<double> sum_;
  std::vector<T> weighted_;
  Patience patience_;
};

template <class T>
class WordDrawer {
 public:
  WordDrawer(const MatrixView<T>& vectors, const WordLists<T>& lists, const WordConditional& shared,
             int64_t d, const Draw& draw)
      : vectors_(vectors),
        lists_(lists),
        shared_(shared),
        draw_(draw),
        d_(d),
        stride_(vectors.stride),
        wide_(dense_table<double>(draw.isa)),
        sums_(vectors.data, d, vectors.stride, draw.isa),
        system_(aligned_array<double>(static_cast<size_t>(stride_ * stride_))),
        half_(static_cast<size_t>(d * d)),
        right_(static_cast<size_t>(stride_)),
        least_(static_cast<size_t>(stride_), 0.0) {}

  // False when the word's system is not positive definite.
  bool draw(int64_t word) {
    for (int64_t i = 0; i < d_; ++i) {
      std::copy(shared_.precision + i * d_ + i, shared_.precision + (i + 1) * d_,
                system_.get() + i * stride_ + i);
    }
    std::copy_n(shared_.precision_mean, d_, right_.begin());
    for (int64_t list = 0; list < lists_.n_lists; ++list) {
      const int64_t* bounds = lists_.indptr + word * lists_.n_lists + list;
      if (bounds[0] == bounds[1]) continue;
      sums_.add_up(lists_, bounds[0], bounds[1]);
      const double* map = shared_.maps + list * d_ * d_;
      if (shared_.diagonal[list]) {
        add_scaled(map);
      } else {
        add_mapped(map);
      }
    }
    if (wide_.systems.factor(system_.get(), d_, stride_, least_.data()) < d_) return false;
    // With the precision U'U: U^-1 (U'^-1 b + z) has the mean (U'U)^-1 b and the covariance (U'U)^-1.
    wide_.systems.solve_forward(system_.get(), d_, stride_, right_.data());
    for (int64_t i = 0; i < d_; i += 2) {
      const auto pair = philox_normals(
          draw_.seed, {static_cast<uint32_t>(word), draw_.sweep, static_cast<uint32_t>(i), kWordDraws});
      right_[i] += pair[0];
      if (i + 1 < d_) right_[i + 1] += pair[1];
    }
    wide_.systems.solve_backward(system_.get(), d_, stride_, right_.data());
    T* into = vectors_.row(word);
    for (int64_t i = 0; i < d_; ++i) into[i] = static_cast<T>(right_[i]);
    return true;
  }

 private:
  // alpha diag(p) G diag(p), alpha diag(p) s
  void add_scaled(const double* map) {
    for (int64_t i = 0; i < d_; ++i) {
      const double left = shared_.alpha * map[i * (d_ + 1)];
      const double* gram = sums_.gram_row(i);
      double* row = system_.get() + i * stride_;
      for (int64_t j = i; j < d_; ++j) row[j] += left * map[j * (d_ + 1)] * gram[j];
      right_[i] += left * sums_.sum()[i];
    }
  }

  // alpha M G M', alpha M s
  void add_mapped(const double* map) {
    std::fill(half_.begin(), half_.end(), 0.0);  // M G
    for (int64_t i = 0; i < d_; ++i) {
      for (int64_t k = 0; k < d_; ++k) {
        const double m = map[i * d_ + k];
        for (int64_t j = 0; j < d_; ++j) half_[i * d_ + j] += m * sums_.gram(k, j);
        right_[i] += shared_.alpha * m * sums_.sum()[k];
      }
    }
    for (int64_t i = 0; i < d_; ++i) {
      for (int64_t j = i; j < d_; ++j) {
        double product = 0;
        for (int64_t k = 0; k < d_; ++k) product += half_[i * d_ + k] * map[j * d_ + k];
        system_[i * stride_ + j] += shared_.alpha * product;
      }
    }
  }

  const MatrixView<T>& vectors_;
  const WordLists<T>& lists_;
  const WordConditional& shared_;
  const Draw& draw_;
  int64_t d_, stride_;
  const simd::DenseTable<double>& wide_;
  ListSums<T> sums_;
  AlignedArray<double> system_;
  std::vector<double> half_, right_, least_;
};

// Where tasks of about equal work begin among the words of a class, and the end.
template <class T>
std::vector<int64_t> tasks_of(const WordLists<T>& lists, const int32_t* words, int64_t begin, int64_t end,
                              int64_t d) {
  const double fixed = static_cast<double>(d) / 3;  // factoring a system, in cells
  std::vector<int64_t> tasks{begin};
  double cost = 0;
  for (int64_t at = begin; at < end; ++at) {
    const int64_t* bounds = lists.indptr + words[at] * lists.n_lists;
    cost += static_cast<double>(bounds[lists.n_lists] - bounds[0]) + fixed;
    if (cost >= kTaskCells || at + 1 == end) {
      tasks.push_back(at + 1);
      cost = 0;
    }
  }
  return tasks;
}

}  // namespace

template <class T>
int64_t draw_words(const MatrixView<T>& vectors, const WordLists<T>& lists, const WordConditional& shared,
                   const int32_t* words, const int64_t* bounds, int64_t n_classes, const Draw& draw) {
  std::vector<std::unique_ptr<WordDrawer<T>>> workers(static_cast<size_t>(draw.n_threads));
  std::atomic<int64_t> failed{-1};
  for (int64_t c = 0; c < n_classes && failed < 0; ++c) {
    const auto tasks = tasks_of(lists, words, bounds[c], bounds[c + 1], vectors.cols);
    parallel_for(static_cast<int64_t>(tasks.size()) - 1, draw.n_threads, [&](int64_t task, int worker) {
      auto& mine = workers[static_cast<size_t>(worker)];
      if (!mine) mine = std::make_unique<WordDrawer<T>>(vectors, lists, shared, vectors.cols, draw);
      for (int64_t at = tasks[static_cast<size_t>(task)]; at < tasks[static_cast<size_t>(task) + 1]; ++at) {
        if (!mine->draw(words[at])) failed = words[at];
      }
    });
  }
  return failed;
}

template <class T>
void list_grams(const MatrixView<const T>& vectors, const WordLists<T>& lists, int64_t list, int64_t begin,
                const MatrixView<double>& grams, const MatrixView<double>& sums, int n_threads, Isa isa) {
  constexpr int64_t kWords = 16;
  const int64_t d = vectors.cols;
  parallel_for(block_count(grams.rows, kWords), n_threads, [&](int64_t task, int) {
    ListSums<T> found(vectors.data, d, vectors.stride, isa);
    const Block mine = block_at(grams.rows, kWords, task);
    for (int64_t r = mine.begin; r < mine.end; ++r) {
      const int64_t* bounds = lists.indptr + (begin + r) * lists.n_lists + list;
      found.add_up(lists, bounds[0], bounds[1]);
      double* into = grams.row(r);
      for (int64_t i = 0; i < d; ++i) into = std::copy(found.gram_row(i) + i, found.gram_row(i) + d, into);
      std::copy_n(found.sum(), d, sums.row(r));
    }
  });
}

template <class T>
void cell_sums(const MatrixView<const T>& vectors, const int32_t* rows, const int32_t* cols, const T* values,
               const T* roots, int64_t n, double* gram, double* sum, int n_threads, Isa isa) {
  constexpr int64_t kParts = 16;  // summed one by one, so that the sum does not depend on threads
  const int64_t d = vectors.cols, stride = vectors.stride;
  const simd::DenseTable<T>& tables = dense_table<T>(isa);
  std::vector<double> grams(static_cast<size_t>(kParts * stride * stride), 0.0);
  std::vector<double> sums(static_cast<size_t>(kParts * stride), 0.0);
  parallel_for(kParts, n_threads, [&](int64_t part, int) {
    const AlignedArray<T> block = aligned_array<T>(static_cast<size_t>(kSummedCells * stride));
    std::vector<T> partial(static_cast<size_t>(stride)), weighted(static_cast<size_t>(kSummedCells));
    const int64_t begin = n * part / kParts, end = n * (part + 1) / kParts;
    for (int64_t at = begin; at < end; at += kSummedCells) {
      const int64_t here = std::min(kSummedCells, end - at);
      for (int64_t c = 0; c < here; ++c) {
        const T *left = vectors.row(rows[at + c]), *right = vectors.row(cols[at + c]);
        T* into = block.get() + c * stride;
        for (int64_t i = 0; i < stride; ++i) into[i] = left[i] * right[i];
        if (d < stride) into[d] = values[at + c];  // as in ListSums
      }
      if (roots != nullptr) scale_rows(roots + at, here, stride, block.get());
      tables.rows.column_gram(block.get(), here, stride, d, 1.0, grams.data() + part * stride * stride);
      check_interrupt();
      if (d < stride) continue;
      for (int64_t c = 0; c < here; ++c) {
        weighted[c] = roots != nullptr ? roots[at + c] * values[at + c] : values[at + c];
      }
      tables.rows.combine(weighted.data(), block.get(), here, stride, partial.data());
      for (int64_t i = 0; i < d; ++i) sums[part * stride + i] += static_cast<double>(partial[i]);
    }
    if (d < stride) {
      const double* found = grams.data() + part * stride * stride;
      for (int64_t i = 0; i < d; ++i) sums[part * stride + i] = found[i * stride + d];
    }
  });
  std::fill_n(gram, d * d, 0.0);
  std::fill_n(sum, d, 0.0);
  for (int64_t part = 0; part < kParts; ++part) {
    for (int64_t i = 0; i < d; ++i) {
      for (int64_t j = i; j < d; ++j) gram[i * d + j] += grams[(part * stride + i) * stride + j];
      sum[i] += sums[part * stride + i];
    }
  }
  for (int64_t i = 0; i < d; ++i) {
    for (int64_t j = 0; j < i; ++j) gram[i * d + j] = gram[j * d + i];
  }
}

template <class T>
void pair_products(const MatrixView<const T>& left, const MatrixView<const T>& right, const int32_t* rows,
                   const int32_t* cols, int64_t n, T* out, int n_threads, Isa isa) {
  const simd::DenseTable<T>& tables = dense_table<T>(isa);
  parallel_for(block_count(n, kPairs), n_threads, [&](int64_t task, int) {
    const Block mine = block_at(n, kPairs, task);
    for (int64_t c = mine.begin; c < mine.end; ++c) {
      tables.rows.products(left.row(rows[c]), 1, left.cols, right.row(cols[c]), out + c);
    }
  });
}

template <class T>
Residuals residual_sums(const MatrixView<const T>& left, const MatrixView<const T>& right,
                        const int32_t* rows, const int32_t* cols, const T* values, const T* roots, int64_t n,
                        int n_threads, Isa isa) {
  const simd::DenseTable<T>& tables = dense_table<T>(isa);
  std::vector<Residuals> parts(static_cast<size_t>(block_count(n, kPairs)));  // added in their order
  parallel_for(block_count(n, kPairs), n_threads, [&](int64_t task, int) {
    const Block mine = block_at(n, kPairs, task);
    Residuals here{0, 0};
    for (int64_t c = mine.begin; c < mine.end; ++c) {
      T product;
      tables.rows.products(left.row(rows[c]), 1, left.cols, right.row(cols[c]), &product);
      const auto residual = static_cast<double>(values[c] - product);
      const double weighted = roots != nullptr ? static_cast<double>(roots[c]) * residual : residual;
      here.squares += weighted * weighted, here.sizes += std::abs(residual);
    }
    parts[static_cast<size_t>(task)] = here;
  });
  Residuals all{0, 0};
  for (const Residuals& each : parts) all.squares += each.squares, all.sizes += each.sizes;
  return all;
}

#define SEMPROJ_INSTANTIATE(T)                                                                             \
  template int64_t draw_words(const MatrixView<T>&, const WordLists<T>&, const WordConditional&,           \
                              const int32_t*, const int64_t*, int64_t, const Draw&);                       \
  template void list_grams(const MatrixView<const T>&, const WordLists<T>&, int64_t, int64_t,              \
                           const MatrixView<double>&, const MatrixView<double>&, int, Isa);                \
  template void cell_sums(const MatrixView<const T>&, const int32_t*, const int32_t*, const T*, const T*,  \
                          int64_t, double*, double*, int, Isa);                                            \
  template void pair_products(const MatrixView<const T>&, const MatrixView<const T>&, const int32_t*,      \
                              const int32_t*, int64_t, T*, int, Isa);                                      \
  template Residuals residual_sums(const MatrixView<const T>&, const MatrixView<const T>&, const int32_t*, \
                                   const int32_t*, const T*, const T*, int64_t, int, Isa);
SEMPROJ_INSTANTIATE(float)
SEMPROJ_INSTANTIATE(double)
#undef SEMPROJ_INSTANTIATE

}  // namespace semproj
