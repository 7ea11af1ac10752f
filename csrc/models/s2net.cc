#include "models/s2net.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/aligned.h"
#include "core/blas.h"
#include "core/parallel.h"
#include "kernels/dispatch.h"

namespace semproj {
namespace {

constexpr int64_t kLargestBlock = 512, kSmallestBlock = 64;
template <class T>
constexpr T kNoCosine = T(-1e30);  // its exponential is 0
constexpr int64_t kTasks = 16;     // of a round, if there are rows enough

// So large that BLAS is fast, so small that threads have work: by the number of pairs alone.
int64_t block_size(int64_t pairs) {
  const int64_t even = block_count(pairs, kTasks);
  return std::clamp<int64_t>((even + 15) / 16 * 16, kSmallestBlock, kLargestBlock);
}

template <class T>
class Blocks {
 public:
  Blocks(const MatrixView<const T>& u, const MatrixView<const T>& v, double scale, const Partners& partners,
         int n_threads)
      : u_(u),
        v_(v),
        partners_(partners),
        scale_(static_cast<T>(scale)),
        size_(block_size(u.rows)),
        count_(block_count(u.rows, size_)),
        n_threads_(n_threads),
        cosines_(aligned_array<T>(static_cast<size_t>(size_ * size_) * n_threads)),
        marks_(static_cast<size_t>(partners.listed.n_cols) * n_threads) {}

  // Calls each(rows, columns, block of cosines, whether it is on the diagonal) for all pairs of blocks; calls
  // that overlap in rows or columns come one after the other, in an order of their own.
  template <class Each>
  void for_each(const Each& each) {
    for (int64_t round = 0; round < count_; ++round) {
      parallel_for(count_, n_threads_, [&](int64_t task, int worker) {
        const int64_t other = (task + round) % count_;
        const Block rows = block_at(u_.rows, size_, task), columns = block_at(u_.rows, size_, other);
        T* cosines = cosines_.get() + static_cast<size_t>(size_ * size_) * worker;
        gemm(false, true, length(rows), length(columns), static_cast<int>(u_.cols), T{1}, u_.row(rows.begin),
             static_cast<int>(u_.stride), v_.row(columns.begin), static_cast<int>(v_.stride), T{0}, cosines,
             static_cast<int>(size_));
        if (partners_.queries != nullptr) {
          leave_out_partners(rows, columns, cosines, marks_.data() + partners_.listed.n_cols * worker);
        }
        each(rows, columns, simd::ContrastBlock<T>{cosines, length(rows), length(columns), size_, scale_},
             task == other);
      });
    }
  }

  static int length(const Block& block) { return static_cast<int>(block.end - block.begin); }

 private:
  // Cosines of a query with documents of its other pairs become those of no effect. Marks are zeros between
  // calls.
  void leave_out_partners(const Block& rows, const Block& columns, T* cosines, char* marks) const {
    const CsrView<int32_t, int32_t>& listed = partners_.listed;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const int32_t *begin = listed.indices + listed.indptr[partners_.queries[i]],
                    *end = listed.indices + listed.indptr[partners_.queries[i] + 1];
      for (const int32_t* document = begin; document < end; ++document) marks[*document] = 1;
      T* row = cosines + (i - rows.begin) * size_;
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        if (marks[partners_.documents[j]] && i != j) row[j - columns.begin] = kNoCosine<T>;
      }
      for (const int32_t* document = begin; document < end; ++document) marks[*document] = 0;
    }
  }

  MatrixView<const T> u_, v_;
  Partners partners_;
  T scale_;
  int64_t size_, count_;
  int n_threads_;
  AlignedArray<T> cosines_;
  std::vector<char> marks_;  // of the documents of a query, for each thread
};

// The gradients of a block of weights, added to those of its rows and columns.
template <class T>
void add_gradients(const simd::ContrastBlock<T>& weights, const Block& rows, const Block& columns,
                   const MatrixView<const T>& u, const MatrixView<const T>& v,
                   const MatrixView<T>& u_gradient, const MatrixView<T>& v_gradient) {
  const auto m = static_cast<int>(weights.rows), n = static_cast<int>(weights.columns),
             k = static_cast<int>(u.cols), stride = static_cast<int>(weights.stride);
  gemm(false, false, m, k, n, T{1}, weights.cosines, stride, v.row(columns.begin), static_cast<int>(v.stride),
       T{1}, u_gradient.row(rows.begin), static_cast<int>(u_gradient.stride));
  gemm(true, false, n, k, m, T{1}, weights.cosines, stride, u.row(rows.begin), static_cast<int>(u.stride),
       T{1}, v_gradient.row(columns.begin), static_cast<int>(v_gradient.stride));
}

template <class T>
void leave_out_pairs(const simd::ContrastBlock<T>& block) {
  for (int64_t i = 0; i < block.rows; ++i) block.cosines[i * block.stride + i] = kNoCosine<T>;
}

