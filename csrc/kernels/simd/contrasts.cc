#include "kernels/simd/contrasts.h"

#include "kernels/simd/exp2.h"
#include "kernels/simd/log2.h"
#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

using Int = int32_t __attribute__((vector_size(kBytes)));

// Elements of a row, a vector at a time; the last one may be of fewer. What lies behind the end is `rest`.
template <class T>
inline Vec<T> load_part(const T* p, int64_t n, T rest) {
  T lanes[kLanes<T>];
  for (int64_t l = 0; l < kLanes<T>; ++l) lanes[l] = l < n ? p[l] : rest;
  return load(lanes);
}

template <class T>
inline void store_part(T* p, int64_t n, Vec<T> v) {
  T lanes[kLanes<T>];
  store<T>(lanes, v);
  for (int64_t l = 0; l < n; ++l) p[l] = lanes[l];
}

template <class T>
inline double total(Vec<T> v) {
  double sum = 0;
  for (int64_t l = 0; l < kLanes<T>; ++l) sum += static_cast<double>(v[l]);
  return sum;
}

template <class T>
constexpr T kNothing = T(-1e30);  // a cosine whose exponential is 0

inline Vec<float> exponential(Vec<float> s, float scale) {
  constexpr float kLeast = -125.0f;
  const Vec<float> power = (s - 1.0f) * (scale * 1.44269504f);
  const Vec<float> least = spread(kLeast);
  return power < least ? Vec<float>{} : exp2_of<Int>(power < least ? least : power);
}

inline Vec<double> exponential(Vec<double> s, double scale) {
  Vec<double> e;
  for (int64_t l = 0; l < kLanes<double>; ++l) {
    const double power = (s[l] - 1) * scale;
    e[l] = power < -87 ? 0.0 : __builtin_exp(power);
  }
  return e;
}

// Sums of log(1 + x), x >= 0: in parts, as integers and fractions of float32 must not meet too early. What a
// small x loses when 1 is added to it is added to the logarithm: pairs that are well apart have only small
// ones.
template <class T>
struct LogSum;
template <>
struct LogSum<float> {
  Vec<float> exponents{}, rests{}, lost{};
  void add(Vec<float> x) {
    const Vec<float> whole = 1.0f + x;
    const Log2Parts<Vec<float>> parts = log2_parts<Int>(whole);
    exponents += parts.exponent;
    rests += parts.rest;
    lost += x < 1.0f ? x - (whole - 1.0f) : Vec<float>{};
  }
  double value() const {
    return 0.693147180559945309417 * (total<float>(exponents) + total<float>(rests)) + total<float>(lost);
  }
};
template <>
struct LogSum<double> {
  Vec<double> sums{};
  void add(Vec<double> x) {
    for (int64_t l = 0; l < kLanes<double>; ++l) sums[l] += __builtin_log1p(x[l]);
  }
  double value() const { return total<double>(sums); }
};

// Calls each(column, lanes) for the vectors of a row.
template <class T, class Each>
inline void along(int64_t columns, Each each) {
  int64_t c = 0;
  for (; c + kLanes<T> <= columns; c += kLanes<T>) each(c, kLanes<T>);
  if (c < columns) each(c, columns - c);
}

template <class T>
inline Vec<T> at(const T* p, int64_t n, T rest) {
  return n == kLanes<T> ? load(p) : load_part(p, n, rest);
}

template <class T>
inline void put(T* p, int64_t n, Vec<T> v) {
  n == kLanes<T> ? store<T>(p, v) : store_part<T>(p, n, v);
}

template <class T>
void sum(const ContrastBlock<T>& block, double* row_sums, T* column_sums) {
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* row = block.cosines + r * block.stride;
    Vec<T> own{};
    along<T>(block.columns, [&](int64_t c, int64_t n) {
      const Vec<T> e = exponential(at(row + c, n, kNothing<T>), block.scale);
      own += e;
      put<T>(column_sums + c, n, at(column_sums + c, n, T{}) + e);
    });
    row_sums[r] += total<T>(own);
  }
}

template <class T>
void softmax(const ContrastBlock<T>& block, const T* row_factors, const T* column_factors) {
  for (int64_t r = 0; r < block.rows; ++r) {
    T* row = block.cosines + r * block.stride;
    along<T>(block.columns, [&](int64_t c, int64_t n) {
      const Vec<T> e = exponential(at(row + c, n, kNothing<T>), block.scale);
      put<T>(row + c, n, e * (row_factors[r] + at(column_factors + c, n, T{})));
    });
  }
}

template <class T>
double logistic(const ContrastBlock<T>& block, const T* row_own, const T* column_own, T forward, T backward,
                double* row_sums, T* column_sums) {
  double rows_loss = 0, columns_loss = 0;
  for (int64_t r = 0; r < block.rows; ++r) {
    T* row = block.cosines + r * block.stride;
    const T mine = row_own[r];
    Vec<T> own{};
    LogSum<T> of_row, of_columns;
    along<T>(block.columns, [&](int64_t c, int64_t n) {
      const Vec<T> e = exponential(at(row + c, n, kNothing<T>), block.scale);
      const Vec<T> theirs = at(column_own + c, n, T{1});
      const Vec<T> along_row = forward * (e / (e + mine)), along_column = backward * (e / (e + theirs));
      of_row.add(e / mine);
      of_columns.add(e / theirs);
      own += along_row;
      put<T>(column_sums + c, n, at(column_sums + c, n, T{}) + along_column);
      put<T>(row + c, n, along_row + along_column);
    });
    row_sums[r] += total<T>(own);
    rows_loss += of_row.value();
    columns_loss += of_columns.value();
  }
  return static_cast<double>(forward) * rows_loss + static_cast<double>(backward) * columns_loss;
}

}  // namespace

template <class T>
ContrastTable<T> contrast_table() {
  return {.sum = &sum<T>, .softmax = &softmax<T>, .logistic = &logistic<T>};
}

template ContrastTable<float> contrast_table();
template ContrastTable<double> contrast_table();

}  // namespace semproj::simd::SEMPROJ_SIMD
