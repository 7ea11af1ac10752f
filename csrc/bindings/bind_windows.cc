#include "bindings/bindings.h"
#include "text/windows.h"

namespace semproj::bindings {
namespace {

struct WindowSums {
  int64_t windows;
  py::array_t<int64_t> words, pairs;
};

template <class T>
std::span<const T> span_of(const py::array& a, const char* name) {
  return {vector_data<T>(a, a.size(), name), static_cast<size_t>(a.size())};
}

// Whether these are offsets from 0 to n.
bool are_offsets(std::span<const int64_t> offsets, size_t n) {
  return !offsets.empty() && offsets.front() == 0 && offsets.back() == static_cast<int64_t>(n) &&
         std::is_sorted(offsets.begin(), offsets.end());
}

template <class T>
bool all_within(std::span<const T> numbers, int64_t end) {
  return std::all_of(numbers.begin(), numbers.end(), [end](T i) { return 0 <= i && i < end; });
}

WindowSums count(const py::array& starts, const py::array& ids, const py::array& partner_starts,
                 const py::array& partners, const py::array& slots, int64_t n_pairs, int64_t width,
                 bool forget_repeats, int n_threads) {
  const auto documents = span_of<int64_t>(starts, "starts");
  const auto words = span_of<int32_t>(ids, "ids");
  const text::PartnerView pairs{span_of<int64_t>(partner_starts, "partner_starts"),
                                span_of<int32_t>(partners, "partners"), span_of<int32_t>(slots, "slots"),
                                n_pairs};
  if (width < 1) throw py::value_error("width: expected at least 1");
  if (!are_offsets(documents, words.size())) throw py::value_error("starts: expected offsets of ids");
  const auto n_words = static_cast<int64_t>(pairs.starts.size()) - 1;
  const bool good = are_offsets(pairs.starts, pairs.partners.size()) &&
                    pairs.slots.size() == pairs.partners.size() && n_pairs >= 0 &&
                    all_within(pairs.partners, n_words) && all_within(pairs.slots, n_pairs);
  if (!good) throw py::value_error("partners: expected words and numbers of pairs");
  if (std::any_of(words.begin(), words.end(), [](int32_t i) { return i < 0; })) {
    throw py::value_error("ids: expected no negative ones");
  }
  text::WindowCounts found;
  {
    const ReleaseGil release;
    found = text::count_windows(documents, words, pairs, width, forget_repeats, n_threads);
  }
  return {found.windows, array_of(std::move(found.words)), array_of(std::move(found.pairs))};
}

}  // namespace

void register_windows(py::module_& m) {
  py::class_<WindowSums>(m, "WindowSums")
      .def_readonly("windows", &WindowSums::windows)
      .def_readonly("words", &WindowSums::words)
      .def_readonly("pairs", &WindowSums::pairs);
  m.def("count_windows", &count, py::arg("starts"), py::arg("ids"), py::arg("partner_starts"),
        py::arg("partners"), py::arg("slots"), py::arg("n_pairs"), py::arg("width"),
        py::arg("forget_repeats"), py::arg("n_threads"));
}

}  // namespace semproj::bindings
