#pragma once

#include <memory>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/ngram_tables.h"
#include "lm/ngram_model.h"

namespace semproj::bindings {

// A model in arrays, which it keeps alive.
class StoredNGrams {
 public:
  // Checks what memory safety needs.
  StoredNGrams(const NGramTables& tables, const py::array& text, const py::array& offsets);

  const lm::NGramModel& model() const { return *model_; }
  const std::vector<int64_t>& counts() const { return tables_.counts; }

  // The number of a word; 0 if it is not known.
  int64_t find_word(const py::object& word) const;

 private:
  NGramTables tables_;
  py::array text_, offsets_;
  std::unique_ptr<lm::NGramModel> model_;
};

}  // namespace semproj::bindings
