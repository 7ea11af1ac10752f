#include "kernels/simd/systems.h"

#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

inline float root(float x) {
  return __builtin_sqrtf(x);
}
inline double root(double x) {
  return __builtin_sqrt(x);
}

// All lanes of one element: as many vectors as they need.
template <class T>
struct Lanes {
  static constexpr int kVectors = static_cast<int>(kSystems / kLanes<T>);
  Vec<T> v[kVectors];

  static Lanes at(const T* p) {
    Lanes x;
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) x.v[i] = load(p + i * kLanes<T>);
    return x;
  }
  void to(T* p) const {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) store<T>(p + i * kLanes<T>, v[i]);
  }
  void subtract(const Lanes& a, const Lanes& b) {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) v[i] -= a.v[i] * b.v[i];
  }
  void multiply(const Lanes& a) {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) v[i] *= a.v[i];
  }
  // 1 / sqrt(1 + x)
  Lanes reciprocal_root() const {
    Lanes result;
    for (int i = 0; i < kVectors; ++i) {
      for (int l = 0; l < kLanes<T>; ++l) result.v[i][l] = root(v[i][l] + T{1});
      result.v[i] = T{1} / result.v[i];
    }
    return result;
  }
};

// x -= sum over the rows k < i of U of u(k, i) y(k), for kColumns columns of y side by side. `u` and `y` are
// the first of them.
template <class T, int kColumns>
inline void subtract_above(const T* u, const T* y, int i, int64_t u_step, int64_t y_step,
                           Lanes<T> (&x)[kColumns]) {
  for (int k = 0; k < i; ++k, u += u_step, y += y_step) {
    const Lanes<T> factor = Lanes<T>::at(u);
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) x[c].subtract(factor, Lanes<T>::at(y + c * kSystems));
  }
}

// Columns [j, j + kColumns) of row i of U.
template <class T, int kColumns>
inline void finish_row(T* a, int i, int j, int64_t step, const Lanes<T>& inverse) {
  T* row = a + i * step + j * kSystems;
  Lanes<T> x[kColumns];
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) x[c] = Lanes<T>::at(row + c * kSystems);
  subtract_above<T, kColumns>(a + i * kSystems, a + j * kSystems, i, step, step, x);
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) {
    x[c].multiply(inverse);
    x[c].to(row + c * kSystems);
  }
}

// Row by row: a row of U takes everything above it at once, four columns at a time, so that sums stay in
// registers and an element of U is loaded once for four of them. The solve's forward half goes along.
template <class T>
void solve_side_by_side(T* a, int n, int64_t stride, T* b) {
  using L = Lanes<T>;
  const int64_t step = stride * kSystems;
  for (int i = 0; i < n; ++i) {
    T *diagonal = a + i * step + i * kSystems, *column = a + i * kSystems;
    L pivot[1] = {L::at(diagonal)}, right[1] = {L::at(b + i * kSystems)};
    subtract_above<T, 1>(column, column, i, step, step, pivot);
    subtract_above<T, 1>(column, b, i, step, kSystems, right);
    const L inverse = pivot[0].reciprocal_root();
    inverse.to(diagonal);
    right[0].multiply(inverse);
    right[0].to(b + i * kSystems);
    int j = i + 1;
    for (; j + 4 <= n; j += 4) finish_row<T, 4>(a, i, j, step, inverse);
    for (; j < n; ++j) finish_row<T, 1>(a, i, j, step, inverse);
  }
  for (int i = n - 1; i >= 0; --i) {
    const T* row = a + i * step;
    L x = L::at(b + i * kSystems);
    for (int j = i + 1; j < n; ++j) x.subtract(L::at(row + j * kSystems), L::at(b + j * kSystems));
    x.multiply(L::at(row + i * kSystems));
    x.to(b + i * kSystems);
  }
}

constexpr int64_t kPivots = 8;  // rows of U that are taken from the rows below at once

