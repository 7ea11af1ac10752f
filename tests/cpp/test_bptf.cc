// The draw of a word, and sums over cells, against systems made by hand and by plain loops, for every
// instruction set.

#include "models/bptf.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"
#include "core/philox.h"
#include "kernels/rowsolve.h"
#include "models/bptf_graph.h"

using namespace semproj;

namespace {

double normal(uint64_t seed, int64_t i) {
  return philox_normals(seed, {static_cast<uint32_t>(i), 0, 0, 0})[0];
}

// Vectors of D elements, padded with zeros.
template <class T>
struct Vectors {
  int64_t n, d, stride;
  std::vector<T> data;

  Vectors(int64_t words, int64_t components, uint64_t seed)
      : n(words), d(components), stride(padded(components)), data(static_cast<size_t>(words * stride), T{0}) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < d; ++c) data[i * stride + c] = static_cast<T>(normal(seed, i * d + c));
    }
  }
  double at(int64_t i, int64_t c) const { return static_cast<double>(data[i * stride + c]); }
  MatrixView<T> view() { return {data.data(), n, d, stride}; }
  MatrixView<const T> view() const { return {data.data(), n, d, stride}; }
};

// Cells between words whose numbers differ by 1 to `reach`.
template <class T>
struct Band {
  std::vector<int32_t> rows, cols;
  std::vector<T> values, roots;

  Band(int64_t n_words, int64_t reach, uint64_t seed) {
    for (int64_t i = 0; i < n_words; ++i) {
      for (int64_t j = i + 1; j < std::min(n_words, i + 1 + reach); ++j) {
        rows.push_back(static_cast<int32_t>(i));
        cols.push_back(static_cast<int32_t>(j));
        values.push_back(static_cast<T>(normal(seed, i * n_words + j)));
        roots.push_back(static_cast<T>(0.3 + std::abs(normal(seed + 100, i * n_words + j))));
      }
    }
  }
  Cells<T> cells(int64_t row_list, int64_t col_list, bool weighted = false) const {
    return {rows.data(),
            cols.data(),
            values.data(),
            static_cast<int64_t>(rows.size()),
            row_list,
            col_list,
            weighted ? roots.data() : nullptr};
  }
};

template <class T>
WordLists<T> view_of(const NeighborLists<T>& lists, int64_t n_lists) {
  return {lists.indptr.data(), lists.words.data(), lists.values.data(), n_lists,
          lists.roots.empty() ? nullptr : lists.roots.data()};
}

// m + U^-1 e for C = U'U and C m = b: elimination and substitution without anything clever.
std::vector<double> plain_draw(std::vector<double> c, std::vector<double> b, const std::vector<double>& e) {
  const size_t d = b.size();
  std::vector<double> u(d * d, 0.0);
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = i; j < d; ++j) {
      double sum = c[i * d + j];
      for (size_t k = 0; k < i; ++k) sum -= u[k * d + i] * u[k * d + j];
      u[i * d + j] = i == j ? std::sqrt(sum) : sum / u[i * d + i];
    }
  }
  for (size_t i = 0; i < d; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= u[k * d + i] * b[k];
    b[i] /= u[i * d + i];
  }
  for (size_t i = 0; i < d; ++i) b[i] += e[i];
  for (size_t i = d; i-- > 0;) {
    for (size_t k = i + 1; k < d; ++k) b[i] -= u[i * d + k] * b[k];
    b[i] /= u[i * d + i];
  }
  return b;
}

std::vector<double> noise_of(uint64_t seed, uint32_t sweep, int64_t word, int64_t d) {
  std::vector<double> e(static_cast<size_t>(d));
  for (int64_t i = 0; i < d; ++i) {
    const auto counter = static_cast<uint32_t>(i / 2 * 2);
    e[i] = philox_normals(seed, {static_cast<uint32_t>(word), sweep, counter, 0})[static_cast<size_t>(i % 2)];
  }
  return e;
}

