// The parts of csrc/text below the Python interface, on cases worked out by hand.

#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "text/ascii_block.h"
#include "text/count.h"
#include "text/unicode.h"

using namespace semproj::text;

namespace {

// The documents are copied to memory of exactly their size, so that a sanitizer sees any read beyond.
template <class Unit>
std::vector<std::string> words_of(const std::vector<Unit>& units, TextKind kind, bool lowercase) {
  const std::vector<Unit> exact(units.begin(), units.end());
  Tokenizer tokenizer(lowercase, false);
  DocumentRef document;
  document.text = {exact.data(), static_cast<int64_t>(exact.size()), kind};
  tokenizer.start(document, 0);
  std::vector<std::string> words;
  for (Spans spans; tokenizer.next(&spans);) {
    for (int64_t i = 0; i < spans.count; ++i) {
      words.emplace_back(spans.text + spans.bounds[2 * i], spans.text + spans.bounds[2 * i + 1]);
    }
  }
  return words;
}

std::vector<std::string> words_of(const std::string& utf8, bool lowercase = false) {
  return words_of(std::vector<uint8_t>(utf8.begin(), utf8.end()), TextKind::utf8, lowercase);
}

using Words = std::vector<std::string>;

DocumentRef document_of(const std::string& text) {
  DocumentRef document;
  document.text = {text.data(), static_cast<int64_t>(text.size()), TextKind::utf8};
  return document;
}

template <class Unit>
void compare_blocks() {
  for (uint64_t start = 0; start < (uint64_t{1} << 8 * sizeof(Unit)) && start <= 0x110000; start += kBlock) {
    Unit in[kBlock];
    for (int i = 0; i < kBlock; ++i) in[i] = static_cast<Unit>(start + i);
    char fast[kBlock], slow[kBlock];
    const BlockMasks a = read_block<true>(in, fast), b = read_block_scalar<true>(in, slow);
    CHECK(a.wide == b.wide);
    CHECK((a.words & ~a.wide) == (b.words & ~b.wide));
    for (int i = 0; i < kBlock; ++i) CHECK(fast[i] == slow[i] || (a.wide >> i & 1));
  }
}

}  // namespace

TEST(code_points_survive_utf8) {
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    char bytes[4] = {};
    uint32_t back = 0;
    const int n = encode_utf8(code, bytes);
    const auto* p = reinterpret_cast<const uint8_t*>(bytes);
    if (decode_utf8(p, p + n, &back) != (is_surrogate(code) ? 0 : n) ||
        (!is_surrogate(code) && back != code)) {
      CHECK(!"code point survives UTF-8");
      return;
    }
    for (int cut = 1; cut < n; ++cut) CHECK(decode_utf8(p, p + cut, &back) == 0);
  }
}

TEST(blocks_are_read_as_one_by_one) {
  compare_blocks<uint8_t>();
  compare_blocks<uint16_t>();
  compare_blocks<uint32_t>();
}

TEST(words) {
  CHECK(words_of("") == Words{});
  CHECK(words_of(" ,.") == Words{});
  CHECK(words_of("one") == Words{"one"});
  CHECK(words_of("One, two_3!") == (Words{"One", "two", "3"}));
  CHECK(words_of("One, TWO", true) == (Words{"one", "two"}));
  CHECK(words_of("e\u0301a \u0301b") == (Words{"e\u0301a", "b"}));
  CHECK(words_of("\u0130\u023A\u1E9E", true) == Words{"i\u2C65\u00DF"});
  CHECK(words_of(std::vector<uint8_t>{'a', 0xE9, ' ', 0xC9}, TextKind::latin1, true) ==
        (Words{"a\u00E9", "\u00E9"}));
  CHECK(words_of(std::vector<uint16_t>{'x', 0x2019, 'y', 0x4E2D}, TextKind::ucs2, false) ==
        (Words{"x", "y\u4E2D"}));
  CHECK(words_of(std::vector<uint32_t>{0x10400, ' '}, TextKind::ucs4, true) == Words{"\U00010428"});
  // A word across every boundary of blocks and pieces.
  for (size_t before = 0; before < 9000;
       before += before < 200 || (before > 4000 && before < 4200) ? 1 : 97) {
    const std::string pad(before, ' '), word(before % 150 + 1, 'q');
    CHECK(words_of(pad + word + " z") == (Words{word, "z"}));
    CHECK(words_of(pad + word + "\u00E9") == Words{word + "\u00E9"});
  }
}

