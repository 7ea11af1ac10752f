// Blocks of 64 ASCII characters become a bit mask; where the mask changes, a word begins or ends, so the
// edges of the mask, in order, are the words' bounds. Characters that are not ASCII are taken one by one from
// a table.
//
// Cost: about 1 cycle per ASCII character (the copy into the buffer included), 4 per edge, 10 to 15 for each
// other character.

#include "text/tokenize.h"

#include <bit>
#include <cstring>
#include <limits>

#include "text/ascii_block.h"
#include "text/unicode.h"

namespace semproj::text {
namespace {

constexpr int64_t kPieceUnits = 4096;  // of text read between two pieces
constexpr int64_t kPieceTokens = 1024;

// True where the next few units are ASCII, so that reading a whole block pays again.
template <class Unit>
bool ascii_ahead(const Unit* p, const Unit* end) {
  constexpr int kAhead = 8;
  if (end - p < kAhead) return true;
  Unit all = 0;
  for (int i = 0; i < kAhead; ++i) all |= p[i];
  return all < 0x80;
}

// The code point at p, or ~0 where there is none; *length is what to skip in both cases.
struct DecodeUtf8 {
  uint32_t operator()(const uint8_t* p, const uint8_t* end, int* length) const {
    uint32_t code = 0;
    const int n = decode_utf8(p, end, &code);
    *length = n == 0 ? 1 : n;
    return n == 0 ? ~0u : code;
  }
};

struct DecodeUnit {
  template <class Unit>
  uint32_t operator()(const Unit* p, const Unit*, int* length) const {
    *length = 1;
    return is_surrogate(*p) || *p > 0x10FFFFu ? ~0u : *p;
  }
};

}  // namespace

void Tokenizer::start(const DocumentRef& document, int64_t document_number) {
  document_ = document;
  document_number_ = document_number;
  position_ = 0;
  done_ = false;
  text_size_ = bounds_size_ = 0;
}

bool Tokenizer::next(Spans* spans) {
  if (done_) return false;
  if (bounds_size_ % 2 == 1) {  // the last piece ended inside a word: it is the beginning of this one
    const int64_t begin = bounds_[bounds_size_ - 1];
    text_size_ -= begin;
    if (begin > 0) std::memmove(text_.data(), text_.data() + begin, text_size_);
    bounds_[0] = 0;
    bounds_size_ = 1;
  } else {
    text_size_ = bounds_size_ = 0;
  }
  if (document_.is_tokens) {
    read_tokens();
  } else {
    make_room(kPieceUnits + 2 * kBlock);
    const auto read = [&]<class Unit, class Decode>(Unit, Decode decode) {
      lowercase_ ? read_text<Unit, true>(decode) : read_text<Unit, false>(decode);
    };
    switch (document_.text.kind) {
      case TextKind::ascii:
      case TextKind::latin1:
        read(uint8_t{}, DecodeUnit{});
        break;
      case TextKind::ucs2:
        read(uint16_t{}, DecodeUnit{});
        break;
      case TextKind::ucs4:
        read(uint32_t{}, DecodeUnit{});
        break;
      case TextKind::utf8:
        read(uint8_t{}, DecodeUtf8{});
        break;
    }
    done_ = position_ == document_.text.length;
    if (done_ && bounds_size_ % 2 == 1) bounds_[bounds_size_++] = static_cast<uint32_t>(text_size_);
  }
  *spans = {text_.data(), bounds_.data(), bounds_size_ / 2};
  return true;
}

// Room for n more units: 4 bytes each, and one bound each and the closing one.
void Tokenizer::make_room(int64_t n_units) {
  const int64_t n_bytes = text_size_ + 4 * n_units + kBlock + kPadding;
  if (n_bytes > std::numeric_limits<uint32_t>::max()) {
    throw TextError("document " + std::to_string(document_number_) + " has a term of more than 4 GB");
  }
  const auto grow = [](auto& v, int64_t n) {
    if (static_cast<int64_t>(v.size()) < n) v.resize(n + n / 2);
  };
  grow(text_, n_bytes);
  grow(bounds_, bounds_size_ + n_units + 1);
}

template <class Unit, bool kLower, class Decode>
void Tokenizer::read_text(Decode decode) {
  const auto* const begin = static_cast<const Unit*>(document_.text.data);
  const Unit* const end = begin + document_.text.length;
  const Unit* p = begin + position_;
  const Unit* const stop = end - p > kPieceUnits ? p + kPieceUnits : end;
  char* out = text_.data() + text_size_;
  uint32_t* bound = bounds_.data() + bounds_size_;
  uint64_t open = bounds_size_ % 2;
  const auto offset = [&] { return static_cast<uint32_t>(out - text_.data()); };

  while (p < stop) {
    Unit tail[kBlock];
    const Unit* block = p;
    int n = kBlock;
    if (end - p < kBlock) {  // never read past the caller's text
      n = static_cast<int>(end - p);
      std::memset(tail, 0, sizeof tail);
      std::memcpy(tail, p, n * sizeof(Unit));
      block = tail;
    }
    auto [words, wide] = read_block<kLower>(block, out);
    if (wide != 0) n = std::countr_zero(wide) < n ? std::countr_zero(wide) : n;
    if (n > 0) {
      const uint64_t kept = ~uint64_t{0} >> (kBlock - n);
      words &= kept;
      uint64_t edges = (words ^ (words << 1 | open)) & kept;
      for (const uint32_t base = offset(); edges != 0; edges &= edges - 1) {
        *bound++ = base + static_cast<uint32_t>(std::countr_zero(edges));
      }
      open = words >> (n - 1);
      p += n;
      out += n;
    }
    while (p < stop && (*p >= 0x80 || !ascii_ahead(p, end))) {
      int length = 1;
      uint32_t code = decode(p, end, &length);
      if (code == ~0u) {
        if (!replace_errors_) fail(p - begin, *p);
        code = 0xFFFD;
      }
      const auto& [shift, kind] = character(code);
      const uint64_t inside = kind == kWord || (kind == kMark && open);
      *bound = offset();
      bound += inside ^ open;
      open = inside;
      out += inside ? encode_utf8(kLower ? code + shift : code, out) : 1;
      p += length;
    }
  }
  position_ = p - begin;
  text_size_ = out - text_.data();
  bounds_size_ = bound - bounds_.data();
}

void Tokenizer::read_tokens() {
  const int64_t first = position_, n = document_.n_tokens;
  while (position_ < n && position_ - first < kPieceTokens && text_size_ < kPieceUnits) {
    const TextRef& token = document_.tokens[position_];
    make_room(token.length + 1);
    bounds_[bounds_size_++] = static_cast<uint32_t>(text_size_);
    switch (token.kind) {
      case TextKind::ucs2:
        append_token<uint16_t>(token);
        break;
      case TextKind::ucs4:
        append_token<uint32_t>(token);
        break;
      default:
        append_token<uint8_t>(token);
        break;
    }
    bounds_[bounds_size_++] = static_cast<uint32_t>(text_size_);
    ++position_;
  }
  done_ = position_ == n;
}

template <class Unit>
void Tokenizer::append_token(const TextRef& token) {
  const auto* p = static_cast<const Unit*>(token.data);
  for (int64_t i = 0; i < token.length; ++i) {
    uint32_t code = p[i];
    if (is_surrogate(code)) {
      if (!replace_errors_) fail(i, code);
      code = 0xFFFD;
    }
    if (lowercase_) code += character(code).lower_shift;
    text_size_ += encode_utf8(code, text_.data() + text_size_);
  }
}

void Tokenizer::fail(int64_t position, uint32_t unit) const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (int shift = unit > 0xFF ? 12 : 4; shift >= 0; shift -= 4) hex += kDigits[(unit >> shift) & 15];
  std::string message = "document " + std::to_string(document_number_);
  if (document_.is_tokens) message += ", token " + std::to_string(position_);
  message += document_.text.kind == TextKind::utf8 && !document_.is_tokens
                 ? ": invalid UTF-8 at byte " + std::to_string(position) + " (0x" + hex + ")"
                 : ": lone surrogate U+" + hex + " at character " + std::to_string(position);
  throw TextError(message + "; errors=\"replace\" would read it as U+FFFD");
}

}  // namespace semproj::text
