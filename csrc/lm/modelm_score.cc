#include "lm/modelm_score.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

constexpr int64_t kGrain = 16;  // sentences in one task
constexpr int32_t kNoWord = -1, kBeginId = 1, kEndId = 2;

}  // namespace

int64_t ContextTrie::find(int64_t node, int32_t symbol) const {
  const auto at = static_cast<size_t>(node);
  const int32_t *begin = symbols.data() + children[at], *end = symbols.data() + children[at + 1];
  const int32_t* found = std::lower_bound(begin, end, symbol);
  return found != end && *found == symbol ? found - symbols.data() : -1;
}

struct ModelMScorer::Scratch {
  std::vector<double> classes, words;  // sums of weights; those of words are 0 between calls
  std::vector<int32_t> touched;
  std::vector<char> is_touched;
  std::vector<int32_t> history;
  Patience patience;
};

ModelMScorer::ModelMScorer(const ModelM& model) : model_(model) {
  const auto n_classes = static_cast<int64_t>(model.class_starts.size()) - 1;
  classes_.resize(model.words.size());
  for (int64_t c = 0; c < n_classes; ++c) {
    const auto root = static_cast<size_t>(c);
    std::fill(classes_.begin() + model.class_starts[root], classes_.begin() + model.class_starts[root + 1],
              static_cast<int32_t>(c));
    most_words_ = std::max(most_words_, model.class_starts[root + 1] - model.class_starts[root]);
    double z = 0;
    base_.resize(static_cast<size_t>(model.class_starts[root]), 0);
    const ContextTrie& trie = model.contexts;
    for (auto f = static_cast<size_t>(trie.features[root]); f < static_cast<size_t>(trie.features[root + 1]);
         ++f) {
      base_.push_back(std::exp(static_cast<double>(trie.weights[f])));
      z += base_.back();
    }
    base_z_.push_back(z);
  }
  base_.resize(model.words.size(), 0);
}

double ModelMScorer::log_prob(int32_t word, const int32_t* history, Scratch& s) const {
  const int32_t own = classes_[static_cast<size_t>(word)];
  const int64_t first = model_.class_starts[static_cast<size_t>(own)];
  const int32_t label = word - static_cast<int32_t>(first);
  if (base_[static_cast<size_t>(word)] == 0) return kNever;
  const auto for_each_feature = [&](const ContextTrie& trie, int64_t node, const auto& symbol_of,
                                    const auto& visit) {
    for (int i = 0; i < model_.order - 1 && history[i] != kNoWord; ++i) {
      node = trie.find(node, symbol_of(history[i]));
      if (node < 0) break;
      const auto at = static_cast<size_t>(node);
      for (auto f = static_cast<size_t>(trie.features[at]); f < static_cast<size_t>(trie.features[at + 1]);
           ++f) {
        visit(static_cast<size_t>(trie.labels[f]), static_cast<double>(trie.weights[f]));
      }
      s.patience.spend(20 + trie.features[at + 1] - trie.features[at]);
    }
  };
  const auto itself = [](int32_t w) { return w; };
  const auto class_of = [&](int32_t w) { return classes_[static_cast<size_t>(w)]; };

  s.patience.spend(8 * static_cast<int64_t>(s.classes.size()));
  std::copy_n(model_.class_contexts.weights.begin(), s.classes.size(), s.classes.begin());
  const auto add_class = [&](size_t y, double weight) { s.classes[y] += weight; };
  for_each_feature(model_.class_contexts, 0, class_of, add_class);
  for_each_feature(model_.word_contexts, 0, itself, add_class);
  double z = 0;
  const double most = *std::max_element(s.classes.begin(), s.classes.end());
  for (const double each : s.classes) z += std::exp(each - most);
  double log_p = s.classes[static_cast<size_t>(own)] - most - std::log(z);

  s.touched.clear();
  for_each_feature(model_.contexts, own, itself, [&](size_t y, double weight) {
    if (!s.is_touched[y]) {
      s.is_touched[y] = 1;
      s.touched.push_back(static_cast<int32_t>(y));
    }
    s.words[y] += weight;
  });
  z = base_z_[static_cast<size_t>(own)];
  // What the words that no context mentions have, as a sum of its own: it may be far less than the others.
  double mentioned = 0, base = 0;
  for (const int32_t y : s.touched) {
    const auto at = static_cast<size_t>(y);
    const double e = base_[static_cast<size_t>(first) + at];
    base += e;
    mentioned += e * std::exp(s.words[at]);
  }
  z = std::max(z - base, 0.0) + mentioned;
  log_p += std::log(base_[static_cast<size_t>(word)]) + s.words[static_cast<size_t>(label)] - std::log(z);
  for (const int32_t y : s.touched)
    s.words[static_cast<size_t>(y)] = 0, s.is_touched[static_cast<size_t>(y)] = 0;
  return log_p / std::log(10.0);
}

void ModelMScorer::score(std::span<const int64_t> starts, std::span<const int32_t> ids, bool begin, bool end,
                         double* out, int n_threads) const {
  const auto n = static_cast<int64_t>(starts.size()) - 1;
  const auto before = static_cast<size_t>(model_.order - 1);
  Scratch fresh;
  fresh.classes.resize(model_.class_starts.size() - 1);
  fresh.words.assign(static_cast<size_t>(most_words_), 0);
  fresh.is_touched.assign(static_cast<size_t>(most_words_), 0);
  std::vector<Scratch> scratch(static_cast<size_t>(n_threads), fresh);
  parallel_for(block_count(n, kGrain), n_threads, [&](int64_t task, int worker) {
    Scratch& mine = scratch[static_cast<size_t>(worker)];
    std::vector<int32_t>& history = mine.history;
    const Block block = block_at(n, kGrain, task);
    for (int64_t sentence = block.begin; sentence < block.end; ++sentence) {
      const auto s = static_cast<size_t>(sentence);
      double* to = out + starts[s] + (end ? sentence : 0);
      history.assign(before, begin ? model_.words[kBeginId] : kNoWord);
      const auto step = [&](int32_t id) {
        const int32_t word = model_.words[static_cast<size_t>(id)];
        *to++ = log_prob(word, history.data(), mine);
        std::copy_backward(history.begin(), history.end() - 1, history.end());
        history[0] = word;
      };
      for (int64_t i = starts[s]; i < starts[s + 1]; ++i) step(ids[static_cast<size_t>(i)]);
      if (end) step(kEndId);
    }
  });
}

}  // namespace semproj::lm
