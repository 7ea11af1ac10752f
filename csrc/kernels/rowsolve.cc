#include "kernels/rowsolve.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/aligned.h"
#include "core/parallel.h"
#include "kernels/simd/rows.h"
#include "kernels/simd/systems.h"

namespace semproj {
namespace {

using simd::kRowLanes, simd::kRowTile, simd::kSystems;

constexpr int64_t kSideBySide = 32;  // entries of the longest row that is solved in a lane
constexpr int64_t kBlockRows = 64;   // of a long row, summed in T
constexpr double kTrusted = 100.0;   // condition up to which float32 is enough
constexpr double kTaskCost = 4e6;    // multiply-adds

int64_t rounded_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

template <class T>
struct Tables {
  simd::RowTable<T> rows;
  simd::SystemTable<T> systems;
};

template <class T>
Tables<T> tables_for(Isa isa) {
#ifdef SEMPROJ_X86_VARIANTS
  if (isa == Isa::avx512) return {simd::avx512::row_table<T>(), simd::avx512::system_table<T>()};
  if (isa == Isa::avx2) return {simd::avx2::row_table<T>(), simd::avx2::system_table<T>()};
#endif
  (void)isa;
  return {simd::baseline::row_table<T>(), simd::baseline::system_table<T>()};
}

template <class T>
void prefetch_row(const T* row, int64_t n) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t c = 0; c < n; c += kLine) __builtin_prefetch(row + c);
}

// The entries of one row of X.
template <class T, class Index>
struct Entries {
  const Index* index;
  const T* value;
  const T* weight;  // null: 1
  int64_t n;

  double c(int64_t i) const { return weight == nullptr ? 1.0 : static_cast<double>(weight[i]); }
  double x(int64_t i) const { return static_cast<double>(value[i]); }
};

template <class T, class Index>
Entries<T, Index> entries_of(const CsrView<Index, T>& x, const T* weights, int64_t row) {
  const int64_t begin = x.indptr[row];
  return {x.indices + begin, x.data + begin, weights == nullptr ? nullptr : weights + begin,
          x.indptr[row + 1] - begin};
}

// One long row after the other: the K x K system itself.
template <class T>
class LongRows {
 public:
  LongRows(const SharedSystem<T>& shared, Isa isa)
      : shared_(shared),
        k_(shared.factors.cols),
        stride_(padded(k_)),
        tables_(tables_for<T>(isa)),
        wide_(tables_for<double>(isa)) {}

  // Returns b . q.
  template <class Index>
  double solve(const Entries<T, Index>& row, int64_t row_number, T* out) {
    allocate();
    if constexpr (std::is_same_v<T, float>) {
      if (shared_.whitened != nullptr) {
        accumulate<T>(row, tables_.rows, block_.get());
        if (factor_and_refine(row.n)) return finish(out);
      }
    }
    accumulate<double>(row, wide_.rows, wide_block_.get());
    factor_wide(row_number);
    return finish(out);
  }

 private:
  void allocate() {
    if (matrix_) return;
    matrix_ = aligned_array<double>(static_cast<size_t>(stride_ * stride_));
    wide_factor_ = aligned_array<double>(static_cast<size_t>(stride_ * stride_));
    factor_ = aligned_array<T>(static_cast<size_t>(stride_ * stride_));
    block_ = aligned_array<T>(static_cast<size_t>(kBlockRows * stride_));
    wide_block_ = aligned_array<double>(static_cast<size_t>(kBlockRows * stride_));
    for (auto* v : {&right_, &solution_, &residual_, &wide_least_}) v->resize(static_cast<size_t>(stride_));
    least_.assign(static_cast<size_t>(stride_), T{0});
    step_.resize(static_cast<size_t>(stride_));
  }

