#pragma once
// Documents to words.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace semproj::text {

// How the characters lie in memory. The first four are what a Python string may hold.
enum class TextKind : uint8_t { ascii, latin1, ucs2, ucs4, utf8 };

struct TextRef {
  const void* data;
  int64_t length;  // in units of the kind
  TextKind kind;
};

// A text, or a list of tokens that are used as they are.
struct DocumentRef {
  TextRef text{nullptr, 0, TextKind::ascii};
  const TextRef* tokens = nullptr;
  int64_t n_tokens = 0;
  bool is_tokens = false;
};

// Text that is not what it claims to be; the message names the document.
class TextError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Words as byte ranges [bounds[2 i], bounds[2 i + 1]) of one buffer; kPadding bytes after each may be read.
struct Spans {
  const char* text;
  const uint32_t* bounds;
  int64_t count;
};

inline constexpr int kPadding = 16;

// Cuts one document after another into words, UTF-8 and in lower case if asked.
//
// A word is a maximal run of letters, numbers and the marks that follow them. The words come in pieces of a
// few kilobytes, so that they are still in the nearest cache when they are looked up and a document of any
// length needs little memory.
class Tokenizer {
 public:
  Tokenizer(bool lowercase, bool replace_errors) : lowercase_(lowercase), replace_errors_(replace_errors) {}

  void start(const DocumentRef& document, int64_t document_number);

  // The next piece, valid until the next call; false at the document's end.
  bool next(Spans* spans);

 private:
  template <class Unit, bool kLower, class Decode>
  void read_text(Decode decode);
  void read_tokens();
  template <class Unit>
  void append_token(const TextRef& token);
  void make_room(int64_t n_units);
  void append(uint32_t code);
  [[noreturn]] void fail(int64_t position, uint32_t unit) const;

  bool lowercase_;
  bool replace_errors_;
  DocumentRef document_;
  int64_t document_number_ = 0;
  int64_t position_ = 0;  // in units of the text, or in tokens
  bool done_ = true;
  std::vector<char> text_;
  std::vector<uint32_t> bounds_;
  int64_t text_size_ = 0;
  int64_t bounds_size_ = 0;  // odd while a word is open
};

}  // namespace semproj::text
