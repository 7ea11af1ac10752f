#pragma once
// Reads an ARPA file, piece by piece, into a sink.
//
// What SRILM, KenLM and others write: words and numbers divided by spaces or tabs, blank lines anywhere, text
// before \data\, n-grams of a section in any order, no back-off where it is 0. Words get the ids 0 to 2 if
// they are <unk>, <s> and </s>, then ids in the order of the file. Errors have the number of the line.

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lm/ngram_sink.h"
#include "lm/word_table.h"

namespace semproj::lm {

class ArpaError : public std::invalid_argument {
 public:
  ArpaError(int64_t line, const std::string& what)
      : std::invalid_argument("line " + std::to_string(line) + ": " + what) {}
};

// What a file lacked, and what it has instead.
struct ArpaGaps {
  bool unknown = false, begin = false, end = false;
};

class ArpaReader {
 public:
  explicit ArpaReader(NGramSink* sink) : sink_(sink) {}

  // The next bytes of the file; they may end anywhere.
  void feed(std::string_view bytes);
  // After the last.
  void finish();

  // Complete after the words have been read.
  const std::string& bytes() const { return bytes_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  const WordSlots& word_slots() const { return slots_; }
  const ArpaGaps& gaps() const { return gaps_; }
  // The line of n-gram number `index` of an order.
  int64_t line_of(int order, int64_t index) const;

 private:
  enum class Part { before, counts, section, after };
  struct Fields {
    std::string_view log_prob, backoff;
    std::string_view words[kMaxOrder];
  };

  void read_line(std::string_view line);
  void read_count(std::string_view line);
  void begin_section(std::string_view line);
  void end_section();
  void read_ngram(std::string_view line);
  Fields split(std::string_view line) const;
  float number(std::string_view text, const char* what) const;
  void end_words();
  void send();
  [[noreturn]] void fail(const std::string& what) const;

  NGramSink* sink_;
  Part part_ = Part::before;
  std::string rest_;  // of a line whose end has not come
  int64_t line_ = 0;
  std::vector<int64_t> counts_;
  int order_ = 0;       // of this section
  int64_t n_read_ = 0;  // of it
  struct Place {
    int order;
    int64_t index, line;
  };
  std::vector<Place> places_;  // n-grams that are not on the line after the one before

  std::string bytes_;  // of words in the order of ids
  std::vector<int64_t> offsets_;
  std::vector<std::string> words_;  // in the order of the file
  std::vector<float> word_probs_, word_backoffs_;
  std::vector<int64_t> file_places_;  // of each id, its place in the file; -1 for what it lacked
  WordSlots slots_;
  WordTable table_;
  ArpaGaps gaps_;
  std::vector<uint32_t> ids_;  // of n-grams that wait to be sent
  std::vector<float> log_probs_, backoffs_;
};

}  // namespace semproj::lm