  // matrix_ = S + sum of d y y', products in U; right_ = sum of c x y, in double.
  template <class U, class Index>
  void accumulate(const Entries<T, Index>& row, const simd::RowTable<U>& table, U* block) {
    std::fill_n(matrix_.get(), stride_ * stride_, 0.0);
    for (int64_t i = 0; i < k_; ++i) {
      std::copy_n(shared_.matrix + i * k_, k_, matrix_.get() + i * stride_);
    }
    std::fill(right_.begin(), right_.end(), 0.0);
    for (const double sign : {1.0, -1.0}) {
      int64_t filled = 0;
      const auto flush = [&] {
        table.column_gram(block, filled, stride_, sign, matrix_.get());
        filled = 0;
      };
      for (int64_t i = 0; i < row.n; ++i) {
        const double d = row.c(i) - shared_.missing_weight;
        if ((d < 0) != (sign < 0)) continue;
        if (i + 4 < row.n) prefetch_row(shared_.factors.row(row.index[i + 4]), k_);
        const T* y = shared_.factors.row(row.index[i]);
        tables_.rows.add_wide(row.c(i) * row.x(i), y, k_, right_.data());
        const U root = static_cast<U>(std::sqrt(std::abs(d)));
        U* into = block + filled * stride_;
        for (int64_t c = 0; c < k_; ++c) into[c] = root * static_cast<U>(y[c]);
        std::fill(into + k_, into + stride_, U{0});
        if (++filled == kBlockRows) flush();
      }
      if (filled > 0) flush();
      if (row.weight == nullptr && shared_.missing_weight <= 1) break;  // none is negative
    }
  }

  // In float32, with one step of refinement; false when that cannot be trusted.
  bool factor_and_refine(int64_t n) {
    double trace = 0;
    for (int64_t i = 0; i < k_; ++i) {
      const double* from = matrix_.get() + i * stride_;
      for (int64_t j = i; j < k_; ++j) factor_[i * stride_ + j] = static_cast<T>(from[j]);
      trace += from[i];
    }
    if (tables_.systems.factor(factor_.get(), k_, stride_, least_.data()) < k_) return false;
    // Roundings of the blocks are independent: their sum is relatively better the more of them there are.
    const double trusted = kTrusted * std::sqrt(1.0 + static_cast<double>(n / kBlockRows));
    if (trace > trusted * shared_.least_eigenvalue) {
      const T inverse_norm = tables_.systems.inverse_norm(factor_.get(), k_, stride_, step_.data());
      if (!(trace * static_cast<double>(inverse_norm) <= trusted)) return false;
    }
    std::fill(solution_.begin(), solution_.end(), 0.0);
    residual_ = right_;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass > 0) {
        wide_.systems.subtract_product(matrix_.get(), k_, stride_, solution_.data(), residual_.data());
      }
      for (int64_t i = 0; i < k_; ++i) step_[i] = static_cast<T>(residual_[i]);
      tables_.systems.solve(factor_.get(), k_, stride_, step_.data());
      for (int64_t i = 0; i < k_; ++i) solution_[i] += static_cast<double>(step_[i]);
    }
    return true;
  }

  void factor_wide(int64_t row_number) {
    const double tolerance = 1e-15 * static_cast<double>(k_);
    for (int64_t i = 0; i < k_; ++i) {
      const double* from = matrix_.get() + i * stride_;
      std::copy(from + i, from + k_, wide_factor_.get() + i * stride_ + i);
      wide_least_[i] = tolerance * std::abs(from[i]);
    }
    if (wide_.systems.factor(wide_factor_.get(), k_, stride_, wide_least_.data()) < k_) {
      throw SingularSystem(row_number);
    }
    solution_ = right_;
    wide_.systems.solve(wide_factor_.get(), k_, stride_, solution_.data());
  }

  double finish(T* out) const {
    double product = 0;
    for (int64_t i = 0; i < k_; ++i) {
      out[i] = static_cast<T>(solution_[i]);
      product += right_[i] * solution_[i];
    }
    return product;
  }

  const SharedSystem<T>& shared_;
  int64_t k_, stride_;
  Tables<T> tables_;
  Tables<double> wide_;
  AlignedArray<double> matrix_, wide_factor_, wide_block_;
  AlignedArray<T> factor_, block_;
  std::vector<double> right_, solution_, residual_, wide_least_;
  std::vector<T> least_, step_;
};

// Short rows, up to kSystems at a time.
template <class T>
class ShortRows {
 public:
  ShortRows(const SharedSystem<T>& shared, Isa isa)
      : shared_(shared),
        k_(shared.factors.cols),
        stride_(padded(k_)),
        missing_weight_(shared.missing_weight),
        tables_(tables_for<T>(isa)) {}