// Two symmetric slices, the second with few cells, and an asymmetric one: four lists.
template <class T>
struct Chain {
  static constexpr int64_t kLists = 4;
  int64_t n, d;
  Band<T> first, second, third;
  NeighborLists<T> lists;
  std::vector<double> precision, precision_mean, maps;
  std::vector<unsigned char> diagonal{1, 1, 0, 0};

  // With weights, those of the second slice are all 1.
  Chain(int64_t words, int64_t components, int64_t reach, bool weighted)
      : n(words), d(components), first(n, reach, 1), second(n, 1, 2), third(n, 3, 3) {
    lists = neighbor_lists<T>({first.cells(0, 0, weighted), second.cells(1, 1), third.cells(2, 3, weighted)},
                              n, kLists, 2);
    precision.assign(static_cast<size_t>(d * d), 0.25);
    for (int64_t i = 0; i < d; ++i) {
      precision[i * d + i] = 2.0 + static_cast<double>(i);
      precision_mean.push_back(0.5 - static_cast<double>(i));
    }
    maps.assign(static_cast<size_t>(kLists * d * d), 0.0);
    for (int64_t i = 0; i < d; ++i) {
      maps[i * d + i] = 1.0 + 0.1 * normal(4, i);
      maps[(d + i) * d + i] = normal(5, i);
      for (int64_t j = 0; j < d; ++j) {
        maps[(2 * d + i) * d + j] = normal(6, i * d + j);
        maps[(3 * d + j) * d + i] = normal(6, i * d + j);  // the transpose: what a column sees
      }
    }
  }
  WordConditional conditional(double alpha) const {
    return {precision.data(), precision_mean.data(), maps.data(), diagonal.data(), alpha};
  }

  double weight(int64_t at) const {
    return lists.roots.empty() ? 1.0
                               : static_cast<double>(lists.roots[at]) * static_cast<double>(lists.roots[at]);
  }

  // Equation 4, cell by cell.
  std::vector<double> expected(const Vectors<T>& v, int64_t word, double alpha, const Draw& draw) const {
    std::vector<double> c = precision, b = precision_mean;
    for (int64_t list = 0; list < kLists; ++list) {
      const double* map = maps.data() + list * d * d;
      for (int64_t at = lists.indptr[word * kLists + list]; at < lists.indptr[word * kLists + list + 1];
           ++at) {
        std::vector<double> q(static_cast<size_t>(d), 0.0);
        const double precise = alpha * weight(at);
        for (int64_t i = 0; i < d; ++i) {
          for (int64_t j = 0; j < d; ++j) q[i] += map[i * d + j] * v.at(lists.words[at], j);
        }
        for (int64_t i = 0; i < d; ++i) {
          for (int64_t j = 0; j < d; ++j) c[i * d + j] += precise * q[i] * q[j];
          b[i] += precise * static_cast<double>(lists.values[at]) * q[i];
        }
      }
    }
    return plain_draw(c, b, noise_of(draw.seed, draw.sweep, word, d));
  }
};

template <class T>
void check_draw(int64_t n, int64_t d, int64_t reach, double tolerance, bool weighted = false) {
  const Chain<T> chain(n, d, reach, weighted);
  const double alpha = 1.5;
  for (const Isa isa : supported_isas()) {
    Vectors<T> vectors(n, d, 7);
    const Vectors<T> before = vectors;
    const Draw draw{11, 3, 2, isa};
    const int32_t words[] = {static_cast<int32_t>(n / 2), 0};
    const int64_t bounds[] = {0, 1, 2};
    CHECK_EQUAL(draw_words<T>(vectors.view(), view_of(chain.lists, 4), chain.conditional(alpha), words,
                              bounds, 2, draw),
                -1);
    Vectors<T> seen = before;  // what each draw was given
    for (const int32_t word : words) {
      const std::vector<double> expected = chain.expected(seen, word, alpha, draw);
      for (int64_t i = 0; i < d; ++i) {
        CHECK_NEAR(vectors.at(word, i), expected[i], tolerance);
        seen.data[word * seen.stride + i] = vectors.data[word * seen.stride + i];
      }
    }
    CHECK(vectors.data == seen.data);  // no other word and nothing of the padding
  }
}

}  // namespace

