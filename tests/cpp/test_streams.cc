// Bounds by one pass over rows, and products of narrow numbers, against plain loops in double, for every
// instruction set.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.h"
#include "core/philox.h"
#include "kernels/dispatch.h"

using namespace semproj;

namespace {

std::vector<float> gaussian(int64_t n, uint64_t seed) {
  std::vector<float> out(static_cast<size_t>(n));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(philox_normals(seed, {static_cast<uint32_t>(i), 0, 0, 0})[0]);
  }
  return out;
}

struct Found {
  std::vector<float> lower, upper, sizes;
  simd::Sizes seen{};
};

// With guards beyond the end, which nobody may write to.
Found run(simd::Sizes (*stream)(const simd::StreamOperands&), const std::vector<float>& rows, int64_t stride,
          int64_t n, const std::vector<float>& query, int64_t depth, float slack) {
  const std::vector<float> guarded(static_cast<size_t>(n) + 16, -77.0f);
  Found found{guarded, guarded, guarded, {}};
  simd::StreamOperands on{
      rows.data(),       stride, n, query.data(), depth, slack, found.lower.data(), found.upper.data(),
      found.sizes.data()};
  found.seen = stream(on);
  for (size_t i = static_cast<size_t>(n); i < guarded.size(); ++i) {
    CHECK(found.lower[i] == -77 && found.upper[i] == -77 && found.sizes[i] == -77);
  }
  return found;
}

}  // namespace

TEST(bounds_are_around_plain_sums) {
  constexpr float kSlack = 0x1p-10f;
  for (const Isa isa : supported_isas()) {
    const simd::StreamTable& table = simd_table(isa).streams;
    for (const int64_t d : {16, 17, 20, 31, 32, 33, 47, 48, 63, 64, 200, 257}) {
      for (const int64_t n : {1, 3, 4, 15, 16, 17, 33}) {
        const int64_t stride = d + 5;  // the numbers between rows belong to none
        const auto rows = gaussian(n * stride, 1), query = gaussian(d, 2);
        const Found inner = run(table.inner, rows, stride, n, query, d, kSlack);
        const Found cosine = run(table.cosine, rows, stride, n, query, d, kSlack);
        const Found l1 = run(table.l1, rows, stride, n, query, d, kSlack);
        double least = 1e30, most = 0;
        for (int64_t i = 0; i < n; ++i) {
          double product = 0, squares = 0, distance = 0;
          for (int64_t k = 0; k < d; ++k) {
            const double c = rows[i * stride + k], q = query[k];
            product += q * c, squares += c * c, distance += std::abs(q - c);
          }
          const double length = std::sqrt(squares), near = 1e-5 * static_cast<double>(d);
          least = std::min(least, squares), most = std::max(most, squares);
          CHECK_NEAR(inner.sizes[i], squares, near);
          CHECK_NEAR(inner.lower[i], product - kSlack * length, near);
          CHECK_NEAR(inner.upper[i], product + kSlack * length, near);
          CHECK_NEAR(cosine.sizes[i], squares, near);
          CHECK_NEAR(cosine.lower[i], product / length - kSlack, 1e-5);
          CHECK_NEAR(cosine.upper[i], product / length + kSlack, 1e-5);
          CHECK_NEAR(l1.sizes[i], distance, near);
          CHECK_NEAR(l1.lower[i], -distance * (1 + kSlack), near);
          CHECK_NEAR(l1.upper[i], -distance * (1 - kSlack), near);
        }
        CHECK_NEAR(inner.seen.least, least, 1e-4 * least);
        CHECK_NEAR(inner.seen.most, most, 1e-4 * most);
      }
    }
  }
}

TEST(rows_that_cannot_be_bounded_are_noticed) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : supported_isas()) {
    const simd::StreamTable& table = simd_table(isa).streams;
    for (const int64_t column : {0, 15, 16, 40, 42}) {
      for (const int64_t row : {0, 16, 18}) {
        const std::vector<float> query(43, 1.0f);
        for (const float value : {nan, inf, -inf, 3e38f}) {
          std::vector<float> rows(43 * 19, 1.0f);
          rows[row * 43 + column] = value;
          CHECK_EQUAL(run(table.inner, rows, 43, 19, query, 43, 0).seen.most, inf);
          CHECK_EQUAL(run(table.cosine, rows, 43, 19, query, 43, 0).seen.most, inf);
          CHECK_EQUAL(run(table.l1, rows, 43, 19, query, 43, 0).seen.most, inf);
        }
        std::vector<float> rows(43 * 19, 1.0f);
        for (int64_t k = 0; k < 43; ++k) rows[row * 43 + k] = 0;
        CHECK_EQUAL(run(table.cosine, rows, 43, 19, query, 43, 0).seen.least, 0);
      }
    }
  }
}

TEST(products_of_bytes_are_exact_and_of_halves_near) {
  for (const Isa isa : supported_isas()) {
    const simd::CodeTable& table = simd_table(isa).codes;
    for (const int64_t d : {1, 7, 8, 9, 16, 17, 63, 64, 65, 200, 1000}) {
      constexpr int64_t kRows = 5;
      const int64_t stride = d + 3;
      std::vector<uint8_t> codes(static_cast<size_t>(kRows * stride), 255);
      std::vector<int8_t> query(static_cast<size_t>(d) + 64, 127);
      for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(1 + i * 97 % 255);
      for (int64_t k = 0; k < d; ++k) query[k] = static_cast<int8_t>(k * 59 % 255 - 127);
      int32_t sums[kRows];
      table.bytes(codes.data(), stride, kRows, query.data(), d, sums);
      for (int64_t i = 0; i < kRows; ++i) {
        int32_t expected = 0;
        for (int64_t k = 0; k < d; ++k) expected += int32_t{codes[i * stride + k]} * query[k];
        CHECK_EQUAL(sums[i], expected);
      }
      if (table.halves == nullptr) continue;
      // Halves of 1, 1.5, -2 and the smallest one, 2^-24.
      const uint16_t bits[] = {0x3c00, 0x3e00, 0xc000, 0x0001};
      const double values[] = {1, 1.5, -2, 0x1p-24};
      std::vector<uint16_t> halves(codes.size());
      for (size_t i = 0; i < halves.size(); ++i) halves[i] = bits[i * 7 % 4];
      const auto floats = gaussian(d + 16, 3);
      float found[kRows];
      table.halves(halves.data(), stride, kRows, floats.data(), d, found);
      for (int64_t i = 0; i < kRows; ++i) {
        double expected = 0;
        for (int64_t k = 0; k < d; ++k) expected += values[(i * stride + k) * 7 % 4] * floats[k];
        CHECK_NEAR(found[i], expected, 1e-6 * static_cast<double>(d) + 1e-6);
      }
    }
  }
}