  // `rows` has the numbers of `ahead` rows by falling number of entries, of which the first `count` are
  // solved; the next one is fetched. Returns the sum of c x^2 - b . q. Rows that are left to others, because
  // of their weights or conditioning, are appended to `left`.
  template <class Index>
  double solve(const CsrView<Index, T>& x, const T* weights, const int64_t* rows, int64_t count,
               int64_t ahead, const MatrixView<T>& out, std::vector<int64_t>* left) {
    const int64_t most = x.indptr[rows[0] + 1] - x.indptr[rows[0]];
    allocate(most);
    double total = 0;
    if (most <= kSideBySide) {
      total = solve_side_by_side(x, weights, rows, count, ahead, most, left);
    } else {
      for (int64_t s = 0; s < count; ++s) {
        const auto next = entries_of(x, weights, rows[std::min(s + 1, ahead - 1)]);
        total += solve_alone(entries_of(x, weights, rows[s]), next, rows[s], s, left);
      }
    }
    std::fill(z_.get() + count * stride_, z_.get() + kSystems * stride_, T{0});
    for (int64_t s = 0; s < count; s += 8) {
      tables_.rows.multiply_lower(z_.get() + s * stride_, shared_.inverse, stride_, q_.get() + s * stride_);
    }
    for (int64_t s = 0; s < count; ++s) std::copy_n(q_.get() + s * stride_, k_, out.row(rows[s]));
    return total;
  }

 private:
  void allocate(int64_t most) {
    const int64_t room = rounded_up(most, kRowLanes);
    if (room <= room_) return;
    room_ = room;
    const int64_t side = std::min(rounded_up(kSideBySide, kRowTile), room);
    const int64_t systems = std::max(room * room, side * side * kSystems);
    const int64_t gathered = std::max(room, side * kSystems);
    a_ = aligned_array<T>(static_cast<size_t>(systems));
    gathered_ = aligned_array<T>(static_cast<size_t>(gathered * stride_));
    z_ = aligned_array<T>(static_cast<size_t>(kSystems * stride_));
    q_ = aligned_array<T>(static_cast<size_t>(kSystems * stride_));
    v_.resize(static_cast<size_t>(room * kSystems));
    right_.resize(static_cast<size_t>(room * kSystems));
    roots_.resize(static_cast<size_t>(room));
    coefficients_.resize(static_cast<size_t>(room));
    least_.assign(static_cast<size_t>(room), T{0});
  }

  enum class Kind { system, plain, other };

  // sqrt(d), and c x / sqrt(d) at v[i * step]; for plain rows 1 and c x.
  template <class Index>
  Kind coefficients(const Entries<T, Index>& row, T* v, int64_t step, double* squares) {
    *squares = 0;
    if (row.weight == nullptr) {
      const double d = 1.0 - missing_weight_, root = d > 0 ? std::sqrt(d) : 1.0, inverse = 1.0 / root;
      for (int64_t i = 0; i < row.n; ++i) {
        v[i * step] = static_cast<T>(row.x(i) * inverse);
        *squares += row.x(i) * row.x(i);
      }
      std::fill_n(roots_.begin(), row.n, static_cast<T>(root));
      return d > 0 ? Kind::system : d == 0 ? Kind::plain : Kind::other;
    }
    int64_t positive = 0, zero = 0;
    for (int64_t i = 0; i < row.n; ++i) {
      const double d = row.c(i) - missing_weight_, root = d > 0 ? std::sqrt(d) : 1.0;
      positive += d > 0;
      zero += d == 0;
      roots_[i] = static_cast<T>(root);
      v[i * step] = static_cast<T>(row.c(i) * row.x(i) / root);
      *squares += row.c(i) * row.x(i) * row.x(i);
    }
    if (positive == row.n) return Kind::system;
    return zero == row.n ? Kind::plain : Kind::other;
  }

  // R: the rows sqrt(d) t, and rows of zeros up to the next whole tile. Those of the next row are fetched
  // meanwhile, one for one, so that neither waits for memory.
  template <class Index>
  void gather(const Entries<T, Index>& row, const Entries<T, Index>& next, T* into) {
    for (int64_t i = 0; i < row.n; ++i) {
      if (i < next.n) prefetch_row(shared_.whitened + next.index[i] * stride_, stride_);
      tables_.rows.scale(shared_.whitened + row.index[i] * stride_, roots_[i], stride_, into + i * stride_);
    }
    std::fill(into + row.n * stride_, into + rounded_up(row.n, kRowTile) * stride_, T{0});
  }

