#include "kernels/simd/rows.h"

#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

template <class T>
void scale(const T* x, T a, int64_t n, T* out) {
  int64_t c = 0;
  for (; c + kLanes<T> <= n; c += kLanes<T>) store<T>(out + c, a * load(x + c));
  for (; c < n; ++c) out[c] = a * x[c];
}

template <class T>
void gather(const T* table, int64_t stride, const int32_t* ids, int64_t n, T* out) {
  constexpr int64_t kAhead = 8, kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < n; ++i, out += stride) {
    if (i + kAhead < n) {
      const T* later = table + ids[i + kAhead] * stride;
      for (int64_t c = 0; c < stride; c += kLine) __builtin_prefetch(later + c);
    }
    const T* row = table + ids[i] * stride;
    for (int64_t c = 0; c < stride; c += kLanes<T>) store<T>(out + c, load(row + c));
  }
}

// The columns of kVectors vectors, their sums in registers. Two sums each, so that additions need not wait.
template <class T, int kVectors>
void combine_columns(const T* coefficients, const T* rows, int64_t n, int64_t stride, T* out) {
  Vec<T> even[kVectors] = {}, odd[kVectors] = {};
  int64_t i = 0;
  for (; i + 1 < n; i += 2) {
    const T a = coefficients[i], b = coefficients[i + 1];
    const T* row = rows + i * stride;
    for (int v = 0; v < kVectors; ++v) {
      even[v] += a * load(row + v * kLanes<T>);
      odd[v] += b * load(row + stride + v * kLanes<T>);
    }
  }
  if (i < n) {
    for (int v = 0; v < kVectors; ++v) even[v] += coefficients[i] * load(rows + i * stride + v * kLanes<T>);
  }
  for (int v = 0; v < kVectors; ++v) store<T>(out + v * kLanes<T>, even[v] + odd[v]);
}

template <class T>
void combine(const T* coefficients, const T* rows, int64_t n, int64_t stride, T* out) {
  int64_t c = 0;
  for (; c + 4 * kLanes<T> <= stride; c += 4 * kLanes<T>) {
    combine_columns<T, 4>(coefficients, rows + c, n, stride, out + c);
  }
  for (; c + 2 * kLanes<T> <= stride; c += 2 * kLanes<T>) {
    combine_columns<T, 2>(coefficients, rows + c, n, stride, out + c);
  }
  for (; c < stride; c += kLanes<T>) combine_columns<T, 1>(coefficients, rows + c, n, stride, out + c);
}

template <class T>
void add_wide(double a, const T* x, int64_t n, double* out) {
  for (int64_t c = 0; c < n; ++c) out[c] += a * static_cast<double>(x[c]);
}

template <class T>
double dot_wide(const T* x, const double* y, int64_t n) {
  constexpr int64_t kSums = 2 * kLanes<double>;
  double sums[kSums] = {};
  int64_t c = 0;
  for (; c + kSums <= n; c += kSums) {
    for (int64_t l = 0; l < kSums; ++l) sums[l] += static_cast<double>(x[c + l]) * y[c + l];
  }
  for (int64_t l = 0; c < n; ++c, ++l) sums[l] += static_cast<double>(x[c]) * y[c];
  double sum = 0;
  for (const double each : sums) sum += each;
  return sum;
}

template <class T>
void products(const T* rows, int64_t n, int64_t stride, const T* x, T* out) {
  for (int64_t i = 0; i < n; ++i) {
    Vec<T> sums{};
    for (int64_t c = 0; c < stride; c += kLanes<T>) sums += load(rows + i * stride + c) * load(x + c);
    T sum = 0;
    for (int l = 0; l < kLanes<T>; ++l) sum += sums[l];
    out[i] = sum;
  }
}

template <class T>
void add_outer(const T* coefficients, const T* x, int64_t n, int64_t stride, T* rows) {
  for (int64_t i = 0; i < n; ++i) {
    const T a = coefficients[i];
    T* row = rows + i * stride;
    for (int64_t c = 0; c < stride; c += kLanes<T>) store<T>(row + c, load(row + c) + a * load(x + c));
  }
}

// Lane i of the result is the sum of the lanes of v[i].
template <class T, int step = 1>
inline Vec<T> lane_sums(const Vec<T>* v) {
  constexpr int n = static_cast<int>(kLanes<T>);
  if constexpr (step == n) {
    return v[0];
  } else {
    Vec<T> half[n / step / 2];
#pragma GCC unroll 8
    for (int i = 0; i < n / step / 2; ++i) {
      half[i] = fold<step>(v[2 * i], v[2 * i + 1], typename UpTo<n>::type{});
    }
    return lane_sums<T, 2 * step>(half);
  }
}

