#include "core/philox.h"

#include <cmath>
#include <vector>

#include "check.h"

using semproj::philox;
using semproj::Philox4;

namespace {

void check_block(uint64_t key, const Philox4& counter, const Philox4& expected) {
  const Philox4 got = philox(key, counter);
  for (int i = 0; i < 4; ++i) CHECK_EQUAL(got[i], expected[i]);
}

}  // namespace

// The known answers of the authors' own library (Random123, kat_vectors, philox4x32 10).
TEST(known_answers) {
  check_block(0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check_block(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
              {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check_block(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
              {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(normals_have_the_moments_of_a_normal) {
  constexpr int kDraws = 200000;
  double sum[2] = {}, square[2] = {}, fourth[2] = {}, product = 0;
  for (uint32_t i = 0; i < kDraws; ++i) {
    const auto pair = semproj::philox_normals(7, {i, 1, 2, 3});
    for (int k = 0; k < 2; ++k) {
      sum[k] += pair[k];
      square[k] += pair[k] * pair[k];
      fourth[k] += pair[k] * pair[k] * pair[k] * pair[k];
    }
    product += pair[0] * pair[1];
  }
  for (int k = 0; k < 2; ++k) {  // five standard errors
    CHECK_NEAR(sum[k] / kDraws, 0, 0.012);
    CHECK_NEAR(square[k] / kDraws, 1, 0.016);
    CHECK_NEAR(fourth[k] / kDraws, 3, 0.11);
  }
  CHECK_NEAR(product / kDraws, 0, 0.012);
}

TEST(every_part_of_key_and_counter_counts) {
  const auto base = philox(1, {1, 1, 1, 1});
  CHECK(philox(2, {1, 1, 1, 1}) != base);
  CHECK(philox(1 | uint64_t{1} << 32, {1, 1, 1, 1}) != base);
  for (int i = 0; i < 4; ++i) {
    Philox4 counter{1, 1, 1, 1};
    counter[i] = 2;
    CHECK(philox(1, counter) != base);
  }
}
