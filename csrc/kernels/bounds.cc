// Scores are float32 sums in a fixed order. Any other sum of the same terms is within a few hundred roundings
// of the product of lengths, or of the distance: so each score is bounded from both sides by one that is
// summed as the machine likes. A row c of narrow numbers is c' + e, where |e| is known; bytes have a query of
// q' + f besides. Then
//
//   |q c - q' c'|  <=  |q| |e| + |f| |c'|  +  rounding.
//
// Precision: bounds in float32, widened for its rounding and that of the scores. Rows so long or so short
// that their squares leave its range (lengths beyond 1e15, or below 1e-15) get bounds that exclude nothing.

#include "kernels/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace semproj {
namespace {

constexpr float kLeast = -std::numeric_limits<float>::infinity();
constexpr float kMost = std::numeric_limits<float>::max();

}  // namespace

BoundedQuery::BoundedQuery(const ComparedRows& queries, int64_t i, const simd::ScoreTable& table,
                           const NarrowRows& narrow)
    : values(aligned_array<float>(static_cast<size_t>(queries.depth()))) {
  const int64_t d = queries.depth();
  table.scale(queries.row(i), queries.scale(i, 0), queries.scale(i, 1), d, values.get());
  length = static_cast<float>(std::sqrt(table.sum(values.get(), d, simd::RowSum::squares)));
  if (narrow.halves != nullptr) {
    for (int64_t j = 0; j < d; ++j) {
      values[j] = length > 0 ? static_cast<float>(values[j] / static_cast<double>(length)) : 0;
    }
  }
  if (narrow.bytes == nullptr) return;
  float largest = 0;
  for (int64_t j = 0; j < d; ++j) largest = std::max(largest, std::abs(values[j]));
  step = largest > 0 ? largest / 127 : 1;
  double squares = 0;
  bytes.resize(static_cast<size_t>(d));
  for (int64_t j = 0; j < d; ++j) {
    // In double, and clamped: a quotient of subnormals may be far from 127.
    const double code = std::clamp(std::rint(static_cast<double>(values[j]) / step), -127.0, 127.0);
    bytes[static_cast<size_t>(j)] = static_cast<int8_t>(code);
    bias += 128 * static_cast<int32_t>(code);
    const double rest = values[j] - code * step;
    squares += rest * rest;
  }
  error = static_cast<float>(std::sqrt(squares));
}

// Roundings of a score: one for each of 256 columns, then one for each 256 of them, and three for the
// scales. Of a sum along a row: at most one for 8 columns, and a dozen.
float Bounds::slack() const {
  const auto d = static_cast<float>(corpus_.depth());
  return 1.01f * (std::min(d, 256.0f) + d / 256 + d / 8 + 32) * 0x1p-24f;
}

double Bounds::find(const BoundedQuery& query, int64_t begin, int64_t end, float* lower, float* upper) const {
  if (!narrow_.exists()) return find_in_rows(query, begin, end, lower, upper);
  find_in_copies(query, begin, end, lower, upper);
  return 0;
}

double Bounds::find_in_rows(const BoundedQuery& query, int64_t begin, int64_t end, float* lower,
                            float* upper) const {
  float sizes[kBlockColumns];
  simd::StreamOperands on{};
  on.rows = corpus_.row(begin);
  on.stride = corpus_.stride();
  on.n = end - begin;
  on.query = query.values.get();
  on.depth = corpus_.depth();
  on.slack = metric_ == Metric::inner_product ? slack() * query.length : slack();
  on.lower = lower;
  on.upper = upper;
  on.sizes = sizes;
  const bool squares = metric_ != Metric::l1;
  const auto find = metric_ == Metric::cosine ? table_.streams.cosine
                    : squares                 ? table_.streams.inner
                                              : table_.streams.l1;
  const simd::Sizes seen = find(on);
  const float least = squares ? simd::kLeastSize : 0;
  if (seen.least >= least && seen.most <= simd::kMostSize) {
    return squares ? std::sqrt(static_cast<double>(seen.most)) : static_cast<double>(seen.most);
  }
  double longest = 0;
  for (int64_t i = 0; i < end - begin; ++i) {
    const bool fits = sizes[i] >= least && sizes[i] <= simd::kMostSize;
    const double size = squares ? std::sqrt(static_cast<double>(sizes[i])) : static_cast<double>(sizes[i]);
    longest = std::max(longest, fits ? size : look_closer(begin + i, lower + i, upper + i));
  }
  return longest;
}

double Bounds::look_closer(int64_t i, float* lower, float* upper) const {
  const double length = corpus_.length_of(i);
  *lower = -kMost;
  *upper = kMost;
  if (length == 0 && metric_ == Metric::cosine) *lower = *upper = kLeast;
  if (length == 0 && metric_ == Metric::inner_product) *lower = *upper = 0;
  return length;
}

void Bounds::find_in_copies(const BoundedQuery& query, int64_t begin, int64_t end, float* lower,
                            float* upper) const {
  const int64_t d = corpus_.depth(), n = end - begin;
  if (narrow_.bytes != nullptr) {
    int32_t sums[kBlockColumns];
    table_.codes.bytes(narrow_.bytes + begin * d, d, n, query.bytes.data(), d, sums);
    for (int64_t i = 0; i < n; ++i) {
      const double step = static_cast<double>(query.step) * narrow_.scale[begin + i];
      lower[i] = static_cast<float>((sums[i] - query.bias) * step);
    }
  } else {
    table_.codes.halves(narrow_.halves + begin * d, d, n, query.values.get(), d, lower);
    for (int64_t i = 0; i < n; ++i) {
      lower[i] = static_cast<float>(static_cast<double>(query.length) * narrow_.scale[begin + i] * lower[i]);
    }
  }
  const float rounding = slack() * query.length;
  for (int64_t i = 0; i < n; ++i) {
    const auto length = static_cast<float>(metric_ == Metric::cosine ? 1.001 : corpus_.length(begin + i));
    const float error = narrow_.error[begin + i];
    const float reach =
        1.001f * (query.length * error + (query.error + rounding) * (length + error)) + 0x1p-120f;
    upper[i] = lower[i] + reach;
    lower[i] -= reach;
  }
  if (metric_ != Metric::cosine) return;
  for (int64_t i = 0; i < n; ++i) {
    if (corpus_.length(begin + i) == 0) lower[i] = upper[i] = kLeast;
  }
}

}  // namespace semproj