template <class T>
void add_columns(const std::vector<T>& block_sums, const Block& columns, std::vector<double>* sums) {
  for (int64_t c = columns.begin; c < columns.end; ++c) {
    (*sums)[static_cast<size_t>(c)] += block_sums[static_cast<size_t>(c - columns.begin)];
  }
}

// What is common to all blocks of one call.
template <class T>
struct Work {
  const MatrixView<const T>&u, &v;
  const Contrast& contrast;
  const MatrixView<T>&u_gradient, &v_gradient;
  const simd::ContrastTable<T>& table;
  std::vector<double> own;  // the cosine of each pair
  std::vector<double> row_sums, column_sums;
  double loss = 0;

  // Pairs are left out of the sums, which they are added to in double: where they have almost all of the
  // share, as they are to have, the rest of it is not the difference of two numbers that are nearly one.
  void softmax(Blocks<T>* blocks) {
    const int64_t m = u.rows;
    blocks->for_each(
        [&](const Block& rows, const Block& columns, const simd::ContrastBlock<T>& block, bool diagonal) {
          if (diagonal) leave_out_pairs(block);
          std::vector<T> sums(static_cast<size_t>(block.columns));
          table.sum(block, row_sums.data() + rows.begin, sums.data());
          add_columns(sums, columns, &column_sums);
        });
    const double forward = contrast.forward / static_cast<double>(m),
                 backward = contrast.backward / static_cast<double>(m);
    std::vector<T> row_factors(static_cast<size_t>(m)), column_factors(static_cast<size_t>(m));
    for (size_t i = 0; i < own.size(); ++i) {
      const double mine = std::exp(contrast.scale * (own[i] - 1));
      loss += forward * std::log1p(row_sums[i] / mine) + backward * std::log1p(column_sums[i] / mine);
      const double of_row = contrast.scale * forward / (row_sums[i] + mine),
                   of_column = contrast.scale * backward / (column_sums[i] + mine);
      row_factors[i] = static_cast<T>(of_row);
      column_factors[i] = static_cast<T>(of_column);
      row_sums[i] *= of_row;
      column_sums[i] *= of_column;
    }
    blocks->for_each(
        [&](const Block& rows, const Block& columns, const simd::ContrastBlock<T>& block, bool diagonal) {
          if (diagonal) leave_out_pairs(block);
          table.softmax(block, row_factors.data() + rows.begin, column_factors.data() + columns.begin);
          add_gradients(block, rows, columns, u, v, u_gradient, v_gradient);
        });
  }

  void logistic(Blocks<T>* blocks) {
    const int64_t m = u.rows;
    if (m == 1) return;
    const double unit = 1 / (static_cast<double>(m) * static_cast<double>(m - 1));
    const T forward = static_cast<T>(contrast.scale * contrast.forward * unit),
            backward = static_cast<T>(contrast.scale * contrast.backward * unit);
    std::vector<T> exponentials(own.size());
    for (size_t i = 0; i < own.size(); ++i) {
      exponentials[i] = static_cast<T>(std::exp(contrast.scale * (own[i] - 1)));
    }
    std::vector<double> losses(own.size());  // of each block of rows, at its first row
    blocks->for_each(
        [&](const Block& rows, const Block& columns, const simd::ContrastBlock<T>& block, bool diagonal) {
          if (diagonal) leave_out_pairs(block);
          std::vector<T> sums(static_cast<size_t>(block.columns));
          losses[static_cast<size_t>(rows.begin)] +=
              table.logistic(block, exponentials.data() + rows.begin, exponentials.data() + columns.begin,
                             forward, backward, row_sums.data() + rows.begin, sums.data());
          add_columns(sums, columns, &column_sums);
          add_gradients(block, rows, columns, u, v, u_gradient, v_gradient);
        });
    for (const double part : losses) loss += part / contrast.scale;
  }
};

template <class T>
double dot(const T* x, const T* y, int64_t n) {
  double part[8] = {};
  int64_t c = 0;
  for (; c + 8 <= n; c += 8) {
    for (int j = 0; j < 8; ++j) part[j] += static_cast<double>(x[c + j]) * y[c + j];
  }
  for (int j = 0; c < n; ++c, ++j) part[j] += static_cast<double>(x[c]) * y[c];
  double sum = 0;
  for (const double p : part) sum += p;
  return sum;
}

constexpr int64_t kRows = 256;  // a task

template <class Each>
void for_each_row(int64_t n, int n_threads, const Each& each) {
  parallel_for(block_count(n, kRows), n_threads, [&](int64_t task, int) {
    const Block block = block_at(n, kRows, task);
    for (int64_t i = block.begin; i < block.end; ++i) each(i);
  });
}

}  // namespace

