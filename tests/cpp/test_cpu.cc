#include "core/cpu.h"

#include <stdexcept>

#include "check.h"
#include "kernels/dispatch.h"

using namespace semproj;

TEST(baseline_always_runs) {
  CHECK(!supported_isas().empty());
  CHECK(supported_isas().front() == Isa::baseline);
  CHECK(choose_isa("baseline") == Isa::baseline);
}

TEST(best_by_default) {
  CHECK(choose_isa("") == supported_isas().back());
}

TEST(names_round_trip_or_say_why_not) {
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    bool supported = false;
    for (const Isa s : supported_isas()) supported = supported || s == isa;
    if (supported) {
      CHECK(choose_isa(name_of(isa)) == isa);
    } else {
      CHECK_THROWS(std::runtime_error, std::string("SEMPROJ_ISA=") + name_of(isa), choose_isa(name_of(isa)));
    }
  }
}

TEST(unknown_name) {
  CHECK_THROWS(std::invalid_argument, "SEMPROJ_ISA=sse9: expected baseline, avx2 or avx512",
               choose_isa("sse9"));
  CHECK_THROWS(std::invalid_argument, "AVX2", choose_isa("AVX2"));
}

TEST(every_variant_has_one_table_of_its_own_functions) {
  const std::vector<Isa> all = supported_isas();
  for (size_t i = 0; i < all.size(); ++i) {
    const simd::Table& table = simd_table(all[i]);
    CHECK(&table == &simd_table(all[i]));
    for (size_t j = 0; j < i; ++j) {
      const simd::Table& other = simd_table(all[j]);
      CHECK(table.tiles.tile_f32 != other.tiles.tile_f32);
      CHECK(table.scores.inner != other.scores.inner);
      CHECK(table.topics.document != other.topics.document);
      CHECK(table.duals.squares != other.duals.squares);
      CHECK(dense_table<float>(all[i]).rows.combine != dense_table<float>(all[j]).rows.combine);
      CHECK(dense_table<double>(all[i]).systems.solve != dense_table<double>(all[j]).systems.solve);
    }
  }
}
