#pragma once
// Text to the numbers of its words.
//
// A sentence is a line; words are what ASCII white space divides. Each thread has a table of its own, which
// numbers words as it meets them. When all text is there the tables are joined, words are chosen and numbered
// by falling count, ties by their bytes: that depends neither on the number of threads nor on who met a word
// first. Numbers are kept as they were given, 4 bytes a word, and translated when they are read.

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lm/ngram_sink.h"
#include "lm/record_store.h"
#include "text/term_table.h"

namespace semproj::lm {

// What a text must not have; the message says where, and calls the text `sentences`.
class CorpusError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct WordChoice {
  int64_t min_count = 1;
  int64_t max_words = -1;  // -1: as many as there are
  const std::vector<std::string_view>* given = nullptr;
};

struct ChosenWords {
  std::vector<char> bytes;       // of all words one after another, the special ones first
  std::vector<int64_t> offsets;  // size() + 1
  std::vector<int64_t> counts;   // in the text: <unk> has those of words that were not chosen

  int64_t size() const { return static_cast<int64_t>(counts.size()); }
};

class NGramText {
 public:
  // With `markers_are_unknown`, <s> and </s> in the text are unknown words, otherwise errors.
  NGramText(Workspace* workspace, bool markers_are_unknown, int n_threads);
  ~NGramText();

  // Bytes, cut anywhere.
  void add(const char* bytes, int64_t n);
  void end_text();

  int64_t n_words() const { return n_words_; }
  int64_t n_sentences() const { return n_sentences_; }

  // After the text has ended, once.
  ChosenWords choose(const WordChoice& choice);

  // Forgets the text, when nobody will read it again.
  void forget();

  // A run of numbers that one thread has given. 2 ends a sentence.
  struct Piece {
    const uint32_t* ids;
    int64_t size;
    const std::vector<uint32_t>* chosen;  // what is chosen for each of these numbers
    std::vector<uint32_t> before;         // chosen numbers of the words before it in the same sentence
  };

  // Goes through the text again, by at most about n words at a time.
  class Reader {
   public:
    Reader(const NGramText& text, int64_t n);
    // Those that follow, valid until the next call; empty at the end.
    const std::vector<Piece>& next();

   private:
    const NGramText& text_;
    Window<uint32_t> window_;
    int64_t n_, in_use_ = 0;
    size_t piece_ = 0;
    std::vector<Piece> pieces_;
    std::vector<uint32_t> last_;  // numbers of the sentence that is open
  };

 private:
  struct Stored {
    int64_t size;
    int32_t worker;
    bool continues;  // a sentence that began before
  };
  struct Worker;
  struct Part;

  void read_buffer(int64_t end, bool continues);
  void read_part(Worker& worker, Part& part);
  [[noreturn]] void refuse_marker(const std::vector<Part>& parts, size_t at) const;

  Workspace* workspace_;
  bool markers_are_unknown_;
  int n_threads_;
  int64_t batch_, n_words_ = 0, n_sentences_ = 0;
  bool is_open_ = false;   // a sentence has begun in what was read, and not ended
  bool ends_line_ = true;  // the last byte that came
  std::vector<char> buffer_;
  int64_t buffered_ = 0, searched_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<uint32_t>> chosen_;  // by worker
  RecordList<uint32_t> ids_;
  std::vector<Stored> stored_;
};

}  // namespace semproj::lm
