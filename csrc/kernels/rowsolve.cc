#include "kernels/rowsolve.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "core/aligned.h"
#include "core/parallel.h"
#include "kernels/rowsolve_entries.h"
#include "kernels/rowsolve_long.h"
#include "kernels/rowsolve_short.h"

namespace semproj {
namespace {

using simd::kSystems;

constexpr double kTaskCost = 4e6;  // multiply-adds

// Multiply-adds of one row of n entries, the long way and the short way.
double long_cost(double n, double k) {
  return n * k * k / 2 + k * k * k / 6 + 4 * k * k;
}
double short_cost(double n, double k) {
  return n * n * k / 2 + n * n * n / 6 + n * k + k * k / 2;
}

// Rows by falling number of entries, and where tasks of about equal cost begin: long rows one by one, short
// ones in batches that have the same lengths, more or less. How a row is solved depends on its own length
// alone: a task has rows of one kind. Empty rows are not among them.
struct Plan {
  std::vector<int64_t> order;
  int64_t n_long = 0;
  std::vector<int64_t> tasks;  // begin of each, and the end
};

Plan plan_of(const int64_t* indptr, int64_t n_rows, int64_t k, int64_t longest_short) {
  int64_t longest = 0;
  for (int64_t r = 0; r < n_rows; ++r) longest = std::max(longest, indptr[r + 1] - indptr[r]);
  std::vector<int64_t> place(static_cast<size_t>(longest) + 2, 0);  // by falling length
  for (int64_t r = 0; r < n_rows; ++r)
    ++place[static_cast<size_t>(longest - (indptr[r + 1] - indptr[r]) + 1)];
  std::partial_sum(place.begin(), place.end(), place.begin());
  Plan plan;
  plan.order.resize(static_cast<size_t>(place[static_cast<size_t>(longest)]));
  const auto longer_than = [&](int64_t n) {
    return longest > n ? place[static_cast<size_t>(longest - n)] : int64_t{0};
  };
  plan.n_long = longer_than(longest_short);
  const int64_t n_alone = std::max(plan.n_long, longer_than(kSideBySide));
  for (int64_t r = 0; r < n_rows; ++r) {
    const int64_t n = indptr[r + 1] - indptr[r];
    if (n > 0) plan.order[static_cast<size_t>(place[static_cast<size_t>(longest - n)]++)] = r;
  }
  const auto total = static_cast<int64_t>(plan.order.size());
  double cost = 0;
  plan.tasks.push_back(0);
  for (int64_t at = 0; at < total;) {
    const int64_t row = plan.order[static_cast<size_t>(at)];
    const auto n = static_cast<double>(indptr[row + 1] - indptr[row]);
    const bool is_long = at < plan.n_long;
    cost += is_long ? long_cost(n, static_cast<double>(k)) : kSystems * short_cost(n, static_cast<double>(k));
    at = is_long ? at + 1 : std::min(at + kSystems, at < n_alone ? n_alone : total);
    if (cost >= kTaskCost || at == plan.n_long || at == n_alone || at == total) {
      plan.tasks.push_back(at);
      cost = 0;
    }
  }
  return plan;
}

template <class T>
struct Worker {
  LongRows<T> long_rows;
  ShortRows<T> short_rows;
  std::vector<int64_t> left;
};

}  // namespace

int64_t padded(int64_t n_components) {
  return rounded_up(n_components, simd::kRowLanes);
}

template <class T, class Index>
double solve_rows(const CsrView<Index, T>& x, const T* weights, const SharedSystem<T>& shared,
                  const MatrixView<T>& out, const RowSolveOptions& options) {
  const int64_t k = shared.factors.cols;
  int64_t longest_short = options.longest_short < 0 ? k : options.longest_short;
  if (shared.whitened == nullptr) longest_short = 0;
  const Plan plan = plan_of(x.indptr, x.n_rows, k, longest_short);
  for (int64_t r = 0; r < x.n_rows; ++r) {
    if (x.indptr[r] == x.indptr[r + 1]) std::fill_n(out.row(r), k, T{0});
  }
  const auto n_tasks = static_cast<int64_t>(plan.tasks.size()) - 1;
  std::vector<double> values(static_cast<size_t>(n_tasks), 0.0);
  std::vector<std::unique_ptr<Worker<T>>> workers(static_cast<size_t>(options.n_threads));
  parallel_for(n_tasks, options.n_threads, [&](int64_t task, int worker) {
    std::unique_ptr<Worker<T>>& mine = workers[static_cast<size_t>(worker)];
    if (!mine) mine.reset(new Worker<T>{{shared, options.isa}, {shared, options.isa}, {}});
    const int64_t begin = plan.tasks[static_cast<size_t>(task)],
                  end = plan.tasks[static_cast<size_t>(task) + 1];
    double value = 0;
    const auto solve_long = [&](int64_t r) {
      value += mine->long_rows.solve(entries_of(x, weights, r), r, out.row(r));
    };
    if (begin < plan.n_long) {
      std::for_each(plan.order.begin() + begin, plan.order.begin() + end, solve_long);
    } else {
      mine->left.clear();
      for (int64_t at = begin; at < end; at += kSystems) {
        value += mine->short_rows.solve(x, weights, plan.order.data() + at, std::min(kSystems, end - at),
                                        end - at, out, &mine->left);
      }
      std::for_each(mine->left.begin(), mine->left.end(), solve_long);
    }
    values[static_cast<size_t>(task)] = value;
  });
  return std::accumulate(values.begin(), values.end(), 0.0);
}

template <class T>
void table_gram(const MatrixView<const T>& factors, double* out, int n_threads, Isa isa) {
  constexpr int64_t kSlices = 16, kFewRows = 4096;
  const int64_t k = factors.cols, stride = padded(k), blocks = block_count(factors.rows, kSummedRows);
  const int64_t per_slice = block_count(blocks, kSlices);
  const auto sums = aligned_zeros<double>(static_cast<size_t>(kSlices * stride * stride));
  parallel_for(kSlices, n_threads, [&](int64_t slice, int) {
    double* sum = sums.get() + slice * stride * stride;
    const auto add = [&]<class U>(const simd::RowTable<U>& table) {
      std::vector<U> block(static_cast<size_t>(kSummedRows * stride), U{0});
      for (int64_t b = slice * per_slice; b < std::min(blocks, (slice + 1) * per_slice); ++b) {
        const Block rows = block_at(factors.rows, kSummedRows, b);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
          std::copy_n(factors.row(r), k, block.begin() + (r - rows.begin) * stride);
        }
        table.column_gram(block.data(), rows.end - rows.begin, stride, stride, 1.0, sum);
        check_interrupt();
      }
    };
    if (factors.rows <= kFewRows) {
      add(dense_table<double>(isa).rows);
    } else {
      add(dense_table<T>(isa).rows);
    }
  });
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = i; j < k; ++j) {
      double total = 0;
      for (int64_t s = 0; s < kSlices; ++s) total += sums[static_cast<size_t>((s * stride + i) * stride + j)];
      out[i * k + j] = out[j * k + i] = total;
    }
  }
}

template double solve_rows(const CsrView<int32_t, float>&, const float*, const SharedSystem<float>&,
                           const MatrixView<float>&, const RowSolveOptions&);
template double solve_rows(const CsrView<int64_t, float>&, const float*, const SharedSystem<float>&,
                           const MatrixView<float>&, const RowSolveOptions&);
template double solve_rows(const CsrView<int32_t, double>&, const double*, const SharedSystem<double>&,
                           const MatrixView<double>&, const RowSolveOptions&);
template double solve_rows(const CsrView<int64_t, double>&, const double*, const SharedSystem<double>&,
                           const MatrixView<double>&, const RowSolveOptions&);
template void table_gram(const MatrixView<const float>&, double*, int, Isa);
template void table_gram(const MatrixView<const double>&, double*, int, Isa);

}  // namespace semproj
