// Windows of words counted by hand, and texts that letters and marks may be composed in.

#include "text/windows.h"

#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "text/composition.h"

using namespace semproj::text;

namespace {

using Counts = std::vector<int64_t>;

// Of the words a, b and c, each the partner of the others: the pairs are ab, ac and bc.
WindowCounts counted(const std::vector<std::string>& texts, int64_t width, bool forget_repeats,
                     int n_threads = 1) {
  const std::vector<int64_t> partner_starts{0, 2, 4, 6};
  const std::vector<int32_t> partners{1, 2, 0, 2, 0, 1}, slots{0, 1, 0, 2, 1, 2};
  std::vector<int64_t> starts{0};
  std::vector<int32_t> ids;
  for (const std::string& text : texts) {
    for (const char word : text) ids.push_back(word <= 'c' ? word - 'a' : 3);
    starts.push_back(static_cast<int64_t>(ids.size()));
  }
  return count_windows(starts, ids, {partner_starts, partners, slots, 3}, width, forget_repeats, n_threads);
}

void check_counts(const WindowCounts& found, int64_t windows, const Counts& words, const Counts& pairs) {
  CHECK(found.windows == windows);
  CHECK(found.words == words);
  CHECK(found.pairs == pairs);
}

template <class Unit>
bool may_compose(const std::vector<Unit>& units, TextKind kind) {
  return may_compose(TextRef{units.data(), static_cast<int64_t>(units.size()), kind});
}

bool may_compose_utf8(const std::string& text) {
  return may_compose(std::vector<uint8_t>(text.begin(), text.end()), TextKind::utf8);
}

}  // namespace

TEST(windows_that_slide) {
  check_counts(counted({"abcca"}, 1, false), 5, {2, 1, 2}, {0, 0, 0});
  check_counts(counted({"abcca"}, 2, false), 4, {2, 2, 3}, {1, 1, 1});   // ab bc cc ca
  check_counts(counted({"abcca"}, 3, false), 3, {2, 2, 3}, {1, 2, 2});   // abc bcc cca
  check_counts(counted({"abxxxc"}, 3, false), 4, {1, 2, 1}, {1, 0, 0});  // abx bxx xxx xxc
  check_counts(counted({"xaxxcx"}, 4, false), 3, {2, 0, 2}, {0, 1, 0});  // xaxx axxc xxcx
}

TEST(a_text_that_is_not_longer_is_one_window) {
  for (const int64_t width : {int64_t{5}, int64_t{6}, int64_t{1} << 40}) {
    for (const bool forget_repeats : {false, true}) {
      check_counts(counted({"abcca"}, width, forget_repeats), 1, {1, 1, 1}, {1, 1, 1});
    }
  }
}

TEST(a_repeated_word_is_gone_with_its_first_token) {
  check_counts(counted({"abcca"}, 2, true), 4, {2, 2, 2}, {1, 0, 1});  // not in ca: the first c has left
  check_counts(counted({"ccc"}, 2, true), 2, {0, 0, 2}, {0, 0, 0});    // comes in anew as the first leaves
  check_counts(counted({"ccxb"}, 3, true), 2, {0, 1, 1}, {0, 0, 0});   // ccx cxb
  check_counts(counted({"ccxb"}, 3, false), 2, {0, 1, 2}, {0, 0, 1});
}

TEST(texts_add_up_for_any_number_of_threads) {
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(i % 3 == 0 ? "abcca" : i % 3 == 1 ? "xaxxcx" : "b");
  for (const int n_threads : {1, 2, 5}) {
    check_counts(counted(texts, 2, false, n_threads), 1000, {400, 300, 500}, {100, 100, 100});
  }
}

TEST(texts_that_may_compose) {
  CHECK(!may_compose_utf8(""));
  CHECK(!may_compose_utf8("plain"));
  CHECK(!may_compose_utf8("caf\u00e9 \u0439\u043e\u0434 \u4e2d\u6587 \uac00"));
  CHECK(may_compose_utf8("cafe\u0301"));
  CHECK(may_compose_utf8("\u212bngstrom"));
  CHECK(!may_compose(std::vector<uint8_t>{'c', 0xE9}, TextKind::latin1));
  CHECK(!may_compose(std::vector<uint16_t>{'c', 0xE9, 0x439}, TextKind::ucs2));
  CHECK(may_compose(std::vector<uint16_t>{'e', 0x301}, TextKind::ucs2));
  CHECK(!may_compose(std::vector<uint32_t>{'e', 0x1F600}, TextKind::ucs4));
  CHECK(may_compose(std::vector<uint32_t>{0x1F600, 'e', 0x301}, TextKind::ucs4));
  CHECK(may_compose(std::vector<uint32_t>{0x1D15E}, TextKind::ucs4));
}

// Blocks are looked at as a whole: a mark is found wherever it stands, and bytes that are no UTF-8 hide none.
TEST(a_mark_at_every_place) {
  for (size_t length = 1; length < 100; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::vector<uint16_t> units(length, 'e');
      CHECK(!may_compose(units, TextKind::ucs2));
      units[at] = 0x301;
      CHECK(may_compose(units, TextKind::ucs2));
      CHECK(may_compose_utf8(std::string(at, 'e') + "\u0301" + std::string(length - at, 'e')));
      CHECK(may_compose_utf8(std::string(at, '\xff') + "\u0301"));
    }
  }
}
