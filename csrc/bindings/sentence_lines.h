#pragma once
// Sentences of Python, strings or sequences of words, as lines of text: words divided by spaces.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/bindings.h"

namespace semproj::bindings {

// The bytes of a str, which keeps them itself.
std::string_view utf8_of(PyObject* text, const std::string& name);

class SentenceLines {
 public:
  // `argument` is what errors call them.
  explicit SentenceLines(std::string argument) : argument_(std::move(argument)) {}

  // The lines of these sentences, until the next call. Errors count all sentences that were given.
  const std::vector<char>& of(const py::list& sentences);

 private:
  void add_line(PyObject* sentence, int64_t number);

  std::string argument_;
  std::vector<char> lines_;
  int64_t n_given_ = 0;
};

}  // namespace semproj::bindings
