#include <limits>

#include "bindings/bindings.h"
#include "models/alignment.h"

namespace semproj::bindings {
namespace {

// All documents' beads, one after the other.
struct AlignedSentences {
  py::array_t<int64_t> beads;  // document, source_begin, source_end, target_begin, target_end
  py::array_t<float> scores;
};

SentenceLengths sentence_lengths(const py::array& starts, const py::array& lengths, const char* name) {
  const auto* begin = vector_data<int64_t>(starts, starts.size(), name);
  if (starts.size() < 1 || begin[0] != 0 || begin[starts.size() - 1] != lengths.size()) {
    throw py::value_error(std::string(name) + ": offsets must begin with 0 and end with the sentences");
  }
  for (py::ssize_t i = 1; i < starts.size(); ++i) {
    const int64_t n = begin[i] - begin[i - 1];
    if (n < 0 || n >= std::numeric_limits<int32_t>::max()) {
      throw py::value_error(std::string(name) + ": offsets must not decrease");
    }
  }
  return {{begin, static_cast<size_t>(starts.size())}, vector_data<int32_t>(lengths, lengths.size(), name)};
}

AlignedSentences align(const py::array& source_starts, const py::array& source_lengths,
                       const py::array& target_starts, const py::array& target_lengths, double ratio,
                       double variance, double skip, int64_t band, int n_threads) {
  const SentenceLengths source = sentence_lengths(source_starts, source_lengths, "source_starts");
  const SentenceLengths target = sentence_lengths(target_starts, target_lengths, "target_starts");
  if (source.starts.size() != target.starts.size()) {
    throw py::value_error("target_starts: expected as many documents as source_starts has");
  }
  if (band < 1 || band > std::numeric_limits<int32_t>::max()) {
    throw py::value_error("band: expected at least 1 and less than 2**31");
  }
  std::vector<std::vector<Bead>> beads;
  {
    const ReleaseGil release;
    beads = align_documents(source, target, {ratio, variance, skip, band}, n_threads);
  }
  int64_t n = 0;
  for (const auto& document : beads) n += static_cast<int64_t>(document.size());
  AlignedSentences found{py::array_t<int64_t>({n, int64_t{5}}), py::array_t<float>(n)};
  int64_t* row = found.beads.mutable_data();
  float* score = found.scores.mutable_data();
  for (size_t d = 0; d < beads.size(); ++d) {
    for (const Bead& b : beads[d]) {
      *row++ = static_cast<int64_t>(d);
      for (const int32_t bound : {b.source_begin, b.source_end, b.target_begin, b.target_end}) *row++ = bound;
      *score++ = b.score;
    }
  }
  return found;
}

}  // namespace

void register_alignment(py::module_& m) {
  py::class_<AlignedSentences>(m, "AlignedSentences")
      .def_readonly("beads", &AlignedSentences::beads)
      .def_readonly("scores", &AlignedSentences::scores);
  m.def("align_lengths", &align, py::arg("source_starts"), py::arg("source_lengths"),
        py::arg("target_starts"), py::arg("target_lengths"), py::arg("ratio"), py::arg("variance"),
        py::arg("skip"), py::arg("band"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
