#include "bindings/text_reading.h"
#include "lm/numbered_text.h"

namespace semproj::bindings {

using namespace semproj::lm;

NGramText& TextReading::open_text() {
  if (step_ != Step::reading) throw py::value_error("words have been chosen, nothing can be added");
  return text_;
}

void TextReading::add_bytes(const py::buffer& bytes) {
  const py::buffer_info info = bytes.request();
  if (info.ndim != 1 || info.itemsize != 1 || info.strides[0] != 1)
    throw py::type_error("bytes: expected bytes");
  NGramText& text = open_text();
  const ReleaseGil release;
  text.add(static_cast<const char*>(info.ptr), info.size);
}

void TextReading::add_sentences(const py::list& sentences) {
  NGramText& text = open_text();
  const std::vector<char>& lines = lines_.of(sentences);
  const ReleaseGil release;
  text.add(lines.data(), static_cast<int64_t>(lines.size()));
}

void TextReading::end_text() {
  NGramText& text = open_text();
  const ReleaseGil release;
  text.end_text();
}

Words TextReading::choose(int64_t min_count, int64_t max_words, const std::optional<py::list>& given) {
  NGramText& read = open_text();
  std::vector<std::string_view> words;
  if (given) {
    for (const py::handle word : *given) words.push_back(utf8_of(word.ptr(), "vocabulary"));
  }
  ChosenWords chosen;
  {
    const ReleaseGil release;
    read.end_text();
    step_ = Step::forgotten;
    chosen = read.choose({min_count, max_words, given ? &words : nullptr});
    words_are_chosen(chosen);
    step_ = Step::chosen;
  }
  py::array_t<uint8_t> text(static_cast<py::ssize_t>(chosen.bytes.size()));
  std::copy(chosen.bytes.begin(), chosen.bytes.end(), reinterpret_cast<char*>(text.mutable_data()));
  return {text, array_of(std::move(chosen.offsets)), array_of(std::move(chosen.counts))};
}

py::tuple TextReading::numbers(bool with_ends) {
  if (step_ != Step::chosen) throw py::value_error("words must be chosen before");
  const int64_t n_sentences = text_.n_sentences();
  py::array_t<int32_t> ids(text_.n_words() + (with_ends ? n_sentences : 0));
  py::array_t<int64_t> starts(n_sentences + 1);
  const NumberedText to{ids.mutable_data(), starts.mutable_data()};
  {
    const ReleaseGil release;
    number_text(text_, with_ends, n_threads_, to);
  }
  return py::make_tuple(ids, starts);
}

void register_text_reading(py::module_& m) {
  py::class_<Words>(m, "ChosenWords")
      .def_readonly("text", &Words::text)
      .def_readonly("offsets", &Words::offsets)
      .def_readonly("counts", &Words::counts);
  py::class_<TextReading>(m, "TextReading")
      .def(py::init<bool, int64_t, std::string, int, std::string>(), py::arg("markers_are_unknown"),
           py::arg("memory"), py::arg("temp_dir"), py::arg("n_threads"), py::arg("name"))
      .def("add_bytes", &TextReading::add_bytes, py::arg("bytes"))
      .def("add_sentences", &TextReading::add_sentences, py::arg("sentences"))
      .def("end_text", &TextReading::end_text)
      .def("choose", &TextReading::choose, py::arg("min_count"), py::arg("max_words"),
           py::arg("given").none(true))
      .def("numbers", &TextReading::numbers, py::arg("with_ends"))
      .def_property_readonly("n_words", &TextReading::n_words)
      .def_property_readonly("n_sentences", &TextReading::n_sentences);
}

}  // namespace semproj::bindings