// As many products of rows as a vector has lanes, so that their lanes are summed all at once.
template <class T>
void row_gram(const T* rows, int64_t n, int64_t stride, T* out, int64_t row_step, int64_t column_step) {
  constexpr int kDown = kLanes<T> >= 8 ? 4 : 2, kAcross = static_cast<int>(kLanes<T>) / kDown;
  static_assert(kRowTile % kDown == 0 && kRowTile % kAcross == 0);
  const int64_t end = (n + kRowTile - 1) / kRowTile * kRowTile;
  for (int64_t i = 0; i < end; i += kDown) {
    for (int64_t j = i / kAcross * kAcross; j < end; j += kAcross) {
      Vec<T> sums[kDown * kAcross] = {};
      for (int64_t c = 0; c < stride; c += kLanes<T>) {
        Vec<T> right[kAcross];
#pragma GCC unroll 4
        for (int b = 0; b < kAcross; ++b) right[b] = load(rows + (j + b) * stride + c);
#pragma GCC unroll 4
        for (int a = 0; a < kDown; ++a) {
          const Vec<T> left = load(rows + (i + a) * stride + c);
#pragma GCC unroll 4
          for (int b = 0; b < kAcross; ++b) sums[a * kAcross + b] += left * right[b];
        }
      }
      T products[kLanes<T>];
      store<T>(products, lane_sums<T>(sums));
      T* corner = out + i * row_step + j * column_step;
#pragma GCC unroll 16
      for (int p = 0; p < kDown * kAcross; ++p) {
        corner[(p / kAcross) * row_step + (p % kAcross) * column_step] = products[p];
      }
    }
  }
}

// out (8 x kVectors vectors) of sum over k of a[k, 0..8)' b[k, :], where a's elements are `a_step` apart from
// one of the 8 to the next and `a_stride` from one k to the next.
template <class T, int kVectors>
inline void tile(const T* a, int64_t a_step, int64_t a_stride, const T* b, int64_t b_stride, int64_t n,
                 Vec<T> (&sums)[8][kVectors]) {
  for (int64_t k = 0; k < n; ++k) {
    Vec<T> right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = load(b + k * b_stride + v * kLanes<T>);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const Vec<T> left = spread(a[k * a_stride + i * a_step]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[i][v] += left * right[v];
    }
  }
}

template <class T, int kVectors>
void column_gram_tile(const T* rows, int64_t n, int64_t stride, int64_t i, int64_t j, double sign,
                      double* out) {
  Vec<T> sums[8][kVectors] = {};
  tile<T, kVectors>(rows + i, 1, stride, rows + j, stride, n, sums);
  for (int a = 0; a < 8; ++a) {
    for (int v = 0; v < kVectors; ++v) {
      double* at = out + (i + a) * stride + j + v * kLanes<T>;
      for (int l = 0; l < kLanes<T>; ++l) at[l] += sign * static_cast<double>(sums[a][v][l]);
    }
  }
}

template <class T>
void column_gram(const T* rows, int64_t n, int64_t stride, int64_t columns, double sign, double* out) {
  for (int64_t i = 0; i < columns; i += 8) {
    int64_t j = i / kRowLanes * kRowLanes;
    for (; j + 2 * kLanes<T> <= stride; j += 2 * kLanes<T>) {
      column_gram_tile<T, 2>(rows, n, stride, i, j, sign, out);
    }
    for (; j < stride; j += kLanes<T>) column_gram_tile<T, 1>(rows, n, stride, i, j, sign, out);
  }
}

template <class T, int kVectors>
void multiply_lower_tile(const T* z, const T* l, int64_t stride, int64_t j, T* out) {
  Vec<T> sums[8][kVectors] = {};
  tile<T, kVectors>(z + j, stride, 1, l + j * stride + j, stride, stride - j, sums);
  for (int i = 0; i < 8; ++i) {
    for (int v = 0; v < kVectors; ++v) store<T>(out + i * stride + j + v * kLanes<T>, sums[i][v]);
  }
}

template <class T>
void multiply_lower(const T* z, const T* l, int64_t stride, T* out) {
  int64_t j = 0;
  for (; j + 2 * kLanes<T> <= stride; j += 2 * kLanes<T>) multiply_lower_tile<T, 2>(z, l, stride, j, out);
  for (; j < stride; j += kLanes<T>) multiply_lower_tile<T, 1>(z, l, stride, j, out);
}

}  // namespace

template <class T>
RowTable<T> row_table() {
  return {.scale = &scale<T>,
          .gather = &gather<T>,
          .combine = &combine<T>,
          .add_wide = &add_wide<T>,
          .dot_wide = &dot_wide<T>,
          .products = &products<T>,
          .add_outer = &add_outer<T>,
          .row_gram = &row_gram<T>,
          .column_gram = &column_gram<T>,
          .multiply_lower = &multiply_lower<T>};
}

template RowTable<float> row_table();
template RowTable<double> row_table();

}  // namespace semproj::simd::SEMPROJ_SIMD
