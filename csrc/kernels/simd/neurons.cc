#include "kernels/simd/neurons.h"

#include "kernels/simd/exp2.h"
#include "kernels/simd/variant.h"
#include "kernels/simd/vectors.h"

namespace semproj::simd::SEMPROJ_SIMD {
namespace {

using Int = int32_t __attribute__((vector_size(kBytes)));

template <class T>
inline Vec<T> least_of(Vec<T> a, Vec<T> b) {
  return a < b ? a : b;
}
template <class T>
inline Vec<T> largest_of(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}

// e^x for x <= 80; below -80 it is e^-80, which no sum with a 1 in it notices.
inline Vec<float> exponential(Vec<float> x) {
  const Vec<float> cut = largest_of<float>(least_of<float>(x, spread(80.0f)), spread(-80.0f));
  return exp2_of<Int>(cut * 1.44269504f);
}
inline Vec<double> exponential(Vec<double> x) {
  Vec<double> e;
  for (int64_t l = 0; l < kLanes<double>; ++l) e[l] = __builtin_exp(x[l] < -80 ? -80 : x[l] > 80 ? 80 : x[l]);
  return e;
}

// Calls each(pointer offset, lanes) for all vectors of n elements; the last may have fewer.
template <class T, class Each>
inline void along(int64_t n, Each each) {
  int64_t c = 0;
  for (; c + kLanes<T> <= n; c += kLanes<T>) each(c, kLanes<T>);
  if (c < n) each(c, n - c);
}

template <class T>
inline Vec<T> at(const T* p, int64_t n, T rest = T{}) {
  if (n == kLanes<T>) return load(p);
  T lanes[kLanes<T>];
  for (int64_t l = 0; l < kLanes<T>; ++l) lanes[l] = l < n ? p[l] : rest;
  return load(lanes);
}

template <class T>
inline void put(T* p, int64_t n, Vec<T> v) {
  if (n == kLanes<T>) {
    store<T>(p, v);
    return;
  }
  T lanes[kLanes<T>];
  store<T>(lanes, v);
  for (int64_t l = 0; l < n; ++l) p[l] = lanes[l];
}

template <class T>
inline T total(Vec<T> v) {
  T sum = 0;
  for (int64_t l = 0; l < kLanes<T>; ++l) sum += v[l];
  return sum;
}

template <class T>
inline T root(T x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return __builtin_sqrtf(x);
  } else {
    return __builtin_sqrt(x);
  }
}

template <class T>
void activate(Neuron kind, T* x, int64_t n) {
  const T one = 1, two = 2;
  if (kind == Neuron::sigmoid) {
    along<T>(n, [&](int64_t c, int64_t l) { put<T>(x + c, l, one / (one + exponential(-at(x + c, l)))); });
  } else if (kind == Neuron::tanh) {
    along<T>(n, [&](int64_t c, int64_t l) {
      put<T>(x + c, l, two / (one + exponential(-two * at(x + c, l))) - one);
    });
  } else {
    along<T>(n, [&](int64_t c, int64_t l) { put<T>(x + c, l, largest_of<T>(at(x + c, l), Vec<T>{})); });
  }
}

template <class T>
inline Vec<T> slope(Neuron kind, Vec<T> y) {
  const T one = 1;
  if (kind == Neuron::sigmoid) return y * (one - y);
  if (kind == Neuron::tanh) return one - y * y;
  return y > Vec<T>{} ? spread(one) : Vec<T>{};
}

template <class T>
void through(Neuron kind, T* d, const T* y, int64_t n, T limit) {
  along<T>(n, [&](int64_t c, int64_t l) {
    const Vec<T> g = at(d + c, l) * slope<T>(kind, at(y + c, l));
    put<T>(d + c, l, largest_of<T>(least_of<T>(g, spread(limit)), spread(-limit)));
  });
}

template <class T>
T largest(const T* x, int64_t n) {
  Vec<T> most = spread(x[0]);
  along<T>(n, [&](int64_t c, int64_t l) { most = largest_of<T>(most, at(x + c, l, x[0])); });
  T value = most[0];
  for (int64_t l = 1; l < kLanes<T>; ++l) value = most[l] > value ? most[l] : value;
  return value;
}

constexpr double kFarBelow = -1e30;

template <class T>
double softmax(T* x, int64_t n, int64_t target) {
  const T most = largest(x, n);
  const T own = x[target] - most;
  Vec<T> sums{};
  along<T>(n, [&](int64_t c, int64_t l) {
    Vec<T> e = exponential(at(x + c, l, static_cast<T>(kFarBelow)) - most);
    put<T>(x + c, l, e);
    sums += e;
  });
  const T sum = total<T>(sums), factor = 1 / sum;
  along<T>(n, [&](int64_t c, int64_t l) { put<T>(x + c, l, factor * at(x + c, l)); });
  x[target] -= 1;
  return static_cast<double>(own) - __builtin_log(static_cast<double>(sum));
}

template <class T>
double log_share(const T* x, int64_t n, int64_t target) {
  const T most = largest(x, n);
  Vec<T> sums{};
  along<T>(
      n, [&](int64_t c, int64_t l) { sums += exponential(at(x + c, l, static_cast<T>(kFarBelow)) - most); });
  return static_cast<double>(x[target] - most) - __builtin_log(static_cast<double>(total<T>(sums)));
}

template <class T>
void add(T* x, const T* y, int64_t n) {
  along<T>(n, [&](int64_t c, int64_t l) { put<T>(x + c, l, at(x + c, l) + at(y + c, l)); });
}

template <class T>
void adagrad(T* w, const T* g, T* sums, int64_t n, T rate) {
  along<T>(n, [&](int64_t c, int64_t l) {
    const Vec<T> gradient = at(g + c, l);
    Vec<T> sum = at(sums + c, l) + gradient * gradient;
    put<T>(sums + c, l, sum);
    Vec<T> roots;
    for (int64_t i = 0; i < kLanes<T>; ++i) roots[i] = root<T>(sum[i]);
    const Vec<T> step = roots > Vec<T>{} ? gradient / roots : Vec<T>{};
    put<T>(w + c, l, at(w + c, l) - rate * step);
  });
}

template <class T>
void adagrad_row(T* w, const T* g, T* sum, int64_t n, T rate) {
  Vec<T> squares{};
  along<T>(n, [&](int64_t c, int64_t l) {
    const Vec<T> gradient = at(g + c, l);
    squares += gradient * gradient;
  });
  *sum += total<T>(squares) / static_cast<T>(n);
  if (!(*sum > 0)) return;
  const T factor = rate / root<T>(*sum);
  along<T>(n, [&](int64_t c, int64_t l) { put<T>(w + c, l, at(w + c, l) - factor * at(g + c, l)); });
}

}  // namespace

template <class T>
NeuronTable<T> neuron_table() {
  return {.activate = &activate<T>,
          .through = &through<T>,
          .softmax = &softmax<T>,
          .log_share = &log_share<T>,
          .add = &add<T>,
          .adagrad = &adagrad<T>,
          .adagrad_row = &adagrad_row<T>};
}

template NeuronTable<float> neuron_table();
template NeuronTable<double> neuron_table();

}  // namespace semproj::simd::SEMPROJ_SIMD
