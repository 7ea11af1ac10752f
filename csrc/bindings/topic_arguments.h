#pragma once
// Documents, words and topics as Python hands them over to the topic models.

#include "bindings/csr_argument.h"
#include "kernels/topics.h"

namespace semproj::bindings {

// Counts as float32, indices as int32 and all of them within range.
inline CsrView<int32_t, float> topic_documents(const CsrArgument& x, int64_t n_words) {
  const auto documents = x.view<int32_t, float>();
  if (documents.n_cols != n_words) throw py::value_error("X: expected a column for each word");
  check_columns(documents);
  return documents;
}

// Holds references to the arrays that the corpus looks at.
struct CorpusArgument {
  CsrArgument x;
  TopicCorpus corpus;

  void check(const TopicWords& words) const {
    if (words.n_words() != corpus.documents().n_cols || words.n_topics() != corpus.n_topics()) {
      throw py::value_error("words: expected those of the corpus");
    }
  }
};

template <class T>
MatrixView<T> document_topics(const py::array& theta, int64_t n_documents, int64_t n_topics,
                              const char* name = "theta") {
  const auto view = matrix_view<T>(theta, name);
  if (view.rows != n_documents || view.cols != n_topics) {
    throw py::value_error(std::string(name) + ": expected a row for each document, a column for each topic");
  }
  return view;
}

}  // namespace semproj::bindings
