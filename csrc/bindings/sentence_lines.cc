#include "bindings/sentence_lines.h"

#include <algorithm>
#include <string>

#include "lm/white_space.h"

namespace semproj::bindings {
namespace {

template <class Name>
void add_text(std::vector<char>& lines, PyObject* text, const Name& name) {
  if (PyUnicode_IS_ASCII(text)) {
    const auto* bytes = static_cast<const char*>(PyUnicode_DATA(text));
    lines.insert(lines.end(), bytes, bytes + PyUnicode_GET_LENGTH(text));
    return;
  }
  const auto encoded = py::reinterpret_steal<py::object>(PyUnicode_AsUTF8String(text));
  if (!encoded) {
    PyErr_Clear();
    throw py::value_error(name() + ": cannot be written as UTF-8");
  }
  const char* bytes = PyBytes_AS_STRING(encoded.ptr());
  lines.insert(lines.end(), bytes, bytes + PyBytes_GET_SIZE(encoded.ptr()));
}

template <class Name>
void add_tokens(std::vector<char>& lines, PyObject* sentence, const Name& name) {
  const py::ssize_t n = PySequence_Fast_GET_SIZE(sentence);
  for (py::ssize_t i = 0; i < n; ++i) {
    PyObject* token = PySequence_Fast_GET_ITEM(sentence, i);
    const auto word = [&] { return name() + ", word " + std::to_string(i); };
    if (!PyUnicode_Check(token)) {
      throw py::type_error(word() + ": expected str, got " + Py_TYPE(token)->tp_name);
    }
    const size_t begin = lines.size();
    add_text(lines, token, word);
    const auto first = lines.begin() + static_cast<std::ptrdiff_t>(begin);
    if (first == lines.end() || std::any_of(first, lines.end(), &lm::is_space)) {
      throw py::value_error(word() + ": expected a word without white space, got " +
                            std::string(py::repr(token)));
    }
    lines.push_back(' ');
  }
}

}  // namespace

std::string_view utf8_of(PyObject* text, const std::string& name) {
  py::ssize_t length = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &length);
  if (bytes == nullptr) {
    PyErr_Clear();
    throw py::value_error(name + ": cannot be written as UTF-8");
  }
  return {bytes, static_cast<size_t>(length)};
}

const std::vector<char>& SentenceLines::of(const py::list& sentences) {
  lines_.clear();
  const int64_t first = n_given_;
  for (py::ssize_t i = 0; i < PyList_GET_SIZE(sentences.ptr()); ++i) {
    add_line(PyList_GET_ITEM(sentences.ptr(), i), first + i);
  }
  n_given_ = first + PyList_GET_SIZE(sentences.ptr());
  return lines_;
}

void SentenceLines::add_line(PyObject* sentence, int64_t number) {
  const auto name = [&] { return argument_ + "[" + std::to_string(number) + "]"; };
  if (PyUnicode_Check(sentence)) {
    const size_t begin = lines_.size();
    add_text(lines_, sentence, name);
    std::replace(lines_.begin() + static_cast<std::ptrdiff_t>(begin), lines_.end(), '\n', ' ');
  } else if (PySequence_Check(sentence) != 0 && !PyBytes_Check(sentence)) {
    const auto words = py::reinterpret_steal<py::object>(PySequence_Fast(sentence, "expected a sequence"));
    if (!words) throw py::error_already_set();
    add_tokens(lines_, words.ptr(), name);
  } else {
    throw py::type_error(name() + ": expected a str or a sequence of words, got " +
                         Py_TYPE(sentence)->tp_name);
  }
  lines_.push_back('\n');
}

}  // namespace semproj::bindings