  // z = sum of c x t, which is all when no weight differs from that of missing cells. Returns b . q.
  template <class Index>
  double plain(const Entries<T, Index>& row, const T* gathered, const T* v, int64_t step, T* z) {
    for (int64_t i = 0; i < row.n; ++i) coefficients_[i] = v[i * step];
    tables_.rows.combine(coefficients_.data(), gathered, row.n, stride_, z);
    double product = 0;
    for (int64_t c = 0; c < k_; ++c) product += static_cast<double>(z[c]) * static_cast<double>(z[c]);
    return product;
  }

  static bool trusted(double trace) { return !std::is_same_v<T, float> || trace <= kTrusted; }

  template <class Index>
  double solve_side_by_side(const CsrView<Index, T>& x, const T* weights, const int64_t* rows, int64_t count,
                            int64_t ahead, int64_t most, std::vector<int64_t>* left) {
    const int64_t side = rounded_up(most, kRowTile);
    double total = 0;
    bool is_system[kSystems] = {};
    double squares[kSystems] = {};
    for (int64_t s = 0; s < kSystems; ++s) {
      T *a = a_.get() + s, *v = v_.data() + s, *gathered = gathered_.get() + s * side * stride_;
      int64_t n = 0;
      if (s < count) {
        const auto row = entries_of(x, weights, rows[s]);
        const auto next = entries_of(x, weights, rows[std::min(s + 1, ahead - 1)]);
        const Kind kind = coefficients(row, v, kSystems, &squares[s]);
        T* z = z_.get() + s * stride_;
        if (kind != Kind::other) gather(row, next, gathered);
        if (kind == Kind::system) {
          tables_.rows.row_gram(gathered, row.n, stride_, a, side * kSystems, kSystems);
          double trace = 0;
          for (int64_t i = 0; i < row.n; ++i) trace += static_cast<double>(a[i * (side + 1) * kSystems]);
          is_system[s] = trusted(trace);
          n = is_system[s] ? row.n : 0;
        } else if (kind == Kind::plain) {
          total += squares[s] - plain(row, gathered, v, kSystems, z);
        }
        if (!is_system[s] && kind != Kind::plain) {
          left->push_back(rows[s]);
          std::fill_n(z, stride_, T{0});
        }
      }
      for (int64_t i = 0; i < most; ++i) {  // the rest of this lane: equations x = 0
        for (int64_t j = std::max(i, n); j < most; ++j) a[(i * side + j) * kSystems] = 0;
        if (i >= n) v[i * kSystems] = 0;
      }
    }
    std::copy(v_.begin(), v_.begin() + most * kSystems, right_.begin());
    tables_.systems.solve_side_by_side(a_.get(), static_cast<int>(most), side, v_.data());
    for (int64_t s = 0; s < count; ++s) {
      if (!is_system[s]) continue;
      const int64_t n = x.indptr[rows[s] + 1] - x.indptr[rows[s]];
      for (int64_t i = 0; i < n; ++i) coefficients_[i] = v_[i * kSystems + s];
      tables_.rows.combine(coefficients_.data(), gathered_.get() + s * side * stride_, n, stride_,
                           z_.get() + s * stride_);
      total += squares[s];
      for (int64_t i = 0; i < n; ++i) {  // b . q = v . R z = v . (v - a)
        const double right = static_cast<double>(right_[i * kSystems + s]);
        total -= right * (right - static_cast<double>(coefficients_[i]));
      }
    }
    return total;
  }

