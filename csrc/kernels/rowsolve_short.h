#pragma once
// Rows with fewer entries than components: a system of their own Gram matrix (see rowsolve.h).

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/aligned.h"
#include "kernels/rowsolve.h"
#include "kernels/rowsolve_entries.h"
#include "kernels/rowsolve_refine.h"

namespace semproj {

constexpr int64_t kSideBySide = 32;  // entries of the longest row that is solved in a lane

// Short rows, up to simd::kSystems at a time.
template <class T>
class ShortRows {
 public:
  ShortRows(const SharedSystem<T>& shared, Isa isa)
      : shared_(shared),
        k_(shared.factors.cols),
        stride_(padded(k_)),
        missing_weight_(shared.missing_weight),
        tables_(dense_table<T>(isa)),
        refinement_(shared, isa) {}

  // `rows` has the numbers of `ahead` rows by falling number of entries, of which the first `count` are
  // solved; the next one is fetched. Returns the sum of their minima. Rows that are left to others, because
  // of their weights or conditioning, are appended to `left`.
  template <class Index>
  double solve(const CsrView<Index, T>& x, const T* weights, const int64_t* rows, int64_t count,
               int64_t ahead, const MatrixView<T>& out, std::vector<int64_t>* left) {
    const int64_t most = x.indptr[rows[0] + 1] - x.indptr[rows[0]];
    allocate(most);
    double total = 0;
    std::fill_n(is_done_, simd::kSystems, false);
    if (most <= kSideBySide) {
      total = solve_side_by_side(x, weights, rows, count, ahead, most, out, left);
    } else {
      for (int64_t s = 0; s < count; ++s) {
        const auto next = entries_of(x, weights, rows[std::min(s + 1, ahead - 1)]);
        total += solve_alone(entries_of(x, weights, rows[s]), next, rows[s], s, out.row(rows[s]), left);
      }
    }
    std::fill(z_.get() + count * stride_, z_.get() + simd::kSystems * stride_, T{0});
    for (int64_t s = 0; s < count; s += 8) {
      tables_.rows.multiply_lower(z_.get() + s * stride_, shared_.inverse, stride_, q_.get() + s * stride_);
    }
    for (int64_t s = 0; s < count; ++s) {
      if (!is_done_[s]) std::copy_n(q_.get() + s * stride_, k_, out.row(rows[s]));
    }
    return total;
  }

 private:
  void allocate(int64_t most) {
    const int64_t room = rounded_up(most, simd::kRowLanes);
    if (room <= room_) return;
    room_ = room;
    const int64_t side = std::min(rounded_up(kSideBySide, simd::kRowTile), room);
    const int64_t systems = std::max(room * room, side * side * simd::kSystems);
    const int64_t gathered = std::max(room, side * simd::kSystems);
    a_ = aligned_array<T>(static_cast<size_t>(systems));
    gathered_ = aligned_array<T>(static_cast<size_t>(gathered * stride_));
    z_ = aligned_array<T>(static_cast<size_t>(simd::kSystems * stride_));
    q_ = aligned_array<T>(static_cast<size_t>(simd::kSystems * stride_));
    v_.resize(static_cast<size_t>(room * simd::kSystems));
    right_.resize(static_cast<size_t>(room * simd::kSystems));
    roots_.resize(static_cast<size_t>(room));
    coefficients_.resize(static_cast<size_t>(room));
    least_.assign(static_cast<size_t>(room), T{0});
  }

  enum class Kind { system, plain, other };

  // sqrt(d), and c x / sqrt(d) at v[i * step]; for plain rows 1 and c x. Weights of 1 give the bits of none.
  template <class Index>
  Kind coefficients(const RowEntries<T, Index>& row, T* v, int64_t step, double* squares) {
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
      const double d = row.c(i) - missing_weight_, root = d > 0 ? std::sqrt(d) : 1.0, inverse = 1.0 / root;
      positive += d > 0;
      zero += d == 0;
      roots_[i] = static_cast<T>(root);
      v[i * step] = static_cast<T>(row.c(i) * row.x(i) * inverse);
      *squares += row.c(i) * row.x(i) * row.x(i);
    }
    if (positive == row.n) return Kind::system;
    return zero == row.n ? Kind::plain : Kind::other;
  }