TEST(a_word_by_hand) {
  // D = 1, precision 2 and mean 3 before; cells 0.5 and -1 with words 4 and 1, seen through M = 2, alpha 0.1:
  // C = 2 + 0.1 (8^2 + 2^2) = 8.8, C m = 6 + 0.1 (0.5 * 8 - 1 * 2) = 6.2.
  const int64_t stride = padded(1);
  std::vector<double> vectors(static_cast<size_t>(3 * stride), 0.0);
  vectors[stride] = 4;
  vectors[2 * stride] = 1;
  const int64_t indptr[] = {0, 2, 3, 4}, bounds[] = {0, 1};
  const int32_t neighbors[] = {1, 2, 0, 0}, word[] = {0};
  const double values[] = {0.5, -1.0, 0.5, -1.0}, precision[] = {2.0}, precision_mean[] = {6.0},
               map[] = {2.0};
  const unsigned char diagonal[] = {1};
  const WordLists<double> lists{indptr, neighbors, values, 1};
  const WordConditional shared{precision, precision_mean, map, diagonal, 0.1};
  CHECK_EQUAL(draw_words<double>({vectors.data(), 3, 1, stride}, lists, shared, word, bounds, 1, {9, 4}), -1);
  const double noise = philox_normals(9, {0, 4, 0, 0})[0];
  CHECK_NEAR(vectors[0], 6.2 / 8.8 + noise / std::sqrt(8.8), 1e-14);
}

TEST(draws_of_words) {
  check_draw<double>(12, 2, 3, 1e-12);
  check_draw<double>(40, 7, 11, 1e-11);
  check_draw<double>(30, 40, 20, 1e-10);
  check_draw<double>(1400, 5, 600, 1e-10);  // more cells than are summed at once
  check_draw<float>(40, 7, 11, 1e-5);
  check_draw<float>(1400, 5, 600, 2e-5);
  check_draw<double>(40, 7, 11, 1e-11, true);
  check_draw<double>(30, 40, 20, 1e-10, true);  // no room for values behind the vectors
  check_draw<double>(1400, 5, 600, 1e-10, true);
  check_draw<float>(1400, 8, 600, 4e-5, true);
}

TEST(a_system_that_is_not_definite_is_named) {
  const Chain<double> chain(12, 3, 2, false);
  std::vector<double> negative(9, 0.0);
  for (int i = 0; i < 3; ++i) negative[static_cast<size_t>(4 * i)] = -1000.0;
  WordConditional shared = chain.conditional(1.0);
  shared.precision = negative.data();
  Vectors<double> vectors(12, 3, 1);
  const int32_t words[] = {5};
  const int64_t bounds[] = {0, 1};
  CHECK_EQUAL(draw_words<double>(vectors.view(), view_of(chain.lists, 4), shared, words, bounds, 1, {1, 1}),
              5);
}

TEST(same_bits_for_any_number_of_threads) {
  const int64_t n = 600;
  const Chain<float> chain(n, 6, 20, true);
  std::vector<int64_t> indptr;
  for (int64_t i = 0; i <= n; ++i) indptr.push_back(chain.lists.indptr[i * 4]);
  const WordClasses classes = color_classes(indptr.data(), chain.lists.words.data(), n);
  Vectors<float> first(n, 6, 3);
  const Vectors<float> start = first;
  const auto run = [&](Vectors<float>& vectors, int n_threads) {
    draw_words<float>(vectors.view(), view_of(chain.lists, 4), chain.conditional(2.0), classes.words.data(),
                      classes.bounds.data(), static_cast<int64_t>(classes.bounds.size()) - 1,
                      {1, 2, n_threads, supported_isas().back()});
  };
  run(first, 1);
  CHECK(first.data != start.data);
  for (const int n_threads : {2, 5}) {
    Vectors<float> other = start;
    run(other, n_threads);
    CHECK(first.data == other.data);
  }
}