TEST(terms_have_ids_in_the_order_they_come) {
  TermTable table;
  std::map<std::string, uint32_t> expected;
  for (uint32_t i = 0; i < 50'000; ++i) {
    const std::string term = std::string(i % 23, 'a') + std::to_string(i * 2654435761u % 70'000);
    const auto [it, fresh] = expected.emplace(term, static_cast<uint32_t>(expected.size()));
    CHECK(table.insert(term) == it->second);
  }
  CHECK(table.size() == static_cast<int64_t>(expected.size()));
  for (const auto& [term, id] : expected) {
    CHECK(table.find(term) == id);
    CHECK(table.term(id) == term);
    CHECK(table.find(term + "!") == -1);
  }
  CHECK(table.find("") == -1);
  CHECK(table.insert(std::string_view("\0", 1)) != table.insert(std::string_view("\0\0", 2)));
  CHECK(table.insert("") == table.insert(""));
}

TEST(rows_are_sorted) {
  for (const int64_t n_columns : {200, 60'000, 20'000'000}) {
    RowSorter sorter(n_columns);
    for (const int64_t n : {0, 1, 3, 63, 64, 65, 150}) {
      std::vector<RowBlock::Entry> entries;
      for (int64_t i = 0; i < n; ++i) {
        const auto id = static_cast<uint32_t>((i * 79 + 5) % n * (n_columns / n));
        entries.push_back({id, id + 1});
      }
      std::vector<int32_t> indices(n), data(n);
      sorter.sort(entries.data(), n, indices.data(), data.data());
      for (int64_t i = 0; i < n; ++i) CHECK(indices[i] == i * (n_columns / n) && data[i] == indices[i] + 1);
    }
  }
}

TEST(counts_and_their_vocabulary) {
  for (const int n_threads : {1, 2}) {
    const std::vector<std::string> texts{"b a b", "", "c b a"};
    std::vector<DocumentRef> documents;
    for (const std::string& text : texts) documents.push_back(document_of(text));
    CountSession session({2, false, false, n_threads}, nullptr, true);
    session.add(documents, 0);
    session.choose({0, 4, 1});  // b 3; a 2, "b a" 2; then "a b", c, "c b" once each
    CHECK(session.vocabulary()->size() == 4);
    const char* terms[] = {"b", "a", "b a", "a b"};
    for (int i = 0; i < 4; ++i) CHECK(session.vocabulary()->terms.term(i) == terms[i]);
    CHECK((session.term_counts() == std::vector<int64_t>{3, 2, 2, 1}));
    CHECK(session.n_words() == 6);
    std::vector<int64_t> indptr(4);
    std::vector<int32_t> indices(session.n_entries()), data(session.n_entries());
    session.write_rows(indptr.data(), indices.data(), data.data());
    CHECK((indptr == std::vector<int64_t>{0, 4, 4, 7}));
    CHECK((indices == std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2}));
    CHECK((data == std::vector<int32_t>{2, 1, 1, 1, 1, 1, 1}));
  }
}

// Enough work for the threads to meet.
TEST(counts_do_not_depend_on_threads) {
  std::vector<std::string> texts(3000);
  std::vector<DocumentRef> documents;
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t j = 0; j < 200; ++j)
      texts[i].append("w").append(std::to_string(i * j * j % 5003)).append(" ");
    documents.push_back(document_of(texts[i]));
  }
  std::vector<int32_t> first_indices;
  std::string first_terms;
  for (const int n_threads : {1, 2, 5}) {
    CountSession session({1, false, false, n_threads}, nullptr, true);
    session.add(documents, 0);
    session.choose({3, 2000, 2});
    std::vector<int64_t> indptr(documents.size() + 1);
    std::vector<int32_t> indices(session.n_entries()), data(session.n_entries());
    session.write_rows(indptr.data(), indices.data(), data.data());
    const TermTable& table = session.vocabulary()->terms;
    const std::string terms(table.bytes(), table.offsets().back());
    if (n_threads == 1) {
      first_indices = indices;
      first_terms = terms;
    }
    CHECK(indices == first_indices);
    CHECK(terms == first_terms);
  }
}
