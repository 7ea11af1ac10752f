#pragma once

#include <span>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "lm/ngram_model.h"

namespace semproj::bindings {

// Sentences, each a str or a sequence of str, as pointers into Python's memory, which it keeps alive. Made
// and destroyed with the GIL held, read without it.
class SentenceBatch {
 public:
  // `name` is that of the argument; with a number of the first, errors say which sentence they mean.
  void add(PyObject* sentence, const std::string& name) {
    lm::SentenceRef& ref = refs_.emplace_back();
    if (PyUnicode_Check(sentence)) {
      ref.is_cut = false;
      ref.text = held(sentence, name);
      return;
    }
    if (PyBytes_Check(sentence) || !PySequence_Check(sentence)) {
      throw py::type_error(name + ": expected a str or a sequence of words, got " +
                           Py_TYPE(sentence)->tp_name);
    }
    const auto list = py::reinterpret_steal<py::object>(PySequence_Fast(sentence, "expected a sequence"));
    if (!list) throw py::error_already_set();
    std::vector<lm::WordRef>& words = words_.emplace_back();
    for (py::ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
      PyObject* word = PySequence_Fast_GET_ITEM(list.ptr(), i);
      if (!PyUnicode_Check(word)) {
        throw py::type_error(name + ": expected words, got " + Py_TYPE(word)->tp_name + " at " +
                             std::to_string(i));
      }
      words.push_back(held(word, name));
    }
    ref.is_cut = true;
    ref.words = words;
  }

  std::span<const lm::SentenceRef> refs() const { return refs_; }

 private:
  // ASCII is UTF-8 already. Other strings would keep a copy for ever, if they were asked for it.
  lm::WordRef held(PyObject* text, const std::string& name) {
    owners_.push_back(py::reinterpret_borrow<py::object>(text));
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
      return {static_cast<const char*>(PyUnicode_DATA(text)), PyUnicode_GET_LENGTH(text)};
    }
    auto bytes = py::reinterpret_steal<py::object>(PyUnicode_AsUTF8String(text));
    if (!bytes) {
      const py::error_already_set error;
      throw py::value_error(name + ": cannot be written as UTF-8 (" + std::string(py::str(error.value())) +
                            ")");
    }
    owners_.back() = std::move(bytes);
    return {PyBytes_AS_STRING(owners_.back().ptr()), PyBytes_GET_SIZE(owners_.back().ptr())};
  }

  std::vector<lm::SentenceRef> refs_;
  std::vector<std::vector<lm::WordRef>> words_;  // moved when there are more, but not what is in them
  std::vector<py::object> owners_;
};

}  // namespace semproj::bindings
