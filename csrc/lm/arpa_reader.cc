#include "lm/arpa_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "lm/quoted.h"

namespace semproj::lm {
namespace {

constexpr size_t kBlock = 1 << 14;          // n-grams that are sent at once
constexpr float kUnknownLogProb = -100.0f;  // of <unk> where a file has none; kenlm's
constexpr size_t kLongestLine = 1 << 24;
constexpr uint32_t kMostWords = (uint32_t{1} << 31) - 16;

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_blank(s.back())) s.remove_suffix(1);
  return s;
}

// Cuts the first field off.
std::string_view take_field(std::string_view* line) {
  size_t begin = 0;
  while (begin < line->size() && is_blank((*line)[begin])) ++begin;
  size_t end = begin;
  while (end < line->size() && !is_blank((*line)[end])) ++end;
  const std::string_view field = line->substr(begin, end - begin);
  line->remove_prefix(end);
  return field;
}

std::string section_name(int order) {
  std::string name = "\\";
  name += std::to_string(order);
  return name += "-grams:";
}

}  // namespace

void ArpaReader::fail(const std::string& what) const {
  throw ArpaError(line_, what);
}

void ArpaReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      rest_ += bytes;
      if (rest_.size() > kLongestLine) {
        ++line_;
        fail("is longer than 16 million bytes");
      }
      return;
    }
    ++line_;
    if (rest_.empty()) {
      read_line(bytes.substr(0, end));
    } else {
      rest_ += bytes.substr(0, end);
      read_line(rest_);
      rest_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
}

void ArpaReader::finish() {
  if (!rest_.empty()) {
    ++line_;
    read_line(rest_);
  }
  if (part_ == Part::before) fail("the file ends without a line \\data\\, so it is not an ARPA file");
  if (part_ != Part::after) fail("the file ends without \\end\\: it is truncated");
  sink_->end();
}

int64_t ArpaReader::line_of(int order, int64_t index) const {
  if (order == 1) index = file_places_.empty() ? index : file_places_[static_cast<size_t>(index)];
  int64_t line = 0;
  for (const Place& place : places_) {
    if (place.order == order && place.index <= index) line = place.line + index - place.index;
  }
  return line;
}

void ArpaReader::read_line(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (part_ == Part::before) {
    if (text == "\\data\\") part_ = Part::counts;
    return;
  }
  if (part_ == Part::after || text.empty()) return;
  // A word may begin with a backslash, but a line of an n-gram begins with its number.
  if (text.front() == '\\') {
    if (part_ == Part::section) end_section();
    begin_section(text);
  } else if (part_ == Part::counts) {
    read_count(text);
  } else {
    read_ngram(text);
  }
}

void ArpaReader::read_count(std::string_view line) {
  const size_t equals = line.find('=');
  std::string_view name = line.substr(0, equals == std::string_view::npos ? 0 : equals);
  const std::string_view count =
      trimmed(line.substr(equals == std::string_view::npos ? line.size() : equals + 1));
  int64_t n = 0, order = 0;
  const bool is_ngram = take_field(&name) == "ngram";
  name = trimmed(name);
  const auto order_end = std::from_chars(name.data(), name.data() + name.size(), order);
  const auto count_end = std::from_chars(count.data(), count.data() + count.size(), n);
  if (!is_ngram || name.empty() || count.empty() || order_end.ec != std::errc() ||
      count_end.ec != std::errc() || order_end.ptr != name.data() + name.size() ||
      count_end.ptr != count.data() + count.size() || n < 0) {
    fail("expected a line such as 'ngram 2=1234', got " + quoted(line));
  }
  if (order != static_cast<int64_t>(counts_.size()) + 1) {
    fail("expected the count of order " + std::to_string(counts_.size() + 1) + ", got " + quoted(line));
  }
  if (order > kMaxOrder)
    fail("the model has an order above " + std::to_string(kMaxOrder) + ", the highest here");
  counts_.push_back(n);
}

void ArpaReader::begin_section(std::string_view line) {
  const int expected = order_ + 1;
  const bool all_read = order_ == static_cast<int>(counts_.size()) && order_ > 0;
  if (all_read && line == "\\end\\") {
    part_ = Part::after;
    return;
  }
  if (counts_.empty()) fail("expected lines such as 'ngram 1=1234' after \\data\\, got " + quoted(line));
  const std::string wanted = all_read ? "\\end\\" : section_name(expected);
  if (line != wanted) fail("expected " + wanted + ", got " + quoted(line));
  part_ = Part::section;
  order_ = expected;
  n_read_ = 0;
}

void ArpaReader::end_section() {
  const int64_t announced = counts_[static_cast<size_t>(order_) - 1];
  if (n_read_ != announced) {
    fail("there are " + std::to_string(n_read_) + " n-grams of order " + std::to_string(order_) +
         ", but \\data\\ announced " + std::to_string(announced));
  }
  if (order_ == 1) {
    end_words();
  } else {
    send();
  }
}

ArpaReader::Fields ArpaReader::split(std::string_view line) const {
  Fields fields;
  std::string_view rest = line;
  fields.log_prob = take_field(&rest);
  int n = 0;
  for (; n < order_; ++n) {
    fields.words[n] = take_field(&rest);
    if (fields.words[n].empty()) break;
  }
  fields.backoff = take_field(&rest);
  if (n < order_ || !trimmed(rest).empty()) {
    fail("expected a number, " + std::to_string(order_) + (order_ == 1 ? " word" : " words") +
         (order_ < static_cast<int>(counts_.size()) ? " and perhaps a back-off" : "") + ", got " +
         quoted(line));
  }
  return fields;
}

