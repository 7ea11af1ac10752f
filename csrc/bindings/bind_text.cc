#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bindings/csr_argument.h"
#include "bindings/text_batch.h"
#include "text/count.h"
#include "text/sequences.h"
#include "text/unicode_tables.h"

namespace semproj::bindings {
namespace {

using namespace semproj::text;
using VocabularyPointer = std::shared_ptr<const Vocabulary>;

// The columns of words in the order of the text: of document d those at [starts[d], starts[d + 1]).
struct WordSequences {
  py::array_t<int64_t> starts;
  py::array_t<int32_t> ids;
};

void add_documents(CountSession& session, const py::list& documents, int64_t first_document_number) {
  const TextBatch batch(documents, first_document_number, session.options().nfc, session.options().lowercase);
  const ReleaseGil release;
  session.add(batch.refs(), first_document_number);
}

CsrArgument take_rows(CountSession& session) {
  if (!session.vocabulary()) throw py::value_error("rows: expected a vocabulary to be chosen before");
  py::array_t<int64_t> indptr(session.n_documents() + 1);
  py::array_t<int32_t> indices(session.n_entries()), data(session.n_entries());
  {
    const ReleaseGil release;
    session.write_rows(indptr.mutable_data(), indices.mutable_data(), data.mutable_data());
  }
  return {indptr, indices, data, session.vocabulary()->size()};
}

CsrArgument count(const VocabularyPointer& vocabulary, const py::list& documents, int ngram_max,
                  bool lowercase, bool errors_replace, int64_t first_document_number, int n_threads,
                  bool nfc) {
  CountSession session({ngram_max, lowercase, errors_replace, n_threads, nfc}, vocabulary, true);
  add_documents(session, documents, first_document_number);
  return take_rows(session);
}

WordSequences sequences(const VocabularyPointer& vocabulary, const py::list& documents, bool lowercase,
                        bool errors_replace, int64_t first_document_number, int n_threads, bool nfc) {
  const TextBatch batch(documents, first_document_number, nfc, lowercase);
  Sequences found;
  {
    const ReleaseGil release;
    found = word_sequences(*vocabulary, batch.refs(), lowercase, errors_replace, first_document_number,
                           n_threads);
  }
  return {array_of(std::move(found.starts)), array_of(std::move(found.ids))};
}

VocabularyPointer make_vocabulary(const py::array& terms, const py::array& offsets) {
  const auto* bytes = vector_data<uint8_t>(terms, terms.size(), "terms");
  const auto* starts = vector_data<int64_t>(offsets, offsets.size(), "term_offsets");
  return vocabulary_from_bytes(reinterpret_cast<const char*>(bytes), terms.size(), starts, offsets.size());
}

py::list term_list(const Vocabulary& vocabulary) {
  py::list result(vocabulary.size());
  for (int64_t i = 0; i < vocabulary.size(); ++i) {
    const std::string_view term = vocabulary.terms.term(i);
    result[i] = py::str(term.data(), term.size());
  }
  return result;
}

// Not by NumPy, which releases the GIL to copy, as no ReleaseGil does.
template <class T, class Source>
py::array_t<T> copy_of(const Source* data, int64_t n) {
  py::array_t<T> copy(n);
  std::copy_n(reinterpret_cast<const T*>(data), n, copy.mutable_data());
  return copy;
}

}  // namespace

void register_text(py::module_& m) {
  py::class_<WordSequences>(m, "WordSequences")
      .def_readonly("starts", &WordSequences::starts)
      .def_readonly("ids", &WordSequences::ids);
  py::class_<Vocabulary, std::shared_ptr<Vocabulary>>(m, "Vocabulary")
      .def(py::init([](const py::array& terms, const py::array& term_offsets) {
             return std::const_pointer_cast<Vocabulary>(make_vocabulary(terms, term_offsets));
           }),
           py::arg("terms"), py::arg("term_offsets"))
      .def("__len__", &Vocabulary::size)
      .def(
          "find", [](const Vocabulary& v, std::string_view term) { return v.terms.find(term); },
          py::arg("term"))
      .def("term_list", &term_list)
      .def("terms",
           [](const Vocabulary& v) { return copy_of<uint8_t>(v.terms.bytes(), v.terms.offsets().back()); })
      .def("term_offsets",
           [](const Vocabulary& v) { return copy_of<int64_t>(v.terms.offsets().data(), v.size() + 1); })
      .def("count", &count, py::arg("documents"), py::arg("ngram_max"), py::arg("lowercase"),
           py::arg("errors_replace"), py::arg("first_document_number"), py::arg("n_threads"), py::arg("nfc"))
      .def("sequences", &sequences, py::arg("documents"), py::arg("lowercase"), py::arg("errors_replace"),
           py::arg("first_document_number"), py::arg("n_threads"), py::arg("nfc"));

  py::class_<CountSession>(m, "CountSession")
      .def(py::init([](int ngram_max, bool lowercase, bool errors_replace, bool keep_rows, int n_threads,
                       const std::shared_ptr<Vocabulary>& vocabulary, bool nfc) {
             return std::make_unique<CountSession>(
                 CountOptions{ngram_max, lowercase, errors_replace, n_threads, nfc}, vocabulary, keep_rows);
           }),
           py::arg("ngram_max"), py::arg("lowercase"), py::arg("errors_replace"), py::arg("keep_rows"),
           py::arg("n_threads"), py::arg("vocabulary").none(true), py::arg("nfc"))
      .def("add", &add_documents, py::arg("documents"), py::arg("first_document_number"))
      .def(
          "choose",
          [](CountSession& s, int64_t drop_top, std::optional<int64_t> max_features, int64_t min_count) {
            const ReleaseGil release;
            s.choose({drop_top, max_features, min_count});
          },
          py::arg("drop_top"), py::arg("max_features").none(true), py::arg("min_count"))
      .def("rows", &take_rows)
      .def_property_readonly("n_documents", &CountSession::n_documents)
      .def_property_readonly("n_words", &CountSession::n_words)
      .def_property_readonly(
          "vocabulary",
          [](const CountSession& s) { return std::const_pointer_cast<Vocabulary>(s.vocabulary()); })
      .def_property_readonly("term_counts", [](const CountSession& s) {
        return copy_of<int64_t>(s.term_counts().data(), static_cast<int64_t>(s.term_counts().size()));
      });
  m.def("take_batch", &take_batch, py::arg("iterator"), py::arg("max_characters"), py::arg("max_documents"));
  m.attr("UNICODE_VERSION") = tables::kUnicodeVersion;
}

}  // namespace semproj::bindings
