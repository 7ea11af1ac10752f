// Cost per word: about 6 ns to find its ends and 10 ns to look it up.

#include "lm/ngram_text.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/parallel.h"
#include "lm/quoted.h"
#include "lm/white_space.h"
#include "text/vocabulary.h"

namespace semproj::lm {
namespace {

// Numbers that every table begins with. The end of a line is the empty word, which no text has.
constexpr uint32_t kEndInText = 3, kFirstFree = 4;
constexpr int64_t kBlock = 64, kSlack = kBlock + text::kPadding;
constexpr int kHistory = kMaxOrder - 1;

bool is_marker(uint32_t id) {
  return id == kBegin || id == kEndInText;
}

}  // namespace

struct NGramText::Worker {
  Worker() {
    for (const char* word : {"<unk>", "<s>", "", "</s>"}) table.insert(std::string_view(word));
  }

  text::TermTable table;
  std::vector<int64_t> counts = std::vector<int64_t>(kFirstFree);
  std::vector<uint32_t> bounds;
};

// What one task reads, and what comes of it.
struct NGramText::Part {
  const char *begin, *end;
  bool continues;
  int32_t worker = 0;
  bool has_marker = false;
  std::vector<uint32_t> ids{};
};

NGramText::NGramText(Workspace* workspace, bool markers_are_unknown, int n_threads)
    : workspace_(workspace),
      markers_are_unknown_(markers_are_unknown),
      n_threads_(n_threads),
      batch_(std::clamp<int64_t>(workspace->for_step() / 2, 1 << 13, 1 << 23)),
      workers_(static_cast<size_t>(n_threads)),
      ids_(workspace) {}

NGramText::~NGramText() = default;

void NGramText::add(const char* bytes, int64_t n) {
  if (n > 0) ends_line_ = bytes[n - 1] == '\n';
  while (n > 0) {
    const int64_t some = std::min(n, std::max(batch_ - buffered_, batch_ / 4));
    const auto needed = static_cast<size_t>(buffered_ + some + kSlack);
    if (buffer_.size() < needed) buffer_.resize(needed + needed / 2);
    std::memcpy(buffer_.data() + buffered_, bytes, static_cast<size_t>(some));
    buffered_ += some, bytes += some, n -= some;
    if (buffered_ < batch_) continue;
    // Up to the last end of a line; of a line without an end, up to the last end of a word.
    const char* const first = buffer_.data();
    int64_t end = buffered_;
    while (end > searched_ && first[end - 1] != '\n') --end;
    bool cuts_line = false;
    if (end == searched_) {
      cuts_line = true;
      for (end = buffered_; end > searched_ && !is_space(first[end - 1]);) --end;
    }
    if (end == searched_) {
      searched_ = buffered_;  // in the middle of a word
      continue;
    }
    read_buffer(end, cuts_line);
  }
}

void NGramText::end_text() {
  if (!ends_line_) add("\n", 1);
  if (buffered_ > 0) read_buffer(buffered_, false);
  buffer_ = {};
}

// Reads what comes before `end`, which leaves its last line open or not.
void NGramText::read_buffer(int64_t end, bool cuts_line) {
  constexpr int64_t kPart = 1 << 18;
  std::vector<Part> parts;
  const char *at = buffer_.data(), *const last = at + end;
  for (bool continues = is_open_; at < last; continues = false) {
    const char* stop = last;
    if (last - at > kPart) {
      const void* line = std::memchr(at + kPart, '\n', static_cast<size_t>(last - at - kPart));
      if (line != nullptr) stop = static_cast<const char*>(line) + 1;
    }
    parts.push_back({.begin = at, .end = stop, .continues = continues});
    at = stop;
  }
  parallel_for(static_cast<int64_t>(parts.size()), n_threads_, [&](int64_t i, int w) {
    auto& worker = workers_[static_cast<size_t>(w)];
    if (!worker) worker = std::make_unique<Worker>();
    parts[i].worker = w;
    read_part(*worker, parts[i]);
  });
  is_open_ = cuts_line;
  for (size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (part.has_marker && !markers_are_unknown_) refuse_marker(parts, i);
    const auto n = static_cast<int64_t>(part.ids.size());
    const int64_t ends = std::count(part.ids.begin(), part.ids.end(), kEnd);
    n_sentences_ += ends;
    n_words_ += n - ends;
    stored_.push_back({n, part.worker, part.continues});
  }
  int64_t total = 0;
  for (const Part& part : parts) total += static_cast<int64_t>(part.ids.size());
  uint32_t* to = ids_.reserve(total);
  for (const Part& part : parts) to = std::copy(part.ids.begin(), part.ids.end(), to);
  ids_.commit(total);
  buffered_ -= end;
  std::memmove(buffer_.data(), buffer_.data() + end, static_cast<size_t>(buffered_));
  searched_ = 0;
}

void NGramText::read_part(Worker& worker, Part& part) {
  constexpr size_t kBatch = 2048;
  const auto size = static_cast<size_t>(part.end - part.begin);
  std::vector<uint32_t>& bounds = worker.bounds;
  bounds.clear();
  part.ids.reserve(size / 4);
  Patience patience;
  const auto flush = [&] {
    const size_t n = bounds.size() / 2, before = part.ids.size();
    part.ids.resize(before + n);
    worker.table.insert({part.begin, bounds.data(), static_cast<int64_t>(n)}, part.ids.data() + before);
    worker.counts.resize(static_cast<size_t>(worker.table.size()));
    for (size_t i = before; i < before + n; ++i) {
      ++worker.counts[part.ids[i]];
      part.has_marker |= is_marker(part.ids[i]);
    }
    if (bounds.size() % 2 != 0) bounds[0] = bounds.back();
    bounds.resize(bounds.size() % 2);
    patience.spend(static_cast<int64_t>(n) * 16);
  };
  uint64_t before = 1;  // whether there was white space
  for (size_t at = 0; at < size; at += kBlock) {
    SpaceMasks masks = find_spaces(part.begin + at);
    if (size - at < kBlock) {  // what follows is of another part
      const uint64_t inside = (uint64_t{1} << (size - at)) - 1;
      masks.spaces |= ~inside;
      masks.lines &= inside;
    }
    const uint64_t edges = masks.spaces ^ (masks.spaces << 1 | before);
    before = masks.spaces >> 63;
    for (uint64_t events = edges | masks.lines; events != 0; events &= events - 1) {
      const int bit = std::countr_zero(events);
      const auto place = static_cast<uint32_t>(at + static_cast<size_t>(bit));
      if ((edges >> bit & 1) != 0) bounds.push_back(place);
      if ((masks.lines >> bit & 1) != 0) bounds.push_back(place), bounds.push_back(place);
    }
    if (bounds.size() > kBatch) flush();
  }
  if (before == 0) bounds.push_back(static_cast<uint32_t>(size));
  flush();
}

void NGramText::refuse_marker(const std::vector<Part>& parts, size_t at) const {
  const std::vector<uint32_t>& ids = parts[at].ids;
  int64_t sentence = n_sentences_, word = 0;
  const char* found = "";
  for (const uint32_t id : ids) {
    if (is_marker(id)) {
      found = id == kBegin ? "<s>" : "</s>";
      break;
    }
    ++word;
    if (id == kEnd) ++sentence, word = 0;
  }
  throw CorpusError("sentences[" + std::to_string(sentence) + "], word " + std::to_string(word) +
                    ": expected text, got " + found + ", which the model adds by itself");
}

ChosenWords NGramText::choose(const WordChoice& choice) {
  text::TermTable all;
  std::vector<int64_t> counts;
  if (choice.given != nullptr) {
    for (const std::string_view word : *choice.given) all.insert(word);
    counts.resize(static_cast<size_t>(all.size()));
  }
  int64_t unknown = 0;
  Patience patience;
  std::vector<std::vector<uint32_t>> joined(workers_.size());
  for (size_t w = 0; w < workers_.size(); ++w) {
    if (!workers_[w]) continue;
    const Worker& worker = *workers_[w];
    joined[w].assign(worker.counts.size(), 0);
    for (uint32_t id = 0; id < kFirstFree; ++id) unknown += id == kEnd ? 0 : worker.counts[id];
    for (size_t id = kFirstFree; id < worker.counts.size(); ++id) {
      const std::string_view word = worker.table.term(static_cast<int64_t>(id));
      if (!is_utf8(word)) throw CorpusError("sentences: not valid UTF-8: " + quoted(word));
      patience.spend(64);
      const int64_t found = choice.given != nullptr ? all.find(word) : all.insert(word);
      joined[w][id] = static_cast<uint32_t>(found + 1);
      if (found < 0) {
        unknown += worker.counts[id];
        continue;
      }
      if (static_cast<size_t>(found) == counts.size()) counts.push_back(0);
      counts[static_cast<size_t>(found)] += worker.counts[id];
    }
    workers_[w].reset();
  }
  text::Selection selection{};
  selection.min_count = choice.given != nullptr ? 0 : choice.min_count;
  if (choice.max_words >= 0) selection.max_features = choice.max_words;
  const std::vector<uint32_t> ranked = text::select_terms(all, counts, selection, n_threads_);

  ChosenWords words;
  words.offsets.push_back(0);
  const auto add = [&](std::string_view word, int64_t count) {
    words.bytes.insert(words.bytes.end(), word.begin(), word.end());
    words.offsets.push_back(static_cast<int64_t>(words.bytes.size()));
    words.counts.push_back(count);
  };
  add("<unk>", 0);
  add("<s>", n_sentences_);
  add("</s>", n_sentences_);
  std::vector<uint32_t> number(counts.size() + 1, kUnknown);  // of each of `all`, plus one
  for (const uint32_t id : ranked) {
    number[id + 1] = static_cast<uint32_t>(words.size());
    add(all.term(id), counts[id]);
  }
  for (size_t id = 0; id < counts.size(); ++id) unknown += number[id + 1] == kUnknown ? counts[id] : 0;
  words.counts[kUnknown] = unknown;
  chosen_ = std::move(joined);
  for (auto& table : chosen_) {
    for (uint32_t& id : table) id = number[id];
    if (!table.empty()) table[kEnd] = kEnd;
  }
  return words;
}

void NGramText::forget() {
  ids_ = RecordList<uint32_t>(workspace_);
  stored_ = {};
  chosen_ = {};
}

NGramText::Reader::Reader(const NGramText& text, int64_t n)
    : text_(text), window_(text.ids_.source(), n * static_cast<int64_t>(sizeof(uint32_t))), n_(n) {}

const std::vector<NGramText::Piece>& NGramText::Reader::next() {
  pieces_.clear();
  window_.consume(in_use_);
  in_use_ = 0;
  size_t end = piece_;
  for (; end < text_.stored_.size(); ++end) {
    const int64_t size = text_.stored_[end].size;
    if (end > piece_ && in_use_ + size > n_) break;
    in_use_ += size;
  }
  while (static_cast<int64_t>(window_.seen().size()) < in_use_ && window_.extend()) {
  }
  const uint32_t* ids = window_.seen().data();
  for (; piece_ < end; ++piece_) {
    const Stored& stored = text_.stored_[piece_];
    const auto& chosen = text_.chosen_[static_cast<size_t>(stored.worker)];
    if (!stored.continues) last_.clear();
    pieces_.push_back({ids, stored.size, &chosen, last_});
    // The words that a sentence which goes on will look back to.
    for (int64_t i = std::max<int64_t>(0, stored.size - kHistory); i < stored.size; ++i) {
      if (ids[i] == kEnd) {
        last_.clear();
      } else {
        last_.push_back(chosen[ids[i]]);
      }
    }
    if (last_.size() > kHistory) last_.erase(last_.begin(), last_.end() - kHistory);
    ids += stored.size;
  }
  return pieces_;
}

}  // namespace semproj::lm
