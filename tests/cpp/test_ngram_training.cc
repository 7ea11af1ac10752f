// Texts counted and smoothed by hand.

#include <cmath>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "check.h"
#include "lm/ngram_arrays.h"
#include "lm/ngram_estimate.h"
#include "lm/temp_file.h"

using namespace semproj::lm;

namespace {

struct Model {
  ChosenWords words;
  NGramArrays arrays;
  std::vector<Discount> discounts;
  int64_t n_sentences = 0;

  std::string word(uint32_t id) const {
    return {words.bytes.data() + words.offsets[id], words.bytes.data() + words.offsets[id + 1]};
  }

  // Probabilities and back-offs, by words with spaces between.
  std::map<std::string, std::pair<double, double>> ngrams() {
    std::map<std::string, std::pair<double, double>> found;
    for (size_t k = 1; k <= arrays.orders().size(); ++k) {
      const auto& order = arrays.orders()[k - 1];
      for (size_t i = 0; i < order.log_probs.size(); ++i) {
        std::string text;
        for (size_t j = 0; j < k; ++j) text.append(j > 0 ? " " : "").append(word(order.words[i * k + j]));
        found[text] = {std::pow(10.0, order.log_probs[i]), std::pow(10.0, order.log_backoffs[i])};
      }
    }
    return found;
  }
};

Model trained(const std::string& text, const NGramOptions& options, int64_t memory = 1 << 24,
              size_t piece = 7, int n_threads = 2, const WordChoice& choice = {}) {
  Workspace workspace(memory, "/tmp");
  NGramText reader(&workspace, false, n_threads);
  for (size_t i = 0; i < text.size(); i += piece) {
    reader.add(text.data() + i, static_cast<int64_t>(std::min(piece, text.size() - i)));
  }
  reader.end_text();
  Model model;
  model.n_sentences = reader.n_sentences();
  model.words = reader.choose(choice);
  const auto estimation = make_estimation(&workspace, options, model.words, n_threads);
  estimation->sort(reader);
  estimation->count();
  model.discounts = estimation->discounts();
  for (int k = 1; k <= options.order; ++k) estimation->smooth(k, model.arrays);
  estimation->finish(model.arrays);
  CHECK(model.arrays.is_complete());
  return model;
}

NGramOptions options(int order, Smoothing smoothing, std::vector<int64_t> min_counts = {}) {
  min_counts.resize(static_cast<size_t>(order) + 1, 1);
  return {order, smoothing, 5, min_counts};
}

}  // namespace

TEST(discounts_by_hand) {
  const std::vector<int64_t> n_of{0, 10, 4, 2, 1, 1, 1, 0};
  const Discount kn = Discount::kneser_ney(n_of);  // Y = 10 / 18
  const double y = 10.0 / 18;
  CHECK(!kn.fell_back());
  CHECK_NEAR(kn.values()[0], 1 - 2 * y * 4 / 10, 1e-15);
  CHECK_NEAR(kn.values()[1], 2 - 3 * y * 2 / 4, 1e-15);
  CHECK_NEAR(kn.values()[2], 3 - 4 * y * 1 / 2, 1e-15);
  CHECK_NEAR(kn.discounted(7), 7 - kn.values()[2], 1e-15);
  const Discount gt = Discount::good_turing(n_of, 2);  // common = 3 * 2 / 10
  CHECK_NEAR(gt.values()[0], (2 * 4 / 10.0 - 0.6) / 0.4, 1e-15);
  CHECK_NEAR(gt.values()[1], (3 * 2 / (2 * 4.0) - 0.6) / 0.4, 1e-15);
  CHECK_NEAR(gt.discounted(3), 3, 0);
  const std::vector<int64_t> few{0, 3, 0, 1, 0, 0, 0, 0};
  CHECK(Discount::kneser_ney(few).fell_back());
  CHECK_NEAR(Discount::kneser_ney(few).values()[2], 1.5, 0);
  CHECK(Discount::good_turing(few, 5).fell_back());
}

// "a b" twice and "b". Bigrams: <s> a 2, a b 2, b </s> 3, <s> b 1, so Y = 1/5 and D = 0.2, 1.7 and 3. Before
// a comes <s>, before b come a and <s>, before </s> comes b: the unigrams have 1, 2 and 1 of 4, which give no
// D. So 0.5, 1 and 0.5 are taken, half a word for each of <unk>, a, b and </s>.
TEST(kneser_ney_by_hand) {
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{100}}) {
    for (const int64_t memory : {int64_t{1} << 24, int64_t{1} << 12}) {
      Model model = trained("a b\nb\n a  b", options(2, Smoothing::kneser_ney), memory, piece);
      auto ngrams = model.ngrams();
      CHECK_EQUAL(model.n_sentences, 3);
      CHECK(model.discounts[1].fell_back() && !model.discounts[2].fell_back());
      CHECK_EQUAL(ngrams.size(), 9u);
      CHECK_EQUAL(model.word(3), "b");  // 3 of it, and 2 of a
      const double share = 0.5 / 4;
      CHECK_NEAR(ngrams["<unk>"].first, share, 1e-7);
      CHECK_NEAR(ngrams["a"].first, 0.5 / 4 + share, 1e-7);
      CHECK_NEAR(ngrams["b"].first, 1.0 / 4 + share, 1e-7);
      CHECK_NEAR(ngrams["</s>"].first, 0.5 / 4 + share, 1e-7);
      CHECK(ngrams["<s>"].first == std::pow(10.0, kLogZero));
      CHECK_NEAR(ngrams["<s>"].second, 1.9 / 3, 1e-6);
      CHECK_NEAR(ngrams["<s> a"].first, 0.3 / 3 + 1.9 / 3 * (0.5 / 4 + share), 1e-6);
      CHECK_NEAR(ngrams["<s> b"].first, 0.8 / 3 + 1.9 / 3 * (1.0 / 4 + share), 1e-6);
      CHECK_NEAR(ngrams["a"].second, 1.7 / 2, 1e-6);
      CHECK_NEAR(ngrams["a b"].first, 0.3 / 2 + 1.7 / 2 * (1.0 / 4 + share), 1e-6);
      CHECK_NEAR(ngrams["b"].second, 1, 1e-6);
      CHECK_NEAR(ngrams["b </s>"].first, 0.5 / 4 + share, 1e-6);
      CHECK_NEAR(ngrams["</s>"].second, 1, 0);
    }
  }
}

