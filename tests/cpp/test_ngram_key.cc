// Keys of 64, 128 and 192 bits by hand, and sorted records whatever their keys.

#include "lm/key_layout.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.h"
#include "lm/record_runs.h"

using namespace semproj::lm;

namespace {

template <int kWords>
Key<kWords> key_of(const KeyLayout<kWords>& layout, const std::vector<uint32_t>& codes) {
  Wide<kWords> value(0);
  for (const uint32_t code : codes) value = layout.next(value, code);
  return Key<kWords>::of(value);
}

template <int kWords>
void check_layout(int order, int bits) {
  const KeyLayout<kWords> layout(order, bits), below(order - 1, bits);
  const uint32_t top = (1u << bits) - 1;
  std::vector<uint32_t> codes;
  for (int i = 0; i < order; ++i) codes.push_back(i % 2 == 0 ? top - static_cast<uint32_t>(i) : 1 + i);
  const Key<kWords> key = key_of(layout, codes);
  for (int i = 0; i < order; ++i) CHECK_EQUAL(layout.code(key, i), codes[order - 1 - i]);
  CHECK(layout.to_suffix_order(layout.to_context_order(key)) == key);
  // The context is the n-gram without its last word, the suffix that without its first.
  const std::vector<uint32_t> context(codes.begin(), codes.end() - 1), suffix(codes.begin() + 1, codes.end());
  CHECK(layout.context(layout.to_context_order(key)) == key_of(below, context));
  CHECK(layout.suffix(key, order - 1) == key_of(below, suffix));
  CHECK(layout.suffix(key, order) == key);
  for (int i = 0; i < order; ++i) {  // other words from the i-th on, seen from the end
    std::vector<uint32_t> other = codes;
    other[order - 1 - i] ^= 1;
    CHECK_EQUAL(layout.common(key, key_of(layout, other)), i);
    CHECK_EQUAL(layout.length(key_of(layout, {codes.end() - 1 - i, codes.end()})), i + 1);
  }
  // Of two n-grams, the one with the larger last word is larger, whatever comes before.
  std::vector<uint32_t> small(static_cast<size_t>(order), top), large(static_cast<size_t>(order), 1);
  small.back() = top - 1, large.back() = top;
  CHECK(key_of(layout, small) < key_of(layout, large));
  CHECK(layout.to_context_order(key_of(layout, large)) < layout.to_context_order(key_of(layout, small)));
}

template <int kWords>
struct Numbered {
  Key<kWords> key;
  uint64_t number;

  bool joins(const Numbered&) const { return false; }
  void join(const Numbered&) {}
};

// Pseudo-random words, most of them small, as those of a text are.
template <int kWords>
std::vector<Numbered<kWords>> records_of(int64_t n, const KeyLayout<kWords>& layout, uint32_t n_codes) {
  std::vector<Numbered<kWords>> records;
  uint64_t state = 1;
  Wide<kWords> value(0);
  for (int64_t i = 0; i < n * layout.order(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double u = static_cast<double>(state >> 11) / 9007199254740992.0;
    value = layout.next(value, 1 + static_cast<uint32_t>(u * u * u * u * (n_codes - 1)));
    if ((i + 1) % layout.order() == 0) records.push_back({Key<kWords>::of(value), static_cast<uint64_t>(i)});
  }
  return records;
}

template <int kWords>
void check_sort(int64_t n, int order, int bits, int low_words, int n_threads, int64_t memory) {
  const KeyLayout<kWords> layout(order, bits);
  const uint32_t n_codes = 1u << std::min(bits, 15);
  auto records = records_of(n, layout, n_codes);
  std::vector<int64_t> counts(n_codes + 1, 1);
  for (const auto& each : records) ++counts[layout.code(each.key, 0)];
  const WordBuckets buckets(counts, 500);
  const int low = low_words * bits;
  if (low > 0) {  // in order by the bits below: these sorts must keep it
    std::stable_sort(records.begin(), records.end(), [&](const auto& a, const auto& b) {
      for (int i = low_words - 1; i >= 0; --i) {
        const uint32_t x = layout.code(a.key, order - 1 - i), y = layout.code(b.key, order - 1 - i);
        if (x != y) return x < y;
      }
      return false;
    });
  }
  auto expected = records;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
  Workspace workspace(memory, "/tmp");
  Sorter<Numbered<kWords>> sorter(&workspace, buckets, {low, layout.key_bits(), bits}, n, n_threads);
  for (int64_t i = 0; i < n;) {
    const int64_t some = std::min({n - i, sorter.capacity(), int64_t{777}});
    std::copy_n(records.begin() + i, some, sorter.append(some));
    i += some;
  }
  const auto sorted = sorter.finish();
  Window<Numbered<kWords>> window(sorted.source(workspace), 1000 * sizeof(Numbered<kWords>));
  while (window.extend()) {
  }
  CHECK_EQUAL(static_cast<int64_t>(window.seen().size()), n);
  bool same = true;
  for (int64_t i = 0; i < n; ++i) same &= window.seen()[i].key == expected[i].key;
  CHECK(same);
}

}  // namespace

TEST(layouts) {
  check_layout<1>(2, 31);
  check_layout<1>(3, 17);
  check_layout<1>(3, 21);
  check_layout<2>(4, 31);
  check_layout<2>(5, 18);
  check_layout<2>(6, 21);
  check_layout<3>(5, 30);
  check_layout<3>(6, 31);
}

TEST(sorted_in_memory_and_in_runs) {
  for (const int n_threads : {1, 3}) {
    for (const int64_t memory : {int64_t{1} << 30, int64_t{1} << 20}) {
      check_sort<1>(60'000, 3, 16, 0, n_threads, memory);
      check_sort<1>(60'000, 3, 16, 1, n_threads, memory);
      check_sort<2>(60'000, 5, 18, 4, n_threads, memory);
      check_sort<3>(60'000, 6, 25, 0, n_threads, memory);
      check_sort<1>(200'000, 1, 2, 0, n_threads, memory);  // two words, over and over
      check_sort<2>(0, 5, 18, 0, n_threads, memory);
      check_sort<2>(1, 5, 18, 0, n_threads, memory);
    }
  }
}
