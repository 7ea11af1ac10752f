// Weighted row solves on a case done by hand and against plain elimination, for every instruction set; the
// small symmetric systems below them.

#include "kernels/rowsolve.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "check.h"
#include "core/philox.h"
#include "kernels/dispatch.h"

using namespace semproj;

namespace {

double normal(uint64_t seed, int64_t i) {
  return philox_normals(seed, {static_cast<uint32_t>(i), 0, 0, 0})[0];
}

// Solves A x = b (n x n, row-major) by elimination, without pivoting: A is positive definite.
std::vector<double> plain_solve(std::vector<double> a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = k + 1; i < n; ++i) {
      const double f = a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
      b[i] -= f * b[k];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t j = i + 1; j < n; ++j) b[i] -= a[i * n + j] * b[j];
    b[i] /= a[i * n + i];
  }
  return b;
}

// L^-1 for the Cholesky factor L of S.
std::vector<double> inverse_factor(const std::vector<double>& s, int64_t k) {
  std::vector<double> l(s.size(), 0.0), inverse(s.size(), 0.0);
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = s[i * k + j];
      for (int64_t p = 0; p < j; ++p) sum -= l[i * k + p] * l[j * k + p];
      l[i * k + j] = i == j ? std::sqrt(sum) : sum / l[j * k + j];
    }
    for (int64_t j = 0; j <= i; ++j) {
      double sum = i == j ? 1 : 0;
      for (int64_t p = j; p < i; ++p) sum -= l[i * k + p] * inverse[p * k + j];
      inverse[i * k + j] = sum / l[i * k + i];
    }
  }
  return inverse;
}

// Factors, the part that all rows share, and what a plain solve says of a row.
template <class T>
struct Problem {
  int64_t n, k, stride;
  double missing_weight;
  std::vector<T> factors, whitened, inverse;
  std::vector<double> matrix;

  Problem(int64_t n_factors, int64_t n_components, double missing, double reg, std::vector<T> values)
      : n(n_factors),
        k(n_components),
        stride(padded(n_components)),
        missing_weight(missing),
        factors(values) {
    matrix.assign(static_cast<size_t>(k * k), 0.0);
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < k; ++j) {
        for (int64_t r = 0; r < n; ++r) matrix[i * k + j] += missing * y(r, i) * y(r, j);
      }
      matrix[i * k + i] += reg;
    }
    const std::vector<double> small = inverse_factor(matrix, k);
    inverse.assign(static_cast<size_t>(stride * stride), T{0});
    whitened.assign(static_cast<size_t>(n * stride), T{0});
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j <= i; ++j) inverse[i * stride + j] = static_cast<T>(small[i * k + j]);
      for (int64_t r = 0; r < n; ++r) {
        double sum = 0;
        for (int64_t j = 0; j <= i; ++j) sum += small[i * k + j] * y(r, j);
        whitened[r * stride + i] = static_cast<T>(sum);
      }
    }
  }

  double y(int64_t r, int64_t i) const { return static_cast<double>(factors[r * k + i]); }

  SharedSystem<T> view(bool singular = false) const {
    return {{factors.data(), n, k, k},
            singular ? nullptr : whitened.data(),
            inverse.data(),
            matrix.data(),
            1e-3,
            missing_weight};
  }

  std::vector<double> row(const std::vector<int32_t>& index, const std::vector<T>& x,
                          const std::vector<T>& weight) const {
    std::vector<double> a = matrix, b(static_cast<size_t>(k), 0.0);
    for (size_t e = 0; e < index.size(); ++e) {
      const double c = weight.empty() ? 1.0 : static_cast<double>(weight[e]);
      for (int64_t i = 0; i < k; ++i) {
        b[i] += c * static_cast<double>(x[e]) * y(index[e], i);
        for (int64_t j = 0; j < k; ++j)
          a[i * k + j] += (c - missing_weight) * y(index[e], i) * y(index[e], j);
      }
    }
    return plain_solve(a, b);
  }
};

template <class T>
void compare_with_plain(int64_t k, bool with_weights, double tolerance) {
  const int64_t n = 150;
  std::vector<T> factors(static_cast<size_t>(n * k));
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<T>(normal(7, static_cast<int64_t>(i)));
  const Problem<T> problem(n, k, 0.05, 2.0, factors);
  const std::vector<int64_t> lengths{0, 1, 3, 31, 32, 33, 5, 40, 100, 150, 8,
                                     8, 8, 8, 8,  8,  8,  8, 8,  7,   2,   k};
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  std::vector<T> data, weights;
  for (size_t r = 0; r < lengths.size(); ++r) {
    for (int64_t e = 0; e < lengths[r]; ++e) {
      indices.push_back(static_cast<int32_t>((static_cast<int64_t>(r) * 11 + e) % n));
      data.push_back(static_cast<T>(3 + normal(8, static_cast<int64_t>(data.size()))));
      // Some rows have weights below that of missing cells, some just that.
      const double weight = r % 5 == 0 ? 0.05 : r % 5 == 1 ? 0.01 * static_cast<double>(e % 9) : 1.5;
      weights.push_back(static_cast<T>(weight));
    }
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
  const auto rows = static_cast<int64_t>(lengths.size());
  const CsrView<int32_t, T> x{rows, n, indptr.data(), indices.data(), data.data()};
  for (const Isa isa : supported_isas()) {
    for (const int64_t longest_short : {int64_t{-1}, int64_t{0}, int64_t{1000}}) {
      std::vector<T> out(static_cast<size_t>(rows * k), T{-1});
      solve_rows<T>(x, with_weights ? weights.data() : nullptr, problem.view(), {out.data(), rows, k, k},
                    {longest_short, 2, isa});
      for (int64_t r = 0; r < rows; ++r) {
        const std::vector<int32_t> index(indices.begin() + indptr[r], indices.begin() + indptr[r + 1]);
        const std::vector<T> values(data.begin() + indptr[r], data.begin() + indptr[r + 1]);
        std::vector<T> c;
        if (with_weights) c.assign(weights.begin() + indptr[r], weights.begin() + indptr[r + 1]);
        const std::vector<double> expected = problem.row(index, values, c);
        double largest = 1e-30, worst = 0;
        for (int64_t i = 0; i < k; ++i) {
          largest = std::max(largest, std::abs(expected[i]));
          worst = std::max(worst, std::abs(static_cast<double>(out[r * k + i]) - expected[i]));
        }
        // A long row the short way is a system larger than it need be, and cancels more.
        CHECK_NEAR(worst / largest, 0.0, longest_short == 1000 ? 10 * tolerance : tolerance);
      }
    }
  }
}

}  // namespace