// What is cut leaves its whole count: <s> b is 1 of 3 after <s>. Discounts are those of all bigrams.
TEST(cut_by_hand) {
  auto ngrams = trained("a b\nb\na b\n", options(2, Smoothing::kneser_ney, {1, 1, 2})).ngrams();
  CHECK_EQUAL(ngrams.size(), 8u);
  CHECK(ngrams.count("<s> b") == 0);
  CHECK_NEAR(ngrams["<s>"].second, (1.7 + 1) / 3, 1e-6);
}

// Words: 3 (b), 2 (a), 3 (</s>) of 8. Of no count is taken: the total is 9 then, and <unk> has the ninth
// part. Bigrams: two have the count 2 and one has 3, so of 2 three quarters stay; of 1 and 3 nothing is
// taken. After <s> 1.5 and 1 of 3 stay, and what is left is for </s> and <unk>. After b nothing is: 3 of 4
// then.
TEST(good_turing_by_hand) {
  auto ngrams = trained("a b\nb\na b\n", options(2, Smoothing::good_turing)).ngrams();
  CHECK_NEAR(ngrams["<unk>"].first, 1.0 / 9, 1e-7);
  CHECK_NEAR(ngrams["a"].first, 2.0 / 9, 1e-7);
  CHECK_NEAR(ngrams["b"].first, 3.0 / 9, 1e-7);
  CHECK_NEAR(ngrams["<s> a"].first, 1.5 / 3, 1e-6);
  CHECK_NEAR(ngrams["<s> b"].first, 1.0 / 3, 1e-6);
  CHECK_NEAR(ngrams["<s>"].second, (0.5 / 3) / (1 - 5.0 / 9), 1e-6);
  CHECK_NEAR(ngrams["b </s>"].first, 3.0 / 4, 1e-6);
  CHECK_NEAR(ngrams["b"].second, (1.0 / 4) / (1 - 3.0 / 9), 1e-6);
}

TEST(unknown_words_have_counts) {
  WordChoice choice;
  choice.min_count = 2;
  Model model = trained("a b\na c\n", options(2, Smoothing::kneser_ney), 1 << 24, 7, 2, choice);
  CHECK_EQUAL(model.words.size(), 4);
  CHECK_EQUAL(model.words.counts[kUnknown], 2);
  auto ngrams = model.ngrams();
  CHECK(ngrams.count("a <unk>") == 1);
  CHECK(ngrams.count("<unk> </s>") == 1);
}

TEST(the_same_bits_in_little_memory) {
  std::string text;
  uint64_t state = 1;
  for (int i = 0; i < 40'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double u = static_cast<double>(state >> 11) / 9007199254740992.0;
    text.append("w").append(std::to_string(static_cast<int>(u * u * u * 3000)));
    text += (state >> 20) % 11 == 0 ? '\n' : ' ';
  }
  for (const Smoothing smoothing : {Smoothing::kneser_ney, Smoothing::good_turing}) {
    for (const int order : {1, 3, 5}) {
      Model plenty = trained(text, options(order, smoothing), 1 << 30, 1 << 20, 1);
      Model little = trained(text, options(order, smoothing), 1 << 18, 4097, 3);
      for (int k = 0; k < order; ++k) {
        CHECK(plenty.arrays.orders()[k].words == little.arrays.orders()[k].words);
        CHECK(plenty.arrays.orders()[k].log_probs == little.arrays.orders()[k].log_probs);
        CHECK(plenty.arrays.orders()[k].log_backoffs == little.arrays.orders()[k].log_backoffs);
      }
    }
  }
}

TEST(errors) {
  CHECK_THROWS(CorpusError, "sentences[1], word 2",
               trained("a b\nc d <s>\n", options(2, Smoothing::kneser_ney)));
  CHECK_THROWS(CorpusError, "UTF-8", trained("a \xff\n", options(2, Smoothing::kneser_ney)));
  CHECK_THROWS(std::system_error, "temp_dir", TempFile("/nowhere/at/all"));
}
