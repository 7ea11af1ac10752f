#pragma once

#include <span>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "text/tokenize.h"

namespace semproj::bindings {

// The next documents of an iterator, up to and with the one that reaches a limit.
inline py::list take_batch(const py::iterator& iterator, int64_t max_characters, int64_t max_documents) {
  constexpr int64_t kTokenCharacters = 8;
  py::list batch;
  for (int64_t n = 0, size = 0; n < max_documents && size < max_characters; ++n) {
    const auto document = py::reinterpret_steal<py::object>(next_item(iterator.ptr()));
    if (!document) {
      if (PyErr_Occurred() != nullptr) throw py::error_already_set();
      break;
    }
    PyObject* d = document.ptr();
    if (PyUnicode_Check(d)) {
      size += PyUnicode_GET_LENGTH(d);
    } else if (PyBytes_Check(d)) {
      size += PyBytes_GET_SIZE(d);
    } else if (PyList_Check(d) || PyTuple_Check(d)) {
      size += kTokenCharacters * PySequence_Fast_GET_SIZE(d);
    }
    batch.append(document);
  }
  return batch;
}

// Documents as pointers into the Python strings, which it keeps alive. Made and destroyed with the GIL held,
// read without it.
class TextBatch {
 public:
  TextBatch(const py::list& documents, int64_t first_number) {
    const py::ssize_t n = PyList_GET_SIZE(documents.ptr());
    refs_.reserve(n);
    owners_.reserve(n);
    for (py::ssize_t i = 0; i < PyList_GET_SIZE(documents.ptr()); ++i) {
      add(PyList_GET_ITEM(documents.ptr(), i), first_number + i);
    }
  }

  std::span<const text::DocumentRef> refs() const { return refs_; }

 private:
  void add(PyObject* document, int64_t number) {
    text::DocumentRef& ref = refs_.emplace_back();
    if (PyUnicode_Check(document)) {
      ref.text = text_of(document);
      hold(document);
    } else if (PyBytes_Check(document)) {
      ref.text = {PyBytes_AS_STRING(document), PyBytes_GET_SIZE(document), text::TextKind::utf8};
      hold(document);
    } else if (PyList_Check(document) || PyTuple_Check(document)) {
      add_tokens(&ref, document, number);
    } else {
      throw py::type_error("document " + std::to_string(number) +
                           ": expected str, bytes or a list of str, got " + Py_TYPE(document)->tp_name);
    }
  }

  // The tokens are held themselves: somebody might change the list meanwhile.
  void add_tokens(text::DocumentRef* ref, PyObject* list, int64_t number) {
    const py::ssize_t n = PySequence_Fast_GET_SIZE(list);
    std::vector<text::TextRef>& tokens = tokens_.emplace_back();
    tokens.reserve(n);
    for (py::ssize_t i = 0; i < n; ++i) {
      PyObject* token = PySequence_Fast_GET_ITEM(list, i);
      if (!PyUnicode_Check(token)) {
        throw py::type_error("document " + std::to_string(number) + ", token " + std::to_string(i) +
                             ": expected str, got " + Py_TYPE(token)->tp_name);
      }
      tokens.push_back(text_of(token));
      hold(token);
    }
    ref->is_tokens = true;
    ref->tokens = tokens.data();
    ref->n_tokens = n;
  }

  static text::TextRef text_of(PyObject* s) {
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(s) != 0) throw py::error_already_set();
#endif
    constexpr text::TextKind kKinds[] = {text::TextKind::latin1, text::TextKind::latin1, text::TextKind::ucs2,
                                         text::TextKind::ucs4, text::TextKind::ucs4};
    return {PyUnicode_DATA(s), PyUnicode_GET_LENGTH(s),
            PyUnicode_IS_ASCII(s) ? text::TextKind::ascii : kKinds[PyUnicode_KIND(s)]};
  }

  void hold(PyObject* o) { owners_.push_back(py::reinterpret_borrow<py::object>(o)); }

  std::vector<text::DocumentRef> refs_;
  std::vector<std::vector<text::TextRef>> tokens_;  // one for each list; the documents point into them
  std::vector<py::object> owners_;
};

}  // namespace semproj::bindings
