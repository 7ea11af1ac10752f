// What a network does element by element, for every instruction set, against plain loops in double; and one
// word learnt by a network of one unit, by hand.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"
#include "core/cpu.h"
#include "kernels/dispatch.h"
#include "lm/rnnlm.h"
#include "plain_blas.h"

using namespace semproj;
using simd::Neuron;

namespace {

constexpr Neuron kNeurons[] = {Neuron::sigmoid, Neuron::tanh, Neuron::relu};

double f(Neuron kind, double x) {
  if (kind == Neuron::sigmoid) return 1 / (1 + std::exp(-x));
  return kind == Neuron::tanh ? std::tanh(x) : std::max(x, 0.0);
}

double slope(Neuron kind, double y) {
  if (kind == Neuron::sigmoid) return y * (1 - y);
  return kind == Neuron::tanh ? 1 - y * y : double(y > 0);
}

// n numbers from -9 to 9 and one behind them, which must stay.
template <class T>
std::vector<T> numbers(int64_t n, double shift) {
  std::vector<T> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<T>(9 * std::sin(double(i * i) + shift)));
  x.push_back(T(7));
  return x;
}

template <class T>
void check_elements(Isa isa, int64_t n, double tolerance) {
  const auto& table = dense_table<T>(isa).neurons;
  const auto x = numbers<T>(n, 0), d = numbers<T>(n, 1);
  for (const Neuron kind : kNeurons) {
    auto y = x, back = d;
    table.activate(kind, y.data(), n);
    table.through(kind, back.data(), y.data(), n, T(2));
    for (int64_t i = 0; i < n; ++i) {
      CHECK_NEAR(y[i], f(kind, x[i]), tolerance * 9);
      CHECK_NEAR(back[i], std::clamp(d[i] * slope(kind, y[i]), -2.0, 2.0), tolerance * 9);
    }
    CHECK_EQUAL(y[n], T(7));
    CHECK_EQUAL(back[n], T(7));
  }
  double most = -100, sum = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max<double>(most, x[i]);
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - most);
  for (const int64_t target : {int64_t{0}, n / 2, n - 1}) {
    auto shares = x;
    const double expected = x[target] - most - std::log(sum);
    CHECK_NEAR(table.log_share(x.data(), n, target), expected, tolerance * 20);
    CHECK_NEAR(table.softmax(shares.data(), n, target), expected, tolerance * 20);
    for (int64_t i = 0; i < n; ++i) {
      CHECK_NEAR(shares[i], std::exp(x[i] - most) / sum - (i == target), tolerance);
    }
    CHECK_EQUAL(shares[n], T(7));
  }
}

template <class T>
void check_steps(Isa isa, int64_t n, double tolerance) {
  const auto& table = dense_table<T>(isa).neurons;
  const auto g = numbers<T>(n, 2), before = numbers<T>(n, 3);
  auto w = before, sums = std::vector<T>(n + 1, T(4)), added = before, by_row = before;
  T row_sum = 4;
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += double(g[i]) * g[i];
  table.adagrad(w.data(), g.data(), sums.data(), n, T(0.5));
  table.adagrad_row(by_row.data(), g.data(), &row_sum, n, T(0.5));
  table.add(added.data(), g.data(), n);
  const double mean = 4 + squares / double(n);
  CHECK_NEAR(row_sum, mean, tolerance * mean);
  for (int64_t i = 0; i < n; ++i) {
    const double sum = 4 + double(g[i]) * g[i];
    CHECK_NEAR(sums[i], sum, tolerance * sum);
    CHECK_NEAR(w[i], before[i] - 0.5 * g[i] / std::sqrt(sum), tolerance * 9);
    CHECK_NEAR(by_row[i], before[i] - 0.5 * g[i] / std::sqrt(mean), tolerance * 9);
    CHECK_NEAR(added[i], double(before[i]) + g[i], tolerance * 18);
  }
  for (const T last : {w[n], added[n], by_row[n]}) CHECK_EQUAL(last, T(7));
  CHECK_EQUAL(sums[n], T(4));
  // Nothing was learnt, so nothing moves.
  T still = 3, none = 0, zero = 0;
  table.adagrad(&still, &none, &zero, 1, T(0.5));
  table.adagrad_row(&still, &none, &zero, 1, T(0.5));
  CHECK_EQUAL(still, T(3));
}

}  // namespace

