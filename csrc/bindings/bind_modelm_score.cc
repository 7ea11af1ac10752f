#include "bindings/bindings.h"
#include "bindings/sentences_argument.h"
#include "lm/modelm_score.h"

namespace semproj::bindings {
namespace {

template <class T>
std::span<const T> span_of(const py::array& a, const char* name) {
  return {vector_data<T>(a, a.size(), name), static_cast<size_t>(a.size())};
}

// A trie that a file may have had: what it points to is there.
struct TrieArgument {
  py::array children, symbols, features, labels, weights;

  lm::ContextTrie view(int64_t n_roots, int64_t n_symbols, const std::vector<int64_t>& n_labels) const {
    const lm::ContextTrie trie{span_of<int64_t>(children, "children"), span_of<int64_t>(features, "features"),
                               span_of<int32_t>(symbols, "symbols"), span_of<int32_t>(labels, "labels"),
                               span_of<float>(weights, "weights")};
    const auto n = static_cast<int64_t>(trie.symbols.size());
    const auto n_features = static_cast<int64_t>(trie.labels.size());
    const bool sizes = n >= n_roots && static_cast<int64_t>(trie.children.size()) == n + 1 &&
                       static_cast<int64_t>(trie.features.size()) == n + 1 &&
                       static_cast<int64_t>(trie.weights.size()) == n_features;
    if (!sizes || trie.children[0] != n_roots || trie.children.back() != n ||
        !std::is_sorted(trie.children.begin(), trie.children.end()) ||
        !rise_from_zero(trie.features.data(), n + 1) || trie.features.back() != n_features) {
      throw py::value_error("children: expected a trie");
    }
    // Children come after their parent: a way down ends.
    for (size_t i = 0; i < trie.symbols.size(); ++i) {
      if (trie.children[i] <= static_cast<int64_t>(i)) throw py::value_error("children: expected a trie");
    }
    const auto rest = static_cast<size_t>(n_roots);
    if (!all_in_range(trie.symbols.data() + rest, n - n_roots, n_symbols)) {
      throw py::value_error("symbols: out of range");
    }
    check_labels(trie, n_labels);
    return trie;
  }

  // A node has the labels of its root.
  static void check_labels(const lm::ContextTrie& trie, const std::vector<int64_t>& n_labels) {
    std::vector<int64_t> begins, ends;
    for (size_t r = 0; r < n_labels.size(); ++r) {
      auto begin = static_cast<int64_t>(r), end = begin + 1;
      while (begin < end) {
        const int64_t from = trie.features[static_cast<size_t>(begin)],
                      to = trie.features[static_cast<size_t>(end)];
        if (!all_in_range(trie.labels.data() + from, to - from, n_labels[r])) {
          throw py::value_error("labels: out of range");
        }
        const int64_t next = trie.children[static_cast<size_t>(begin)];
        end = trie.children[static_cast<size_t>(end)];
        begin = next;
      }
    }
  }
};

// Keeps what it looks at.
class Scorer {
 public:
  Scorer(py::array words, py::array class_starts, TrieArgument class_contexts, TrieArgument word_contexts,
         TrieArgument contexts, int order)
      : words_(std::move(words)),
        class_starts_(std::move(class_starts)),
        tries_{std::move(class_contexts), std::move(word_contexts), std::move(contexts)},
        scorer_(checked(order)) {}

  py::array score(const py::array& starts, const py::array& ids, bool begin, bool end, int n_threads) const {
    const SentencesView text = sentences_view(starts, ids, words_.size());
    const auto n_sentences = static_cast<int64_t>(text.starts.size()) - 1;
    py::array_t<double> found(static_cast<int64_t>(text.ids.size()) + (end ? n_sentences : 0));
    double* out = found.mutable_data();
    const ReleaseGil release;
    scorer_.score(text.starts, text.ids, begin, end, out, n_threads);
    return found;
  }

 private:
  lm::ModelM checked(int order) const {
    const auto words = span_of<int32_t>(words_, "words");
    const auto starts = span_of<int64_t>(class_starts_, "class_starts");
    const auto n_words = static_cast<int64_t>(words.size()),
               n_classes = static_cast<int64_t>(starts.size()) - 1;
    if (n_words < 3 || !all_in_range(words.data(), n_words, n_words))
      throw py::value_error("words: out of range");
    if (n_classes < 1 || !rise_from_zero(starts.data(), n_classes + 1) || starts.back() != n_words) {
      throw py::value_error("class_starts: expected offsets of words");
    }
    if (order < 2) throw py::value_error("order: expected at least 2");
    std::vector<int64_t> sizes;
    for (int64_t c = 0; c < n_classes; ++c) {
      sizes.push_back(starts[static_cast<size_t>(c) + 1] - starts[static_cast<size_t>(c)]);
    }
    const lm::ModelM model{words,
                           starts,
                           tries_[0].view(1, n_classes, {n_classes}),
                           tries_[1].view(1, n_words, {n_classes}),
                           tries_[2].view(n_classes, n_words, sizes),
                           order};
    if (model.class_contexts.features[1] != n_classes)
      throw py::value_error("features: expected all classes");
    for (size_t c = 0; c < sizes.size(); ++c) {
      const int64_t n = model.contexts.features[c + 1] - model.contexts.features[c];
      // The last class has <s>, which is never predicted.
      if (n != sizes[c] - (c + 1 == sizes.size() ? 1 : 0))
        throw py::value_error("features: expected all words");
    }
    return model;
  }

  py::array words_, class_starts_;
  TrieArgument tries_[3];
  lm::ModelMScorer scorer_;
};

}  // namespace

void register_modelm_score(py::module_& m) {
  py::class_<TrieArgument>(m, "ContextTrie")
      .def(py::init<py::array, py::array, py::array, py::array, py::array>(), py::arg("children"),
           py::arg("symbols"), py::arg("features"), py::arg("labels"), py::arg("weights"));
  py::class_<Scorer>(m, "ModelMScorer")
      .def(py::init<py::array, py::array, TrieArgument, TrieArgument, TrieArgument, int>(), py::arg("words"),
           py::arg("class_starts"), py::arg("class_contexts"), py::arg("word_contexts"), py::arg("contexts"),
           py::arg("order"))
      .def("score", &Scorer::score, py::arg("starts"), py::arg("ids"), py::arg("begin"), py::arg("end"),
           py::arg("n_threads"));
}

}  // namespace semproj::bindings
