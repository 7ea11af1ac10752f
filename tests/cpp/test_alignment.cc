// Sentence alignment by hand-made lengths.

#include "models/alignment.h"

#include <cmath>
#include <vector>

#include "check.h"

using namespace semproj;

namespace {

using Lengths = std::vector<int32_t>;

std::string shape(const std::vector<Bead>& beads) {
  std::string text;
  for (const Bead& b : beads) {
    if (!text.empty()) text += ' ';
    text +=
        std::to_string(b.source_end - b.source_begin) + '-' + std::to_string(b.target_end - b.target_begin);
  }
  return text;
}

}  // namespace

TEST(equal_lengths_match_one_to_one) {
  const auto beads = align_lengths(Lengths{100, 30, 70}, Lengths{100, 30, 70}, {});
  CHECK_EQUAL(shape(beads), "1-1 1-1 1-1");
  for (const Bead& b : beads) CHECK_EQUAL(b.score, 0.0f);
}

TEST(a_cut_sentence_is_put_together) {
  CHECK_EQUAL(shape(align_lengths(Lengths{100, 200, 40}, Lengths{100, 90, 110, 40}, {})), "1-1 1-2 1-1");
  CHECK_EQUAL(shape(align_lengths(Lengths{100, 90, 110, 40}, Lengths{100, 200, 40}, {})), "1-1 2-1 1-1");
}

TEST(a_missing_part_is_passed_over) {
  const auto beads = align_lengths(Lengths{100, 300, 20, 250, 50, 60}, Lengths{100, 50, 60}, {});
  CHECK_EQUAL(shape(beads), "1-1 1-0 1-0 1-0 1-1 1-1");
  CHECK_NEAR(beads[1].score, std::log(0.01), 1e-6);
}

TEST(one_sentence_takes_all) {
  const auto beads = align_lengths(Lengths{10}, Lengths{4, 9, 2}, {});
  CHECK_EQUAL(shape(beads), "1-3");
  CHECK_NEAR(beads[0].score, -25.0 / (6.8 * 25), 1e-6);
  CHECK(align_lengths(Lengths{}, Lengths{4, 9}, {}).empty());
  CHECK(align_lengths(Lengths{1}, Lengths{}, {}).empty());
}

TEST(the_band_widens_where_the_path_needs_it) {
  // A long part is missing at the beginning of one side, so the path runs far from the diagonal.
  Lengths source, target;
  for (int i = 0; i < 200; ++i) source.push_back(20 + (i * 37) % 300);
  for (int i = 0; i < 150; ++i) source.push_back(20 + (i * 71) % 290);
  for (int i = 200; i < 350; ++i) target.push_back(source[i]);
  BeadModel narrow, wide;
  narrow.band = 4;
  wide.band = 1000;
  const auto a = align_lengths(source, target, narrow), b = align_lengths(source, target, wide);
  CHECK_EQUAL(a.size(), b.size());
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    CHECK_EQUAL(a[i].source_begin, b[i].source_begin);
    CHECK_EQUAL(a[i].target_begin, b[i].target_begin);
  }
}