TEST(by_hand) {
  // y = (1, 0), (0, 1), (1, 1); missing weight 0.5, reg 1: S = (2, .5; .5, 2). Entry 4 at the first:
  // (2.5, .5; .5, 2) q = (4, 0), so q = (8, -2) / 4.75, and 16 - b . q = 16 - 32 / 4.75.
  const Problem<double> problem(3, 2, 0.5, 1.0, {1, 0, 0, 1, 1, 1});
  const std::vector<int64_t> indptr{0, 1, 1};
  const std::vector<int32_t> indices{0};
  const std::vector<double> data{4};
  const CsrView<int32_t, double> x{2, 3, indptr.data(), indices.data(), data.data()};
  for (const Isa isa : supported_isas()) {
    std::vector<double> out(4, -1.0);
    const double value = solve_rows<double>(x, nullptr, problem.view(), {out.data(), 2, 2, 2}, {-1, 1, isa});
    CHECK_NEAR(out[0], 8 / 4.75, 1e-14);
    CHECK_NEAR(out[1], -2 / 4.75, 1e-14);
    CHECK_EQUAL(out[2], 0.0);
    CHECK_EQUAL(out[3], 0.0);
    CHECK_NEAR(value, 16 - 32 / 4.75, 1e-14);
  }
}

TEST(against_plain_elimination) {
  for (const int64_t k : {1, 2, 15, 16, 17, 40}) {
    for (const bool with_weights : {false, true}) {
      compare_with_plain<double>(k, with_weights, 1e-10);
      compare_with_plain<float>(k, with_weights, 1e-5);
    }
  }
}

TEST(singular_system_names_its_row) {
  const Problem<double> problem(3, 2, 0.5, 1.0, {1, 0, 0, 1, 1, 1});
  SharedSystem<double> shared = problem.view(true);
  const std::vector<double> zero(4, 0.0);
  shared.matrix = zero.data();
  shared.missing_weight = 0;
  const std::vector<int64_t> indptr{0, 2, 3};
  const std::vector<int32_t> indices{0, 1, 2};
  const std::vector<double> data{1, 1, 1};
  const CsrView<int32_t, double> x{2, 3, indptr.data(), indices.data(), data.data()};
  std::vector<double> out(4);
  int64_t row = -1;
  try {
    solve_rows<double>(x, nullptr, shared, {out.data(), 2, 2, 2}, {});
  } catch (const SingularSystem& e) {
    row = e.row();
  }
  CHECK_EQUAL(row, 1);
}

TEST(gram_of_a_table) {
  const int64_t n = 5000, k = 19;  // more rows than are summed in double throughout
  std::vector<float> table(static_cast<size_t>(n * k));
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(normal(3, static_cast<int64_t>(i)));
  std::vector<double> one(static_cast<size_t>(k * k)), two(one);
  for (const Isa isa : supported_isas()) {
    table_gram<float>({table.data(), n, k, k}, one.data(), 1, isa);
    table_gram<float>({table.data(), n, k, k}, two.data(), 5, isa);
    CHECK(one == two);
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < k; ++j) {
        double sum = 0;
        for (int64_t r = 0; r < n; ++r) sum += static_cast<double>(table[r * k + i]) * table[r * k + j];
        CHECK_NEAR(one[i * k + j], sum, 1e-3);
      }
    }
  }
}

TEST(inverse_norm_is_of_the_right_size) {
  const auto& systems = simd_table(Isa::baseline).float64.systems;
  const int64_t n = 20, stride = 32;
  std::vector<double> a(static_cast<size_t>(n * stride), 0.0), least(n, 0.0), scratch(n);
  for (int64_t i = 0; i < n; ++i) {  // eigenvalues of the second difference: 4 sin^2(i pi / 42)
    a[i * stride + i] = 2;
    if (i + 1 < n) a[i * stride + i + 1] = -1;
  }
  CHECK_EQUAL(systems.factor(a.data(), n, stride, least.data()), n);
  const double norm = 1 / (4 * std::pow(std::sin(3.14159265358979 / 42), 2));
  const double found = systems.inverse_norm(a.data(), n, stride, scratch.data());
  CHECK(found <= norm * (1 + 1e-12));
  CHECK(found >= norm / 3);
}