template <class T>
double contrast_gradient(const MatrixView<const T>& u, const MatrixView<const T>& v, const Contrast& contrast,
                         const MatrixView<T>& u_gradient, const MatrixView<T>& v_gradient, Isa isa,
                         int n_threads) {
  const auto m = static_cast<size_t>(u.rows);
  Work<T> work{u,
               v,
               contrast,
               u_gradient,
               v_gradient,
               dense_table<T>(isa).contrasts,
               std::vector<double>(m),
               std::vector<double>(m),
               std::vector<double>(m)};
  for_each_row(u.rows, n_threads, [&](int64_t i) {
    work.own[static_cast<size_t>(i)] = dot(u.row(i), v.row(i), u.cols);
    std::fill_n(u_gradient.row(i), u.cols, T{});
    std::fill_n(v_gradient.row(i), u.cols, T{});
  });
  Blocks<T> blocks(u, v, contrast.scale, contrast.partners, n_threads);
  contrast.loss == ContrastLoss::softmax ? work.softmax(&blocks) : work.logistic(&blocks);
  // What pulls a pair together.
  for_each_row(u.rows, n_threads, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    const T pull = static_cast<T>(work.row_sums[at] + work.column_sums[at]);
    for (int64_t c = 0; c < u.cols; ++c) {
      u_gradient.row(i)[c] -= pull * v.row(i)[c];
      v_gradient.row(i)[c] -= pull * u.row(i)[c];
    }
  });
  return work.loss;
}

template <class T>
void edge_dots(const MatrixView<const T>& u, const MatrixView<const T>& v, const int64_t* rows,
               const int64_t* columns, int64_t n_edges, double* dots, int n_threads) {
  for_each_row(n_edges, n_threads,
               [&](int64_t e) { dots[e] = dot(u.row(rows[e]), v.row(columns[e]), u.cols); });
}

template <class T>
void smooth_unit_rows(const MatrixView<T>& rows, double floor, T* inverses, int n_threads) {
  for_each_row(rows.rows, n_threads, [&](int64_t i) {
    const double length = std::sqrt(dot<T>(rows.row(i), rows.row(i), rows.cols) + floor * floor);
    // Of what is too short, one over the length is not finite.
    inverses[i] = length >= std::numeric_limits<T>::min() ? static_cast<T>(1 / length) : T{};
    for (int64_t c = 0; c < rows.cols; ++c) rows.row(i)[c] *= inverses[i];
  });
}

template <class T>
void through_unit_rows(const MatrixView<const T>& units, const T* inverses, const MatrixView<T>& gradient,
                       int n_threads) {
  for_each_row(units.rows, n_threads, [&](int64_t i) {
    const T *u = units.row(i), along = static_cast<T>(dot<T>(u, gradient.row(i), units.cols));
    for (int64_t c = 0; c < units.cols; ++c) {
      gradient.row(i)[c] = (gradient.row(i)[c] - along * u[c]) * inverses[i];
    }
  });
}

template <class T>
void adam_rows(const MatrixView<T>& projection, const MatrixView<T>& first, const MatrixView<T>& second,
               const int64_t* rows, const MatrixView<const T>& gradient, const AdamStep& step,
               int n_threads) {
  const auto n = static_cast<double>(step.step);
  const T a = static_cast<T>(step.first_decay), b = static_cast<T>(step.second_decay);
  // Moments begin at zero, which their sums of weights make up for.
  const T rate = static_cast<T>(step.rate / (1 - std::pow(step.first_decay, n))),
          whole = static_cast<T>(1 / (1 - std::pow(step.second_decay, n)));
  for_each_row(gradient.rows, n_threads, [&](int64_t i) {
    const T* g = gradient.row(i);
    T *x = projection.row(rows[i]), *m = first.row(rows[i]), *v = second.row(rows[i]);
    for (int64_t c = 0; c < gradient.cols; ++c) {
      m[c] = a * m[c] + (1 - a) * g[c];
      v[c] = b * v[c] + (1 - b) * g[c] * g[c];
      const T size = std::sqrt(v[c] * whole);
      x[c] -= size > 0 ? rate * m[c] / size : T{};
    }
  });
}

#define SEMPROJ_INSTANTIATE(T)                                                                               \
  template double contrast_gradient(const MatrixView<const T>&, const MatrixView<const T>&, const Contrast&, \
                                    const MatrixView<T>&, const MatrixView<T>&, Isa, int);                   \
  template void edge_dots(const MatrixView<const T>&, const MatrixView<const T>&, const int64_t*,            \
                          const int64_t*, int64_t, double*, int);                                            \
  template void smooth_unit_rows(const MatrixView<T>&, double, T*, int);                                     \
  template void through_unit_rows(const MatrixView<const T>&, const T*, const MatrixView<T>&, int);          \
  template void adam_rows(const MatrixView<T>&, const MatrixView<T>&, const MatrixView<T>&, const int64_t*,  \
                          const MatrixView<const T>&, const AdamStep&, int);
SEMPROJ_INSTANTIATE(float)
SEMPROJ_INSTANTIATE(double)
#undef SEMPROJ_INSTANTIATE

}  // namespace semproj
