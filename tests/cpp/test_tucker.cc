// One link of the chain of products with a sparse tensor, against plain loops.

#include "models/tucker.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.h"
#include "plain_blas.h"

using namespace semproj;
using plain::Dense;

namespace {

// out[p] += factor[key] (x) child for the children [first, last) of all.
template <class T>
void check_fold(const std::vector<int64_t>& counts, int64_t rank, int64_t width, int64_t first, int64_t last,
                double tolerance) {
  std::vector<int64_t> offsets{0}, keys;
  for (const int64_t count : counts) offsets.push_back(offsets.back() + count);
  const int64_t n = offsets.back();
  for (int64_t c = 0; c < n; ++c) keys.push_back((c * 7 + 3) % 11);
  const Dense<T> factor(11, rank, 2, 1), children(n, width, 3, 2);
  Dense<T> expected(static_cast<int64_t>(counts.size()), rank * width, 1, 3);
  const Dense<T> before = expected;
  for (size_t p = 0; p < counts.size(); ++p) {
    for (int64_t c = std::max(first, offsets[p]); c < std::min(last, offsets[p + 1]); ++c) {
      for (int64_t r = 0; r < rank; ++r) {
        for (int64_t x = 0; x < width; ++x) {
          expected.at(p, r * width + x) += factor.at(keys[c], r) * children.at(c, x);
        }
      }
    }
  }
  MatrixView<const T> part = children.view();
  part.data += first * children.stride;
  part.rows = last - first;
  for (const int n_threads : {1, 2, 5}) {
    Dense<T> out = before;
    fold_fibres<T>(offsets.data(), keys.data() + first, factor.view(), part, first, out.mutable_view(),
                   n_threads);
    for (int64_t p = 0; p < out.rows; ++p) {
      for (int64_t i = 0; i < rank * width; ++i) CHECK_NEAR(out.at(p, i), expected.at(p, i), tolerance);
      CHECK_EQUAL(out.data[p * out.stride + rank * width], before.data[p * out.stride + rank * width]);
    }
  }
}

}  // namespace

TEST(by_hand) {
  plain::set_blas();
  // Two parents with children {0, 1} and {2}: factor rows (1, 10), (2, 20), children of two elements.
  const int64_t offsets[] = {0, 2, 3}, keys[] = {0, 1, 1};
  const double factor[] = {1, 10, 2, 20}, children[] = {1, 2, 3, 4, 5, 6};
  double out[8] = {};
  fold_fibres<double>(offsets, keys, {factor, 2, 2, 2}, {children, 3, 2, 2}, 0, {out, 2, 4, 4}, 1);
  const double expected[] = {7, 10, 70, 100, 10, 12, 100, 120};
  for (int i = 0; i < 8; ++i) CHECK_EQUAL(out[i], expected[i]);
}

TEST(any_number_of_children) {
  for (const int64_t width : {1, 7, 130}) {
    check_fold<double>({1}, 3, width, 0, 1, 1e-12);
    check_fold<double>({0, 7, 8, 0, 9}, 3, width, 0, 24, 1e-11);
    check_fold<double>({511, 512, 513, 1025}, 2, width, 0, 2561, 1e-9);
    check_fold<float>({3, 2000}, 2, width, 0, 2003, 2e-3);
  }
  check_fold<double>(std::vector<int64_t>(100, 2), 2, 3, 0, 200, 1e-11);  // more than one task
}

TEST(a_level_in_pieces) {
  check_fold<double>({2, 9, 0, 600, 3}, 3, 5, 1, 5, 1e-11);
  check_fold<double>({2, 9, 0, 600, 3}, 3, 5, 4, 300, 1e-10);
  check_fold<double>({2, 9, 0, 600, 3}, 3, 5, 613, 614, 1e-11);
  check_fold<double>({2, 9}, 3, 5, 4, 4, 1e-11);
}

TEST(long_sums_are_in_double) {
  // Beside 2^24 a float32 sum would lose every one that follows; only those of the first block may be lost.
  const int64_t n = 1 << 14, offsets[] = {0, n};
  std::vector<int64_t> keys(n, 0);
  keys[0] = 1;
  const float factor[] = {1.0f, 16777216.0f};
  const std::vector<float> children(n, 1.0f);
  float out = 0;
  fold_fibres<float>(offsets, keys.data(), {factor, 2, 1, 1}, {children.data(), n, 1, 1}, 0, {&out, 1, 1, 1},
                     1);
  CHECK_NEAR(out, 16777216.0 + n, 512.0);
}

TEST(same_bits_for_any_number_of_threads) {
  const Dense<float> factor(5, 4, 0, 1), children(5000, 200, 0, 2);
  const int64_t offsets[] = {0, 5000};
  std::vector<int64_t> keys(5000);
  for (size_t c = 0; c < keys.size(); ++c) keys[c] = static_cast<int64_t>(c % 5);
  std::vector<float> first(800, 0.0f);
  fold_fibres<float>(offsets, keys.data(), factor.view(), children.view(), 0, {first.data(), 1, 800, 800}, 1);
  for (const int n_threads : {2, 7}) {
    std::vector<float> other(800, 0.0f);
    fold_fibres<float>(offsets, keys.data(), factor.view(), children.view(), 0, {other.data(), 1, 800, 800},
                       n_threads);
    CHECK(first == other);
  }
}