  // R: the rows sqrt(d) t, and rows of zeros up to the next whole tile. Those of the next row are fetched
  // meanwhile, one for one, so that neither waits for memory.
  template <class Index>
  void gather(const RowEntries<T, Index>& row, const RowEntries<T, Index>& next, T* into) {
    for (int64_t i = 0; i < row.n; ++i) {
      if (i < next.n) prefetch_row(shared_.whitened + next.index[i] * stride_, stride_);
      tables_.rows.scale(shared_.whitened + row.index[i] * stride_, roots_[i], stride_, into + i * stride_);
    }
    std::fill(into + row.n * stride_, into + rounded_up(row.n, simd::kRowTile) * stride_, T{0});
  }

  // z = sum of c x t, which is all when no weight differs from that of missing cells. Returns b . q.
  template <class Index>
  double plain(const RowEntries<T, Index>& row, const T* gathered, const T* v, int64_t step, T* z) {
    for (int64_t i = 0; i < row.n; ++i) coefficients_[i] = v[i * step];
    tables_.rows.combine(coefficients_.data(), gathered, row.n, stride_, z);
    double product = 0;
    for (int64_t c = 0; c < k_; ++c) product += static_cast<double>(z[c]) * static_cast<double>(z[c]);
    return product;
  }

  static bool trusted(double trace) {
    return std::is_same_v<T, float> ? trace <= kTrustedCondition : std::isfinite(trace);
  }

