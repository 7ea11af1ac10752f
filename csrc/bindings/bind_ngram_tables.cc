#include <pybind11/stl.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "bindings/bindings.h"
#include "bindings/ngram_tables.h"
#include "lm/arpa_reader.h"

namespace semproj::bindings {
namespace {

using namespace semproj::lm;

py::array array_of_lines(BuiltTable&& table) {
  auto* kept = new Pages(std::move(table.lines));
  const py::capsule owner(kept, [](void* p) { delete static_cast<Pages*>(p); });
  return py::array_t<int64_t>({table.n_lines, static_cast<int64_t>(kLineWords)}, kept->as<int64_t>(), owner);
}

// For each array its own memory, aligned as NumPy aligns.
void set_word_slots(NGramTables* tables, const WordSlots& slots) {
  const auto n = static_cast<py::ssize_t>(slots.slots.size());
  py::array_t<int64_t> array({n, static_cast<py::ssize_t>(2)});
  std::memcpy(array.mutable_data(), slots.slots.data(), slots.slots.size() * sizeof(WordSlot));
  tables->word_slots = array;
  tables->seed = slots.seed;
}

// What takes n-grams, for those who have them.
class TableBuilder {
 public:
  TableBuilder(int n_threads, const std::optional<py::array>& codebooks, int64_t memory,
               const std::string& temp_dir)
      : codes_(codebooks ? *codebooks : py::array_t<float>(0)),
        builder_(
            {n_threads, codebooks ? codebooks_of(*codebooks) : std::vector<Codebook>(), memory, temp_dir}) {}

  TableBuilder(const TableBuilder&) = delete;
  TableBuilder& operator=(const TableBuilder&) = delete;

  NGramBuilder& builder() { return builder_; }

  // Without the words.
  NGramTables take() {
    BuiltModel built = builder_.take();
    NGramTables tables;
    const auto n_words = static_cast<py::ssize_t>(built.unigrams.size() / 2);
    py::array_t<float> unigrams({n_words, static_cast<py::ssize_t>(2)});
    std::copy(built.unigrams.begin(), built.unigrams.end(), unigrams.mutable_data());
    tables.unigrams = unigrams;
    tables.counts.push_back(n_words);
    for (BuiltTable& table : built.tables) {
      tables.counts.push_back(table.n_grams);
      tables.tables.push_back(array_of_lines(std::move(table)));
    }
    tables.codebooks = codes_;
    return tables;
  }

  void add_words(NGramTables* tables, const py::array& text, const py::array& offsets) {
    const auto* starts = vector_data<int64_t>(offsets, offsets.size(), "offsets");
    const auto* bytes = reinterpret_cast<const char*>(vector_data<uint8_t>(text, text.size(), "text"));
    if (!rise_from_zero(starts, offsets.size()) || starts[offsets.size() - 1] != text.size()) {
      throw py::value_error("offsets: expected those of words");
    }
    set_word_slots(tables, make_word_slots(bytes, starts, offsets.size() - 1));
  }

 private:
  py::array codes_;
  NGramBuilder builder_;
};

class ArpaSession {
 public:
  explicit ArpaSession(int n_threads)
      : builder_(n_threads, std::nullopt, 0, {}), reader_(&builder_.builder()) {}

  void feed(const py::bytes& bytes) {
    const std::string_view view(PyBytes_AS_STRING(bytes.ptr()),
                                static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
    const ReleaseGil release;
    reader_.feed(view);
  }

  NGramTables finish() {
    {
      const ReleaseGil release;
      try {
        reader_.finish();
      } catch (const DuplicateNGram& error) {
        throw ArpaError(reader_.line_of(error.order, error.index), error.what());
      }
    }
    NGramTables tables = builder_.take();
    set_word_slots(&tables, reader_.word_slots());
    return tables;
  }

  py::array text() const {
    py::array_t<uint8_t> copy(static_cast<py::ssize_t>(reader_.bytes().size()));
    std::copy(reader_.bytes().begin(), reader_.bytes().end(), copy.mutable_data());
    return copy;
  }
  py::array offsets() const { return array_of(std::vector<int64_t>(reader_.offsets())); }
  // The words that the file lacked.
  std::vector<std::string> gaps() const {
    std::vector<std::string> names;
    const ArpaGaps& gaps = reader_.gaps();
    if (gaps.unknown) names.emplace_back("<unk>");
    if (gaps.begin) names.emplace_back("<s>");
    if (gaps.end) names.emplace_back("</s>");
    return names;
  }

 private:
  TableBuilder builder_;
  ArpaReader reader_;
};

}  // namespace

void register_ngram_tables(py::module_& m) {
  py::class_<NGramTables>(m, "NGramTables")
      .def(py::init([](const py::array& word_slots, uint64_t seed, const py::array& unigrams,
                       const std::vector<py::array>& tables, const std::vector<int64_t>& counts,
                       const py::array& codebooks) {
             return NGramTables{word_slots, seed, unigrams, tables, counts, codebooks};
           }),
           py::arg("word_slots"), py::arg("seed"), py::arg("unigrams"), py::arg("tables"), py::arg("counts"),
           py::arg("codebooks"))
      .def_readonly("word_slots", &NGramTables::word_slots)
      .def_readonly("seed", &NGramTables::seed)
      .def_readonly("unigrams", &NGramTables::unigrams)
      .def_readonly("tables", &NGramTables::tables)
      .def_readonly("counts", &NGramTables::counts)
      .def_readonly("codebooks", &NGramTables::codebooks);
  py::class_<NGramBuilder, NGramSink>(m, "NGramBuilder");
  py::class_<TableBuilder>(m, "NGramTableBuilder")
      .def(py::init<int, std::optional<py::array>, int64_t, std::string>(), py::arg("n_threads"),
           py::arg("codebooks") = py::none(), py::arg("memory") = 0, py::arg("temp_dir") = "")
      .def("sink", &TableBuilder::builder, py::return_value_policy::reference_internal)
      .def(
          "take",
          [](TableBuilder& b, const py::array& text, const py::array& offsets) {
            NGramTables tables = b.take();
            b.add_words(&tables, text, offsets);
            return tables;
          },
          py::arg("text"), py::arg("offsets"));
  py::class_<ArpaSession>(m, "ArpaSession")
      .def(py::init<int>(), py::arg("n_threads"))
      .def("feed", &ArpaSession::feed, py::arg("text"))
      .def("finish", &ArpaSession::finish)
      .def("text", &ArpaSession::text)
      .def("offsets", &ArpaSession::offsets)
      .def("gaps", &ArpaSession::gaps);
}

}  // namespace semproj::bindings