float ArpaReader::number(std::string_view text, const char* what) const {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && end == text.data() + text.size()) {
    if (std::abs(std::strtod(std::string(text).c_str(), nullptr)) < 1) return 0;  // too near to 0 for float32
  }
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) {
    fail(std::string(what) + ": expected a number, got " + quoted(text));
  }
  return value;
}

void ArpaReader::read_ngram(std::string_view line) {
  const int64_t announced = counts_[static_cast<size_t>(order_) - 1];
  if (n_read_ == announced) {
    fail("there are more n-grams of order " + std::to_string(order_) + " than the " +
         std::to_string(announced) + " that \\data\\ announced");
  }
  if (line.find("\t\t") != std::string_view::npos) fail("there is nothing between two tabs");
  const Fields fields = split(line);
  float log_prob = number(fields.log_prob, "log probability");
  if (log_prob > 0) fail("log probability: expected at most 0, got " + quoted(fields.log_prob));
  if (std::isinf(log_prob)) log_prob = kLogZero;
  float backoff = fields.backoff.empty() ? 0 : number(fields.backoff, "back-off");
  if (std::isinf(backoff)) {
    if (backoff > 0) fail("back-off: expected a finite number, got " + quoted(fields.backoff));
    backoff = kLogZero;
  }
  if (order_ == static_cast<int>(counts_.size()) && backoff != 0) {
    fail("n-grams of the highest order have no back-off, got " + quoted(fields.backoff));
  }
  if (places_.empty() || places_.back().order != order_ ||
      places_.back().line + n_read_ - places_.back().index != line_) {
    places_.push_back({order_, n_read_, line_});
  }
  ++n_read_;
  if (order_ == 1) {
    if (words_.size() == kMostWords) fail("there are too many words");
    if (!is_utf8(fields.words[0])) fail(quoted(fields.words[0]) + " is not valid UTF-8");
    words_.emplace_back(fields.words[0]);
    word_probs_.push_back(log_prob);
    word_backoffs_.push_back(backoff);
    return;
  }
  for (int k = 0; k < order_; ++k) {
    const std::string_view word = fields.words[k];
    const uint32_t id = table_.find(word);
    if (id == kUnknown && word != "<unk>" && word != "<UNK>") {
      fail(quoted(word) + (is_utf8(word) ? " is not among the 1-grams" : " is not valid UTF-8"));
    }
    ids_.push_back(id);
  }
  log_probs_.push_back(log_prob);
  backoffs_.push_back(backoff);
  if (log_probs_.size() == kBlock) send();
}

void ArpaReader::end_words() {
  constexpr std::string_view kSpecial[] = {"<unk>", "<s>", "</s>"};
  const size_t n = words_.size();
  std::vector<int64_t> special(3, -1);
  for (size_t i = 0; i < n; ++i) {
    for (size_t s = 0; s < 3; ++s) {
      if (words_[i] == kSpecial[s] && special[s] < 0) special[s] = static_cast<int64_t>(i);
    }
  }
  for (size_t i = 0; i < n && special[0] < 0; ++i) {
    if (words_[i] == "<UNK>") special[0] = static_cast<int64_t>(i);
  }
  gaps_ = {special[0] < 0, special[1] < 0, special[2] < 0};
  file_places_ = special;
  for (size_t i = 0; i < n; ++i) {
    if (std::find(special.begin(), special.end(), static_cast<int64_t>(i)) == special.end()) {
      file_places_.push_back(static_cast<int64_t>(i));
    }
  }
  offsets_ = {0};
  std::vector<float> log_probs, backoffs;
  for (size_t id = 0; id < file_places_.size(); ++id) {
    const int64_t place = file_places_[id];
    bytes_ += id < 3 ? kSpecial[id] : std::string_view(words_[static_cast<size_t>(place)]);
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
    const float missing = id == kUnknown ? kUnknownLogProb : kLogZero;
    log_probs.push_back(place < 0 ? missing : word_probs_[static_cast<size_t>(place)]);
    backoffs.push_back(place < 0 ? 0 : word_backoffs_[static_cast<size_t>(place)]);
  }
  words_ = {};
  try {
    slots_ = make_word_slots(bytes_.data(), offsets_.data(), static_cast<int64_t>(file_places_.size()));
  } catch (const DuplicateWord& error) {
    throw ArpaError(line_of(1, error.id), error.what());
  }
  table_ = WordTable(bytes_.data(), offsets_.data(), static_cast<int64_t>(file_places_.size()),
                     slots_.slots.data(), static_cast<int64_t>(slots_.slots.size()), slots_.seed);
  std::vector<int64_t> counts = counts_;
  counts[0] = static_cast<int64_t>(file_places_.size());
  sink_->begin(counts);
  ids_.resize(file_places_.size());
  std::iota(ids_.begin(), ids_.end(), uint32_t{0});
  sink_->add(1, counts[0], ids_.data(), log_probs.data(), backoffs.data());
  ids_.clear();
}

void ArpaReader::send() {
  if (!log_probs_.empty()) {
    sink_->add(order_, static_cast<int64_t>(log_probs_.size()), ids_.data(), log_probs_.data(),
               order_ < static_cast<int>(counts_.size()) ? backoffs_.data() : nullptr);
  }
  ids_.clear();
  log_probs_.clear();
  backoffs_.clear();
}

}  // namespace semproj::lm