TEST(sums_over_cells) {
  const int64_t n = 300, d = 19;
  const Band<double> band(n, 15, 4);  // several thousand cells
  const auto cells = static_cast<int64_t>(band.rows.size());
  const Vectors<double> vectors(n, d, 5);
  std::vector<double> gram(static_cast<size_t>(d * d), 0.0), sum(static_cast<size_t>(d), 0.0), products;
  double squares = 0, sizes = 0;
  for (int64_t c = 0; c < cells; ++c) {
    double product = 0;
    for (int64_t i = 0; i < d; ++i) {
      const double x = vectors.at(band.rows[c], i) * vectors.at(band.cols[c], i);
      const double weighted = band.roots[c] * band.roots[c] * x;
      for (int64_t j = 0; j < d; ++j) {
        gram[i * d + j] += weighted * vectors.at(band.rows[c], j) * vectors.at(band.cols[c], j);
      }
      sum[i] += band.values[c] * weighted;
      product += x;
    }
    products.push_back(product);
    squares += std::pow(band.roots[c] * (band.values[c] - product), 2);
    sizes += std::abs(band.values[c] - product);
  }
  for (const Isa isa : supported_isas()) {
    for (const int n_threads : {1, 3}) {
      std::vector<double> g(gram.size(), -1.0), s(sum.size(), -1.0), p(products.size());
      cell_sums<double>(vectors.view(), band.rows.data(), band.cols.data(), band.values.data(),
                        band.roots.data(), cells, g.data(), s.data(), n_threads, isa);
      for (size_t i = 0; i < g.size(); ++i) CHECK_NEAR(g[i], gram[i], 1e-9);
      for (size_t i = 0; i < s.size(); ++i) CHECK_NEAR(s[i], sum[i], 1e-10);
      // Products are over the padded length, which is zero behind D.
      MatrixView<const double> whole = vectors.view();
      whole.cols = whole.stride;
      pair_products<double>(whole, whole, band.rows.data(), band.cols.data(), cells, p.data(), n_threads,
                            isa);
      for (size_t i = 0; i < p.size(); ++i) CHECK_NEAR(p[i], products[i], 1e-12);
      const Residuals found =
          residual_sums<double>(whole, whole, band.rows.data(), band.cols.data(), band.values.data(),
                                band.roots.data(), cells, n_threads, isa);
      CHECK_NEAR(found.squares, squares, 1e-12 * squares);
      CHECK_NEAR(found.sizes, sizes, 1e-12 * sizes);
    }
  }
}

TEST(gram_matrices_of_lists) {
  const int64_t n = 50, d = 5, begin = 7, count = 20, size = d * (d + 1) / 2;
  const Chain<double> chain(n, d, 4, true);
  const Vectors<double> vectors(n, d, 6);
  for (int64_t list = 0; list < 4; ++list) {
    std::vector<double> grams(static_cast<size_t>(count * size), -1.0), sums(static_cast<size_t>(count * d));
    list_grams<double>(vectors.view(), view_of(chain.lists, 4), list, begin,
                       {grams.data(), count, size, size}, {sums.data(), count, d, d}, 2,
                       supported_isas().back());
    for (int64_t r = 0; r < count; ++r) {
      const int64_t* bounds = chain.lists.indptr.data() + (begin + r) * 4 + list;
      int64_t place = r * size;
      for (int64_t i = 0; i < d; ++i) {
        double sum = 0;
        for (int64_t at = bounds[0]; at < bounds[1]; ++at) {
          sum += chain.weight(at) * chain.lists.values[at] * vectors.at(chain.lists.words[at], i);
        }
        CHECK_NEAR(sums[r * d + i], sum, 1e-12);
        for (int64_t j = i; j < d; ++j, ++place) {
          double product = 0;
          for (int64_t at = bounds[0]; at < bounds[1]; ++at) {
            product += chain.weight(at) * vectors.at(chain.lists.words[at], i) *
                       vectors.at(chain.lists.words[at], j);
          }
          CHECK_NEAR(grams[place], product, 1e-12);
        }
      }
    }
  }
}