  template <class Index>
  double solve_alone(const Entries<T, Index>& row, const Entries<T, Index>& next, int64_t row_number,
                     int64_t s, std::vector<int64_t>* left) {
    const int64_t side = rounded_up(row.n, kRowLanes);
    T *a = a_.get(), *v = v_.data(), *z = z_.get() + s * stride_;
    double squares = 0;
    const Kind kind = coefficients(row, v, 1, &squares);
    double trace = 0;
    if (kind != Kind::other) gather(row, next, gathered_.get());
    if (kind == Kind::plain) return squares - plain(row, gathered_.get(), v, 1, z);
    if (kind == Kind::system) {
      tables_.rows.row_gram(gathered_.get(), row.n, stride_, a, side, 1);
      for (int64_t i = 0; i < row.n; ++i) {
        trace += static_cast<double>(a[i * (side + 1)]);
        a[i * (side + 1)] += T{1};
      }
    }
    const bool solved = kind == Kind::system && trusted(trace) &&
                        tables_.systems.factor(a, row.n, side, least_.data()) == row.n;
    if (!solved) {
      left->push_back(row_number);
      std::fill_n(z, stride_, T{0});
      return 0;
    }
    std::copy_n(v, row.n, right_.begin());
    tables_.systems.solve(a, row.n, side, v);
    tables_.rows.combine(v, gathered_.get(), row.n, stride_, z);
    for (int64_t i = 0; i < row.n; ++i) {
      squares -=
          static_cast<double>(right_[i]) * (static_cast<double>(right_[i]) - static_cast<double>(v[i]));
    }
    return squares;
  }

  const SharedSystem<T>& shared_;
  int64_t k_, stride_;
  double missing_weight_;
  Tables<T> tables_;
  int64_t room_ = 0;
  AlignedArray<T> a_, gathered_, z_, q_;
  std::vector<T> v_, right_, roots_, coefficients_, least_;
};

// Multiply-adds of one row of n entries, the long way and the short way.
double long_cost(double n, double k) {
  return n * k * k / 2 + k * k * k / 6 + 4 * k * k;
}
double short_cost(double n, double k) {
  return n * n * k / 2 + n * n * n / 6 + n * k + k * k / 2;
}

int64_t longest_short_row(int64_t k) {
  int64_t n = 0;
  while (short_cost(static_cast<double>(n + 1), static_cast<double>(k)) <=
         long_cost(static_cast<double>(n + 1), static_cast<double>(k))) {
    ++n;
  }
  return n;
}

// Rows by falling number of entries, and where tasks of about equal cost begin: long rows one by one, short
// ones in batches that have the same lengths, more or less. Empty rows are not among them.
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
  plan.n_long = longest > longest_short ? place[static_cast<size_t>(longest - longest_short)] : 0;
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
    at = is_long ? at + 1 : std::min(at + kSystems, total);
    if (cost >= kTaskCost || at == plan.n_long || at == total) {
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
  return rounded_up(n_components, kRowLanes);
}

template <class T, class Index>
double solve_rows(const CsrView<Index, T>& x, const T* weights, const SharedSystem<T>& shared,
                  const MatrixView<T>& out, const RowSolveOptions& options) {
  const int64_t k = shared.factors.cols;
  int64_t longest_short = options.longest_short < 0 ? longest_short_row(k) : options.longest_short;
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
      const Entries<T, Index> row = entries_of(x, weights, r);
      value -= mine->long_rows.solve(row, r, out.row(r));
      for (int64_t i = 0; i < row.n; ++i) value += row.c(i) * row.x(i) * row.x(i);
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
  const int64_t k = factors.cols, stride = padded(k), blocks = block_count(factors.rows, kBlockRows);
  const int64_t per_slice = block_count(blocks, kSlices);
  AlignedArray<double> sums = aligned_array<double>(static_cast<size_t>(kSlices * stride * stride));
  std::fill_n(sums.get(), kSlices * stride * stride, 0.0);
  parallel_for(kSlices, n_threads, [&](int64_t slice, int) {
    double* sum = sums.get() + slice * stride * stride;
    const auto add = [&]<class U>(const simd::RowTable<U>& table) {
      std::vector<U> block(static_cast<size_t>(kBlockRows * stride), U{0});
      for (int64_t b = slice * per_slice; b < std::min(blocks, (slice + 1) * per_slice); ++b) {
        const Block rows = block_at(factors.rows, kBlockRows, b);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
          std::copy_n(factors.row(r), k, block.begin() + (r - rows.begin) * stride);
        }
        table.column_gram(block.data(), rows.end - rows.begin, stride, 1.0, sum);
      }
    };
    if (factors.rows <= kFewRows) {
      add(tables_for<double>(isa).rows);
    } else {
      add(tables_for<T>(isa).rows);
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
