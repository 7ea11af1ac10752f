#pragma once

#include <span>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "text/composition.h"
#include "text/tokenize.h"
#include "text/unicode.h"

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

inline text::TextRef text_of(PyObject* s) {
#if PY_VERSION_HEX < 0x030C0000
  if (PyUnicode_READY(s) != 0) throw py::error_already_set();
#endif
  constexpr text::TextKind kKinds[] = {text::TextKind::latin1, text::TextKind::latin1, text::TextKind::ucs2,
                                       text::TextKind::ucs4, text::TextKind::ucs4};
  return {PyUnicode_DATA(s), PyUnicode_GET_LENGTH(s),
          PyUnicode_IS_ASCII(s) ? text::TextKind::ascii : kKinds[PyUnicode_KIND(s)]};
}

// A text in lower case, letter by letter, as the tokenizer writes it.
inline py::object lowered(const py::object& text) {
  std::vector<Py_UCS4> codes(static_cast<size_t>(PyUnicode_GET_LENGTH(text.ptr())) + 1);
  if (PyUnicode_AsUCS4(text.ptr(), codes.data(), static_cast<py::ssize_t>(codes.size()), 1) == nullptr) {
    throw py::error_already_set();
  }
  for (Py_UCS4& code : codes) code += text::character(code).lower_shift;
  auto result = py::reinterpret_steal<py::object>(PyUnicode_FromKindAndData(
      PyUnicode_4BYTE_KIND, codes.data(), static_cast<py::ssize_t>(codes.size()) - 1));
  if (!result) throw py::error_already_set();
  return result;
}

// A text in Normalization Form C; itself if it is, as nearly all are. With `lowercase`, in the form that it
// has in lower case: some letters and their marks are one character only there.
inline py::object composed(const py::object& text, bool lowercase) {
  const auto normalize = py::module_::import("unicodedata").attr("normalize");
  py::object result = normalize("NFC", text);
  if (lowercase && text::may_compose(text_of(result.ptr()))) result = normalize("NFC", lowered(result));
  return result;
}

// The same of UTF-8; bytes that are not UTF-8 stay where they are.
inline py::object composed_utf8(const py::object& bytes, bool lowercase) {
  constexpr const char* kKeep = "surrogateescape";
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(PyBytes_AS_STRING(bytes.ptr()), PyBytes_GET_SIZE(bytes.ptr()), kKeep));
  if (!text) throw py::error_already_set();
  auto result = py::reinterpret_steal<py::object>(
      PyUnicode_AsEncodedString(composed(text, lowercase).ptr(), "utf-8", kKeep));
  if (!result) throw py::error_already_set();
  return result;
}

// Documents as pointers into the Python strings, which it keeps alive. Made and destroyed with the GIL held,
// read without it. With `nfc`, letters and marks are composed, as they are in lower case if that is how they
// will be read.
class TextBatch {
 public:
  TextBatch(const py::list& documents, int64_t first_number, bool nfc, bool lowercase)
      : nfc_(nfc), lowercase_(lowercase) {
    const py::ssize_t n = PyList_GET_SIZE(documents.ptr());
    refs_.reserve(n);
    owners_.reserve(n);
    for (py::ssize_t i = 0; i < PyList_GET_SIZE(documents.ptr()); ++i) {
      add(PyList_GET_ITEM(documents.ptr(), i), first_number + i);
    }
  }

  std::span<const text::DocumentRef> refs() const { return refs_; }

 private:
  // To compose runs Python, which might change lists meanwhile: what is looked at is held, and sizes are
  // asked anew.
  void add(PyObject* document, int64_t number) {
    const auto held = py::reinterpret_borrow<py::object>(document);
    text::DocumentRef& ref = refs_.emplace_back();
    if (PyUnicode_Check(document)) {
      ref.text = held_text(document);
    } else if (PyBytes_Check(document)) {
      ref.text = held_bytes(document);
    } else if (PyList_Check(document) || PyTuple_Check(document)) {
      add_tokens(&ref, document, number);
    } else {
      throw py::type_error("document " + std::to_string(number) +
                           ": expected str, bytes or a list of str, got " + Py_TYPE(document)->tp_name);
    }
  }

  // The tokens are held themselves: somebody might change the list meanwhile.
  void add_tokens(text::DocumentRef* ref, PyObject* list, int64_t number) {
    std::vector<text::TextRef>& tokens = tokens_.emplace_back();
    tokens.reserve(PySequence_Fast_GET_SIZE(list));
    for (py::ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
      PyObject* token = PySequence_Fast_GET_ITEM(list, i);
      if (!PyUnicode_Check(token)) {
        throw py::type_error("document " + std::to_string(number) + ", token " + std::to_string(i) +
                             ": expected str, got " + Py_TYPE(token)->tp_name);
      }
      tokens.push_back(held_text(token));
    }
    ref->is_tokens = true;
    ref->tokens = tokens.data();
    ref->n_tokens = static_cast<int64_t>(tokens.size());
  }

  text::TextRef held_text(PyObject* s) {
    py::object& owner = owners_.emplace_back(py::reinterpret_borrow<py::object>(s));
    if (nfc_ && text::may_compose(text_of(s))) owner = composed(owner, lowercase_);
    return text_of(owner.ptr());
  }

  text::TextRef held_bytes(PyObject* bytes) {
    py::object& owner = owners_.emplace_back(py::reinterpret_borrow<py::object>(bytes));
    if (nfc_ && text::may_compose(utf8_of(bytes))) owner = composed_utf8(owner, lowercase_);
    return utf8_of(owner.ptr());
  }

  static text::TextRef utf8_of(PyObject* bytes) {
    return {PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes), text::TextKind::utf8};
  }

  std::vector<text::DocumentRef> refs_;
  std::vector<std::vector<text::TextRef>> tokens_;  // one for each list; the documents point into them
  std::vector<py::object> owners_;
  bool nfc_, lowercase_;
};

}  // namespace semproj::bindings