  // z = R' a for the solution a at a[i * step]. Returns b . q: nothing when rounding of a, which grows with
  // the condition, and of R' a, whose rows may cancel, is too much of it.
  //
  // b . q = v . R z = (a + R z) . R z = z . z + |v - a|^2. The plain v . (v - a) cancels when d is small: v
  // is c x / sqrt(d), and R z goes with sqrt(d).
  std::optional<double> sum_up(const T* gathered, const T* v, const T* a, int64_t n, int64_t step,
                               double trace, T* z) {
    double squared_solution = 0, squared_fit = 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto right = static_cast<double>(v[i * step]), solution = static_cast<double>(a[i * step]);
      coefficients_[i] = a[i * step];
      squared_solution += solution * solution;
      squared_fit += (right - solution) * (right - solution);
    }
    tables_.rows.combine(coefficients_.data(), gathered, n, stride_, z);
    T squared_sum = 0;
    tables_.rows.products(z, 1, stride_, z, &squared_sum);
    const auto sum = static_cast<double>(squared_sum);
    const bool is_trusted = !std::is_same_v<T, float> || trace * squared_solution <= kTrustedCancelling * sum;
    return is_trusted ? std::optional<double>(sum + squared_fit) : std::nullopt;
  }

  template <class Index>
  double solve_side_by_side(const CsrView<Index, T>& x, const T* weights, const int64_t* rows, int64_t count,
                            int64_t ahead, int64_t most, const MatrixView<T>& out,
                            std::vector<int64_t>* left) {
    const int64_t side = rounded_up(most, simd::kRowTile);
    double total = 0;
    bool is_system[simd::kSystems] = {}, is_bad[simd::kSystems] = {};
    double squares[simd::kSystems] = {}, traces[simd::kSystems] = {};
    for (int64_t s = 0; s < simd::kSystems; ++s) {
      T *a = a_.get() + s, *v = v_.data() + s, *gathered = gathered_.get() + s * side * stride_;
      int64_t n = 0;
      if (s < count) {
        const auto row = entries_of(x, weights, rows[s]);
        const auto next = entries_of(x, weights, rows[std::min(s + 1, ahead - 1)]);
        const Kind kind = coefficients(row, v, simd::kSystems, &squares[s]);
        T* z = z_.get() + s * stride_;
        if (kind != Kind::other) gather(row, next, gathered);
        if (kind == Kind::system) {
          tables_.rows.row_gram(gathered, row.n, stride_, a, side * simd::kSystems, simd::kSystems);
          for (int64_t i = 0; i < row.n; ++i)
            traces[s] += static_cast<double>(a[i * (side + 1) * simd::kSystems]);
          is_system[s] = trusted(traces[s]);
          is_bad[s] = !is_system[s];
          n = is_system[s] ? row.n : 0;
        } else if (kind == Kind::plain) {
          total += squares[s] - plain(row, gathered, v, simd::kSystems, z);
        }
        if (kind == Kind::other) left->push_back(rows[s]);
        is_done_[s] = kind == Kind::other;
      }
      for (int64_t i = 0; i < most; ++i) {  // the rest of this lane: equations x = 0
        for (int64_t j = std::max(i, n); j < most; ++j) a[(i * side + j) * simd::kSystems] = 0;
        if (i >= n) v[i * simd::kSystems] = 0;
      }
    }
    std::copy(v_.begin(), v_.begin() + most * simd::kSystems, right_.begin());
    tables_.systems.solve_side_by_side(a_.get(), static_cast<int>(most), side, v_.data());
    for (int64_t s = 0; s < count; ++s) {
      if (!is_system[s]) continue;
      const int64_t n = x.indptr[rows[s] + 1] - x.indptr[rows[s]];
      const std::optional<double> product =
          sum_up(gathered_.get() + s * side * stride_, right_.data() + s, v_.data() + s, n, simd::kSystems,
                 traces[s], z_.get() + s * stride_);
      is_bad[s] = !product;
      if (product) total += squares[s] - *product;
    }
    for (int64_t s = 0; s < count; ++s) {
      if (!is_bad[s]) continue;
      is_done_[s] = true;
      const auto row = entries_of(x, weights, rows[s]);
      const T* gathered = gathered_.get() + s * side * stride_;
      const double trace = factor_system(gathered, row.n);
      const auto refined = refine(row, gathered, trace, out.row(rows[s]));
      if (!refined) left->push_back(rows[s]);
      total += refined.value_or(0.0);
    }
    return total;
  }

  // a_ = the factor of I + R R'. Returns the trace of R R', infinity when there is none.
  double factor_system(const T* gathered, int64_t n) {
    const int64_t side = rounded_up(n, simd::kRowLanes);
    double trace = 0;
    tables_.rows.row_gram(gathered, n, stride_, a_.get(), side, 1);
    for (int64_t i = 0; i < n; ++i) {
      trace += static_cast<double>(a_[i * (side + 1)]);
      a_[i * (side + 1)] += T{1};
    }
    const bool factored = tables_.systems.factor(a_.get(), n, side, least_.data()) == n;
    return factored ? trace : std::numeric_limits<double>::infinity();
  }

  // With the factor in a_, whose trace tells whether steps will become smaller. Returns the minimum.
  template <class Index>
  std::optional<double> refine(const RowEntries<T, Index>& row, const T* gathered, double trace, T* out) {
    if (!(trace <= kRefinedCondition)) return std::nullopt;
    const int64_t side = rounded_up(row.n, simd::kRowLanes);
    return refinement_.solve(row, gathered, a_.get(), side, out);
  }

  template <class Index>
  double solve_alone(const RowEntries<T, Index>& row, const RowEntries<T, Index>& next, int64_t row_number,
                     int64_t s, T* out, std::vector<int64_t>* left) {
    T *v = v_.data(), *z = z_.get() + s * stride_;
    double squares = 0;
    const Kind kind = coefficients(row, v, 1, &squares);
    if (kind != Kind::other) gather(row, next, gathered_.get());
    if (kind == Kind::plain) return squares - plain(row, gathered_.get(), v, 1, z);
    std::optional<double> refined;
    if (kind == Kind::system) {
      const double trace = factor_system(gathered_.get(), row.n);
      if (trusted(trace)) {
        std::copy_n(v, row.n, right_.begin());
        tables_.systems.solve(a_.get(), row.n, rounded_up(row.n, simd::kRowLanes), v);
        if (const auto product = sum_up(gathered_.get(), right_.data(), v, row.n, 1, trace, z)) {
          return squares - *product;
        }
      }
      refined = refine(row, gathered_.get(), trace, out);
    }
    is_done_[s] = true;
    if (!refined) left->push_back(row_number);
    return refined.value_or(0.0);
  }

  const SharedSystem<T>& shared_;
  int64_t k_, stride_;
  double missing_weight_;
  const simd::DenseTable<T>& tables_;
  int64_t room_ = 0;
  AlignedArray<T> a_, gathered_, z_, q_;
  std::vector<T> v_, right_, roots_, coefficients_, least_;
  bool is_done_[simd::kSystems] = {};  // rows that are not to be written from q_
  Refinement<T> refinement_;
};

}  // namespace semproj
