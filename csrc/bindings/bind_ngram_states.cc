#include <pybind11/stl.h>

#include <algorithm>
#include <array>

#include "bindings/bindings.h"
#include "bindings/stored_ngrams.h"

namespace semproj::bindings {
namespace {

using namespace semproj::lm;

struct NGramStep {
  float log_prob;
  int order;
  bool unknown;
  NGramState state;
};

// The words that still matter, latest first, with what a model remembers of them.
py::tuple state_tuple(const NGramState& s) {
  constexpr size_t kN = kMaxOrder - 1;
  std::array<uint32_t, kN> words;
  std::array<int64_t, kN> slots;
  std::array<float, kN> backoffs;
  std::copy_n(s.words, kN, words.begin());
  std::copy_n(s.slots, kN, slots.begin());
  std::copy_n(s.backoffs, kN, backoffs.begin());
  return py::make_tuple(s.length, words, slots, backoffs);
}

NGramState state_of(const py::tuple& t) {
  constexpr size_t kN = kMaxOrder - 1;
  if (t.size() != 4) throw py::value_error("state: expected four parts");
  NGramState s;
  s.length = std::clamp(t[0].cast<int32_t>(), 0, static_cast<int32_t>(kN));
  std::ranges::copy(t[1].cast<std::array<uint32_t, kN>>(), s.words);
  std::ranges::copy(t[2].cast<std::array<int64_t, kN>>(), s.slots);
  std::ranges::copy(t[3].cast<std::array<float, kN>>(), s.backoffs);
  return s;
}

bool equal(const NGramState& a, const NGramState& b) {
  return a.length == b.length && std::equal(a.words, a.words + a.length, b.words);
}

NGramStep advance(const StoredNGrams& store, const NGramState& state, const py::object& word) {
  NGramStep step;
  const auto result = store.model().advance(state, static_cast<uint32_t>(store.find_word(word)), &step.state);
  step.log_prob = result.log_prob;
  step.order = result.order;
  step.unknown = result.unknown;
  return step;
}

}  // namespace

void register_ngram_states(py::module_& m) {
  py::class_<NGramState>(m, "NGramState")
      .def("__len__", [](const NGramState& s) { return s.length; })
      .def("words", [](const NGramState& s) { return std::vector<uint32_t>(s.words, s.words + s.length); })
      .def(
          "__eq__",
          [](const NGramState& a, const py::object& b) {
            return py::isinstance<NGramState>(b) && equal(a, b.cast<const NGramState&>());
          },
          py::arg("other"))
      .def("__hash__",
           [](const NGramState& s) {
             uint64_t h = static_cast<uint64_t>(s.length);
             for (int i = 0; i < s.length; ++i) h = (h ^ s.words[i]) * 0x9E3779B97F4A7C15u;
             return static_cast<py::ssize_t>(h >> 2);
           })
      .def(py::pickle(&state_tuple, &state_of));
  py::class_<NGramStep>(m, "NGramStep")
      .def_readonly("log_prob", &NGramStep::log_prob)
      .def_readonly("order", &NGramStep::order)
      .def_readonly("unknown", &NGramStep::unknown)
      .def_readonly("state", &NGramStep::state);
  m.def("ngram_begin_state", [](const StoredNGrams& s) { return s.model().begin_state(); }, py::arg("store"));
  m.def("ngram_empty_state", [](const StoredNGrams& s) { return s.model().empty_state(); }, py::arg("store"));
  m.def("ngram_advance", &advance, py::arg("store"), py::arg("state"), py::arg("word"));
}

}  // namespace semproj::bindings
