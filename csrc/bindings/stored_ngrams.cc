#include "bindings/stored_ngrams.h"

#include "bindings/sentence_batch.h"

namespace semproj::bindings {

using namespace semproj::lm;

StoredNGrams::StoredNGrams(const NGramTables& tables, const py::array& text, const py::array& offsets)
    : tables_(tables), text_(text), offsets_(offsets) {
  const auto* starts = vector_data<int64_t>(offsets, offsets.size(), "offsets");
  const auto* bytes = reinterpret_cast<const char*>(vector_data<uint8_t>(text, text.size(), "text"));
  const int64_t n_words = offsets.size() - 1;
  if (!rise_from_zero(starts, offsets.size()) || starts[n_words] != text.size() || n_words < kFirstWord ||
      n_words >= (int64_t{1} << 31)) {
    throw py::value_error("offsets: expected those of words");
  }
  const auto slots = matrix_view<const int64_t>(tables.word_slots, "word_slots");
  if (slots.cols != 2 || slots.stride != 2) throw py::value_error("word_slots: expected two columns");
  const WordTable words(bytes, starts, n_words, reinterpret_cast<const WordSlot*>(slots.data), slots.rows,
                        tables.seed);
  const auto unigrams = matrix_view<const float>(tables.unigrams, "unigrams");
  if (unigrams.rows != n_words || unigrams.cols != 2 || unigrams.stride != 2) {
    throw py::value_error("unigrams: expected two numbers for each word");
  }
  const auto order = static_cast<int>(tables.tables.size()) + 1;
  if (order > kMaxOrder || tables.counts.size() != tables.tables.size() + 1) {
    throw py::value_error("tables: expected one for each order from 2 to at most 6, and a count for each");
  }
  const bool coded = tables.codebooks.size() > 0;
  const float* codes = coded ? vector_data<float>(tables.codebooks, (order - 1) * 512, "codebooks") : nullptr;
  std::vector<GramTable> all;
  int context_bits = bits_for(n_words);
  for (int k = 2; k <= order; ++k) {
    const py::array& lines = tables.tables[static_cast<size_t>(k) - 2];
    const auto view = matrix_view<const int64_t>(lines, "tables");
    if (view.cols != kLineWords || view.stride != kLineWords) {
      throw py::value_error("tables: expected lines of 64 bytes");
    }
    const GramLayout layout = layout_for(view.rows, context_bits, bits_for(n_words), coded ? 8 : 31,
                                         k == order ? 0
                                         : coded    ? 8
                                                    : 32);
    const float* own = coded ? codes + static_cast<int64_t>(k - 2) * 512 : nullptr;
    all.emplace_back(reinterpret_cast<const uint64_t*>(view.data), layout, own, coded ? own + 256 : nullptr);
    context_bits = bits_for(layout.n_slots());
  }
  model_ = std::make_unique<NGramModel>(words, reinterpret_cast<const float*>(unigrams.data), std::move(all));
}

int64_t StoredNGrams::find_word(const py::object& word) const {
  SentenceBatch batch;
  const py::tuple one = py::make_tuple(word);
  batch.add(one.ptr(), "word");
  const WordRef ref = batch.refs()[0].words[0];
  return model_->words().find({ref.bytes, static_cast<size_t>(ref.size)});
}

}  // namespace semproj::bindings