// Rows [first, end) of U among themselves; the diagonal becomes its reciprocals.
template <class T>
int64_t factor_panel(T* a, int64_t first, int64_t end, int64_t n, int64_t stride, const T* least) {
  for (int64_t j = first; j < end; ++j) {
    T* row = a + j * stride;
    if (!(row[j] > least[j])) return j;
    const T inverse = T{1} / root(row[j]);
    for (int64_t c = j / kLanes<T> * kLanes<T>; c < n; c += kLanes<T>) {
      store<T>(row + c, load(row + c) * inverse);
    }
    for (int64_t i = j + 1; i < end; ++i) {
      T* below = a + i * stride;
      const T u = row[i];
      for (int64_t c = i / kLanes<T> * kLanes<T>; c < n; c += kLanes<T>) {
        store<T>(below + c, load(below + c) - u * load(row + c));
      }
    }
    row[j] = inverse;
  }
  return end;
}

// Eight rows of U are made, then taken from all rows below in one pass: an element below is loaded and stored
// once for eight multiply-adds. Elements left of the diagonal that share a vector with it become anything.
template <class T>
int64_t factor(T* a, int64_t n, int64_t stride, const T* least) {
  for (int64_t first = 0; first < n; first += kPivots) {
    const int64_t end = n - first < kPivots ? n : first + kPivots;
    const int64_t done = factor_panel(a, first, end, n, stride, least);
    if (done < end) return done;
    for (int64_t i = end; i < n; ++i) {
      T* row = a + i * stride;
      for (int64_t c = i / kLanes<T> * kLanes<T>; c < n; c += kLanes<T>) {
        Vec<T> x = load(row + c);
#pragma GCC unroll 8
        for (int64_t p = 0; p < kPivots; ++p) {
          const T* pivot = a + (first + p) * stride;
          x -= pivot[i] * load(pivot + c);
        }
        store<T>(row + c, x);
      }
    }
  }
  return n;
}

template <class T>
inline T dot(const T* x, const T* y, int64_t begin, int64_t end) {
  T sum = 0;
  int64_t c = begin;
  Vec<T> sums{};
  for (; c + kLanes<T> <= end; c += kLanes<T>) sums += load(x + c) * load(y + c);
  for (int l = 0; l < kLanes<T>; ++l) sum += sums[l];
  for (; c < end; ++c) sum += x[c] * y[c];
  return sum;
}

// y -= a x
template <class T>
inline void subtract(T a, const T* x, T* y, int64_t begin, int64_t end) {
  int64_t c = begin;
  for (; c + kLanes<T> <= end; c += kLanes<T>) store<T>(y + c, load(y + c) - a * load(x + c));
  for (; c < end; ++c) y[c] -= a * x[c];
}

template <class T>
void solve_backward(const T* u, int64_t n, int64_t stride, T* x) {
  for (int64_t i = n - 1; i >= 0; --i) {
    const T* row = u + i * stride;
    x[i] = (x[i] - dot(row, x, i + 1, n)) * row[i];
  }
}

template <class T>
void solve_forward(const T* u, int64_t n, int64_t stride, T* x) {
  for (int64_t i = 0; i < n; ++i) {
    const T* row = u + i * stride;
    x[i] *= row[i];
    subtract(x[i], row, x, i + 1, n);
  }
}

template <class T>
void solve(const T* u, int64_t n, int64_t stride, T* x) {
  solve_forward(u, n, stride, x);
  solve_backward(u, n, stride, x);
}

template <class T>
T inverse_norm(const T* u, int64_t n, int64_t stride, T* x) {
  for (int64_t i = 0; i < n; ++i) x[i] = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T* row = u + i * stride;
    x[i] = (x[i] < 0 ? x[i] - T{1} : x[i] + T{1}) * row[i];
    subtract(x[i], row, x, i + 1, n);
  }
  solve_backward(u, n, stride, x);
  return root(dot(x, x, 0, n) / static_cast<T>(n));
}

template <class T>
void subtract_product(const T* a, int64_t n, int64_t stride, const T* x, T* r) {
  for (int64_t i = 0; i < n; ++i) {
    const T* row = a + i * stride;
    r[i] -= dot(row, x, i, n);
    subtract(x[i], row, r, i + 1, n);
  }
}

}  // namespace

template <class T>
SystemTable<T> system_table() {
  return {.solve_side_by_side = &solve_side_by_side<T>,
          .factor = &factor<T>,
          .solve = &solve<T>,
          .solve_forward = &solve_forward<T>,
          .solve_backward = &solve_backward<T>,
          .inverse_norm = &inverse_norm<T>,
          .subtract_product = &subtract_product<T>};
}

template SystemTable<float> system_table();
template SystemTable<double> system_table();

}  // namespace semproj::simd::SEMPROJ_SIMD
