#include "lm/gram_table.h"

#include <vector>

#include "check.h"
#include "lm/ngram_builder.h"
#include "lm/ngram_model.h"
#include "lm/word_table.h"

using namespace semproj::lm;

TEST(a_mixed_key_comes_back) {
  for (const int bits : {2, 3, 17, 36, 63, 64}) {
    const Mixer mixer(bits);
    for (uint64_t i = 0; i < 2000; ++i) {
      const uint64_t key = (i * 0x9E3779B97F4A7C15u) & low_mask(bits);
      CHECK_EQUAL(mixer.unmix(mixer.mix(key)), key);
      CHECK(mixer.mix(key) <= low_mask(bits));
    }
  }
}

TEST(n_grams_are_found_and_read_back_and_no_others) {
  for (const int64_t n : {1, 7, 300, 20000}) {
    for (const int backoff_bits : {0, 8, 32}) {
      const int context_bits = 15, word_bits = 11, prob_bits = backoff_bits == 8 ? 8 : 31;
      const int64_t n_lines = lines_for(n, context_bits, word_bits, prob_bits, backoff_bits, 0);
      const GramLayout layout = layout_for(n_lines, context_bits, word_bits, prob_bits, backoff_bits);
      std::vector<uint64_t> lines(static_cast<size_t>(n_lines) * kLineWords);
      clear_lines(lines.data(), n_lines);
      std::vector<float> codes(512);
      for (size_t i = 0; i < codes.size(); ++i) codes[i] = -static_cast<float>(i);
      const float* book = prob_bits == 8 ? codes.data() : nullptr;
      const GramTable table(lines.data(), layout, book, book);
      const auto context_of = [](int64_t i) { return (i * 7) % 32768; };
      const auto word_of = [](int64_t i) { return static_cast<uint32_t>((i * 13 + i / 97) % 2048); };
      std::vector<int64_t> slots(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) {
        const uint32_t prob = prob_bits == 8 ? i % 256 : prob_bits_of(-static_cast<float>(i));
        const uint32_t backoff =
            backoff_bits == 8 ? i % 200 : std::bit_cast<uint32_t>(0.5f * static_cast<float>(i));
        const Home home = table.home(context_of(i), word_of(i));
        CHECK(put_gram(lines.data(), 0, layout, home, prob, backoff, &slots[static_cast<size_t>(i)]) ==
              Put::done);
        CHECK(put_gram(lines.data(), 0, layout, home, prob, backoff, &slots[static_cast<size_t>(i)]) ==
              Put::twice);
      }
      for (int64_t i = 0; i < n; ++i) {
        const int64_t slot = table.find(table.home(context_of(i), word_of(i)));
        int64_t context = -1;
        uint32_t word = 0;
        CHECK(slot != kNoSlot && table.read(slot, &context, &word));
        CHECK_EQUAL(context, context_of(i));
        CHECK_EQUAL(word, word_of(i));
        const auto x = static_cast<float>(i);
        CHECK_EQUAL(table.log_prob(slot), prob_bits == 8 ? -static_cast<float>(i % 256) : -x);
        if (backoff_bits > 0) {
          CHECK_EQUAL(table.backoff(slot), backoff_bits == 8 ? -static_cast<float>(i % 200) : 0.5f * x);
        }
        // Contexts above 32767 do not come; those below, with another word, are not there.
        CHECK_EQUAL(table.find(table.home(context_of(i), word_of(i) ^ 1024)) == kNoSlot, true);
      }
    }
  }
}

TEST(what_no_table_has_is_refused) {
  CHECK_THROWS(std::invalid_argument, "lines", layout_for(0, 15, 11, 31, 0));
  CHECK_THROWS(std::invalid_argument, "lines", layout_for(3, 15, 11, 31, 0));
  CHECK_THROWS(std::invalid_argument, "lines", layout_for(1025, 15, 11, 31, 0));
  CHECK_THROWS(std::length_error, "room", lines_for(1000, 40, 30, 31, 0, 0));
}

TEST(words_of_any_length) {
  std::string bytes;
  std::vector<int64_t> offsets{0};
  for (int i = 0; i < 500; ++i) {
    bytes += std::string(static_cast<size_t>(i % 25), 'x') + std::to_string(i);
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  const WordSlots slots = make_word_slots(bytes.data(), offsets.data(), 500);
  const WordTable table(bytes.data(), offsets.data(), 500, slots.slots.data(),
                        static_cast<int64_t>(slots.slots.size()), slots.seed);
  for (uint32_t i = 0; i < 500; ++i) {
    const std::string word(table.word(i));
    CHECK_EQUAL(table.find(word), i);
    CHECK_EQUAL(table.find(word + "y"), kUnknown);
  }
  bytes += bytes.substr(static_cast<size_t>(offsets[499]));
  offsets.push_back(static_cast<int64_t>(bytes.size()));
  CHECK_THROWS(DuplicateWord, "comes twice", make_word_slots(bytes.data(), offsets.data(), 501));
}

// Three words after the special ones: a 3, b 4. p(b | <s> a) from the trigram, and by back-off after a alone.
TEST(a_model_by_hand) {
  NGramBuilder builder({});
  const int64_t counts[] = {5, 2, 1};
  builder.begin(counts);
  const uint32_t words[] = {0, 1, 2, 3, 4};
  const float probs[] = {-1.0f, -99.0f, -0.7f, -0.5f, -0.6f}, backoffs[] = {0, -0.3f, 0, -0.2f, 0};
  builder.add(1, 5, words, probs, backoffs);
  const uint32_t bigrams[] = {1, 3, 3, 4};
  const float bigram_probs[] = {-0.1f, -0.2f}, bigram_backoffs[] = {-0.05f, 0};
  builder.add(2, 2, bigrams, bigram_probs, bigram_backoffs);
  const uint32_t trigram[] = {1, 3, 4};
  const float trigram_prob[] = {-0.01f};
  builder.add(3, 1, trigram, trigram_prob, nullptr);
  builder.end();
  const BuiltModel built = builder.take();
  std::vector<GramTable> tables;
  int context_bits = bits_for(5);
  for (size_t i = 0; i < 2; ++i) {
    const GramLayout layout =
        layout_for(built.tables[i].n_lines, context_bits, bits_for(5), 31, i == 0 ? 32 : 0);
    tables.emplace_back(built.tables[i].lines.as<const uint64_t>(), layout, nullptr, nullptr);
    context_bits = bits_for(layout.n_slots());
  }
  const NGramModel model({}, built.unigrams.data(), tables);
  NGramState state = model.begin_state(), after;
  WordResult found = model.advance(state, 3, &after);
  CHECK_NEAR(found.log_prob, -0.1, 1e-6);
  CHECK_EQUAL(after.length, 2);
  found = model.advance(after, 4, &state);
  CHECK_NEAR(found.log_prob, -0.01, 1e-6);
  CHECK_EQUAL(found.order, 3);
  CHECK_EQUAL(state.length, 0);  // nothing goes on from b
  found = model.advance(after, 3, &state);
  CHECK_NEAR(found.log_prob, -0.05 - 0.2 - 0.5, 1e-6);
  CHECK_EQUAL(found.order, 1);
}
