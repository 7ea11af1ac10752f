#pragma once
// A text of sentences or of bytes, from Python, whose words get numbers.

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/sentence_lines.h"
#include "lm/ngram_text.h"

namespace semproj::bindings {

// The words of a model.
struct Words {
  py::array_t<uint8_t> text;
  py::array_t<int64_t> offsets, counts;
};

class TextReading {
 public:
  TextReading(bool markers_are_unknown, int64_t memory, std::string temp_folder, int n_threads,
              std::string name)
      : n_threads_(n_threads),
        workspace_(memory, std::move(temp_folder)),
        text_(&workspace_, markers_are_unknown, n_threads),
        lines_(std::move(name)) {}
  virtual ~TextReading() = default;

  void add_bytes(const py::buffer& bytes);
  void add_sentences(const py::list& sentences);
  void end_text();

  Words choose(int64_t min_count, int64_t max_words, const std::optional<py::list>& given);
  // Numbers of words and starts of sentences: lm/numbered_text.h.
  py::tuple numbers(bool with_ends);

  int64_t n_words() const { return text_.n_words(); }
  int64_t n_sentences() const { return text_.n_sentences(); }

 protected:
  virtual void words_are_chosen(const lm::ChosenWords&) {}  // without the GIL
  void forget_text() { step_ = Step::forgotten; }

  int n_threads_;
  lm::Workspace workspace_;
  lm::NGramText text_;

 private:
  enum class Step { reading, chosen, forgotten };
  lm::NGramText& open_text();

  SentenceLines lines_;
  Step step_ = Step::reading;
};

}  // namespace semproj::bindings