TEST(elements) {
  for (const Isa isa : supported_isas()) {
    for (const int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 63, 100}) {
      check_elements<float>(isa, n, 4e-7);
      check_elements<double>(isa, n, 1e-14);
      check_steps<float>(isa, n, 1e-6);
      check_steps<double>(isa, n, 1e-14);
    }
  }
}

// Exponents far apart: shares are 0 and 1, and a logarithm does not become infinite before its time.
TEST(far_apart) {
  for (const Isa isa : supported_isas()) {
    const auto& table = dense_table<float>(isa).neurons;
    float x[] = {1000, -1000, 0}, y[] = {1e30f, -1e30f};
    CHECK_NEAR(table.log_share(x, 3, 2), -1000, 1e-3);
    CHECK_NEAR(table.softmax(x, 3, 0), 0, 1e-12);
    CHECK_NEAR(x[0], 0, 1e-12);
    CHECK_NEAR(x[2], 0, 1e-12);
    table.activate(Neuron::sigmoid, y, 2);
    CHECK_EQUAL(y[0], 1.0f);
    CHECK_NEAR(y[1], 0, 1e-30);
  }
}

// Words: 0 unknown, 1 start, 2 end, 3. Class 0 has the end, class 1 the others. All weights but one are 0, so
// both softmaxes are even; the first step of Adagrad goes as far as the rate says, whatever the gradient.
TEST(one_word_by_hand) {
  plain::set_blas();
  const int64_t class_begin[] = {0, 1, 3};
  const int32_t place_of[] = {1, -1, 0, 2}, class_of[] = {1, -1, 0, 1}, ids[] = {3};
  const double rate = 0.25;
  for (const Isa isa : supported_isas()) {
    for (const Neuron kind : kNeurons) {
      double u[4] = {0, 0.7, 0, 0}, r[1] = {}, a[2] = {}, w[3] = {}, b[1] = {}, of_classes[2] = {},
             of_words[3] = {};
      double su[4] = {}, sr[1] = {}, sa[2] = {}, sw[3] = {}, sb[1] = {}, sc[2] = {}, so[3] = {};
      const RnnWeights<double> weights{{u, 4, 1, 1}, {r, 1, 1, 1}, {a, 2, 1, 1}, {w, 3, 1, 1}, b,
                                       of_classes,   of_words};
      const RnnWeights<double> sums{{su, 4, 1, 1}, {sr, 1, 1, 1}, {sa, 2, 1, 1}, {sw, 3, 1, 1}, sb, sc, so};
      const WordClassing classing{class_begin, 2, place_of, class_of};
      const RnnTraining training{kind, 2, 3, false, rate, rate, 15};
      const double s = f(kind, 0.7);
      CHECK_NEAR(rnn_train<double>({ids, 1, 1, 2}, classing, weights, sums, training, isa, 2), std::log(0.25),
                 1e-15);
      const double expected_a[] = {-rate, rate}, expected_w[] = {0, -rate, rate};
      for (int i = 0; i < 2; ++i) {
        CHECK_NEAR(a[i], expected_a[i], 1e-15);
        CHECK_NEAR(of_classes[i], expected_a[i], 1e-15);
        CHECK_NEAR(sa[i], s * s / 4, 1e-15);
      }
      for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(w[i], expected_w[i], 1e-15);
        CHECK_NEAR(of_words[i], expected_w[i], 1e-15);
      }
      CHECK_EQUAL(u[1], 0.7);  // no error reached it
      // The word again: its class is ahead by 2 rate s + 2 rate, and so is it within.
      const int64_t offsets[] = {0, 1};
      const RnnWeights<const double> read{{u, 4, 1, 1}, {r, 1, 1, 1}, {a, 2, 1, 1}, {w, 3, 1, 1}, b,
                                          of_classes,   of_words};
      double found = 0;
      rnn_score<double>(ids, offsets, 1, 1, classing, read, kind, &found, isa, 1);
      CHECK_NEAR(found, -2 * std::log1p(std::exp(-2 * rate * (s + 1))), 1e-14);
    }
  }
}
