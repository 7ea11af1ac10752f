#include "lm/ngram_spill.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

constexpr int64_t kLineBytes = kLineWords * sizeof(uint64_t);
constexpr int64_t kBuffer = 1 << 17;
constexpr int kAhead = 16, kMostFailures = 24;

bool bit_of(const std::vector<uint64_t>& bits, int64_t i) {
  return (bits[static_cast<size_t>(i) / 64] >> (i % 64)) & 1;
}

}  // namespace

// Rows of one size, to be written and then read.
class RowFile {
 public:
  RowFile(const std::string& folder, size_t row_bytes) : file_(folder), row_bytes_(row_bytes) {}

  void add(const void* row) {
    const auto* bytes = static_cast<const char*>(row);
    buffer_.insert(buffer_.end(), bytes, bytes + row_bytes_);
    ++n_;
    if (static_cast<int64_t>(buffer_.size()) >= kBuffer) flush();
  }
  void flush() {
    if (!buffer_.empty()) file_.append(buffer_.data(), static_cast<int64_t>(buffer_.size()));
    buffer_ = {};
  }
  int64_t size() const { return n_; }

  // f(row) for each, in the order in which they came.
  template <class Row, class F>
  void for_each(const F& f) {
    flush();
    const int64_t at_once = std::max<int64_t>(1, kBuffer / static_cast<int64_t>(row_bytes_));
    std::vector<char> bytes(static_cast<size_t>(at_once) * row_bytes_);
    for (int64_t begin = 0; begin < n_; begin += at_once) {
      check_interrupt();
      const int64_t n = std::min(at_once, n_ - begin);
      file_.read(begin * static_cast<int64_t>(row_bytes_), bytes.data(),
                 n * static_cast<int64_t>(row_bytes_));
      for (int64_t i = 0; i < n; ++i) {
        Row row{};
        std::memcpy(&row, bytes.data() + static_cast<size_t>(i) * row_bytes_, row_bytes_);
        f(row);
      }
    }
  }

 private:
  TempFile file_;
  size_t row_bytes_;
  int64_t n_ = 0;
  std::vector<char> buffer_;
};

NGramSpill::NGramSpill(int64_t memory, std::string folder, std::span<const int64_t> counts_by_order)
    : memory_(memory), folder_(std::move(folder)), counts_(counts_by_order.begin(), counts_by_order.end()) {
  for (int order = 2; order <= max_order(); ++order) {
    given_.push_back(std::make_unique<RowFile>(
        folder_, offsetof(Row, words) + sizeof(uint32_t) * static_cast<size_t>(order)));
  }
  tables_.resize(given_.size());
  layouts_.resize(given_.size());
}

NGramSpill::~NGramSpill() = default;

int64_t NGramSpill::part_bytes() const {
  return std::max<int64_t>(memory_ / 8, 1 << 20);
}

void NGramSpill::add(int order, int64_t n, const uint32_t* words, const float* log_prob,
                     const float* log_backoff) {
  if (order == 1) {
    for (int64_t i = 0; i < n; ++i) {
      unigrams_.push_back(log_prob[i]);
      unigrams_.push_back(log_backoff == nullptr ? 0 : log_backoff[i]);
    }
    return;
  }
  RowFile& file = *given_[static_cast<size_t>(order) - 2];
  for (int64_t i = 0; i < n; ++i, words += order) {
    Row row{words[0], file.size(), log_prob[i], log_backoff == nullptr ? 0 : log_backoff[i], {}};
    for (int k = 0; k < order; ++k) {
      if (words[k] >= counts_[0]) throw std::invalid_argument("words: expected ids of unigrams");
      row.words[k] = words[k];
    }
    file.add(&row);
  }
}

BuiltModel NGramSpill::end() {
  if (static_cast<int64_t>(unigrams_.size()) != 2 * counts_[0]) {
    throw std::invalid_argument("unigrams: expected as many as were announced");
  }
  BuiltModel built;
  for (int order = 2; order <= max_order(); ++order) {
    for (int failures = 0; !build_order(order, failures); ++failures) {
      if (failures == kMostFailures) throw std::runtime_error("a table of n-grams cannot be filled");
    }
    mark_leaves(order - 1);
  }
  built.unigrams = std::move(unigrams_);
  for (int order = 2; order <= max_order(); ++order) {
    const auto at = static_cast<size_t>(order) - 2;
    const int64_t n_lines = layouts_[at].n_lines;
    built.tables.push_back({Pages(tables_[at]->handle(), static_cast<size_t>(n_lines * kLineBytes)), n_lines,
                            given_[at]->size()});
    tables_[at].reset();  // the mapping keeps it
  }
  return built;
}

int64_t NGramSpill::lines_of_part(int order) const {
  const GramLayout& layout = layouts_[static_cast<size_t>(order) - 2];
  return std::max<int64_t>(1, part_bytes() / kLineBytes / layout.group) * layout.group;
}

NGramSpill::Parts NGramSpill::parts_for(int order) const {
  const GramLayout& layout = layouts_[static_cast<size_t>(order) - 2];
  Parts parts;
  for (int64_t line = 0; line < layout.n_lines; line += lines_of_part(order)) {
    parts.push_back(std::make_unique<RowFile>(folder_, sizeof(Row)));
  }
  return parts;
}

void NGramSpill::route(const Row& row, int table, Parts* parts) const {
  const GramTable grams(nullptr, layouts_[static_cast<size_t>(table) - 2], nullptr, nullptr);
  const int64_t line = grams.home(row.slot, row.words[table - 1]).line;
  (*parts)[static_cast<size_t>(line / lines_of_part(table))]->add(&row);
}

bool NGramSpill::build_order(int order, int failures) {
  const auto at = static_cast<size_t>(order) - 2;
  const int word_bits = bits_for(counts_[0]);
  const int context_bits = order == 2 ? word_bits : bits_for(layouts_[at - 1].n_slots());
  const int backoff_bits = order == max_order() ? 0 : 32;
  const int64_t n_lines = lines_for(given_[at]->size(), context_bits, word_bits, 31, backoff_bits, failures);
  layouts_[at] = layout_for(n_lines, context_bits, word_bits, 31, backoff_bits);
  Parts parts = parts_for(2);
  // Rows of a file have only as many words as their order.
  given_[at]->for_each<Row>([&](const Row& row) { route(row, 2, &parts); });
  for (int table = 2; table < order; ++table) {
    Parts next = parts_for(table + 1);
    resolve(table, &parts, &next);
    parts = std::move(next);
  }
  return fill(order, &parts);
}

// Each row's slot becomes that of one word more.
void NGramSpill::resolve(int table, Parts* from, Parts* to) {
  const auto at = static_cast<size_t>(table) - 2;
  const GramLayout& layout = layouts_[at];
  const int64_t of_part = lines_of_part(table);
  const Pages lines(static_cast<size_t>(std::min(of_part, layout.n_lines) * kLineBytes));
  for (size_t p = 0; p < from->size(); ++p) {
    const int64_t first = static_cast<int64_t>(p) * of_part, n = std::min(of_part, layout.n_lines - first);
    tables_[at]->read(first * kLineBytes, lines.as<char>(), n * kLineBytes);
    const GramTable grams(lines.as<const uint64_t>() - first * kLineWords, layout, nullptr, nullptr);
    Row waiting[kAhead];
    Home homes[kAhead];
    int64_t n_rows = 0;
    const auto finish = [&](int64_t i) {
      Row& row = waiting[i % kAhead];
      row.slot = grams.find(homes[i % kAhead]);
      if (row.slot == kNoSlot) {
        throw std::invalid_argument(
            "an n-gram's first words are no n-gram: with more max_memory they become one");
      }
      route(row, table + 1, to);
    };
    (*from)[p]->for_each<Row>([&](const Row& row) {
      if (n_rows >= kAhead) finish(n_rows - kAhead);
      waiting[n_rows % kAhead] = row;
      homes[n_rows % kAhead] = grams.home(row.slot, row.words[table - 1]);
      grams.prefetch(homes[n_rows % kAhead]);
      ++n_rows;
    });
    for (int64_t i = std::max<int64_t>(0, n_rows - kAhead); i < n_rows; ++i) finish(i);
    (*from)[p].reset();
  }
}

bool NGramSpill::fill(int order, Parts* parts) {
  const auto at = static_cast<size_t>(order) - 2;
  const GramLayout& layout = layouts_[at];
  const GramTable grams(nullptr, layout, nullptr, nullptr);
  const int64_t of_part = lines_of_part(order);
  const int64_t n_below = order == 2 ? counts_[0] : layouts_[at - 1].n_slots();
  goes_on_.assign((static_cast<size_t>(n_below) + 63) / 64, 0);
  tables_[at] = std::make_unique<TempFile>(folder_);
  for (size_t p = 0; p < parts->size(); ++p) {
    const int64_t first = static_cast<int64_t>(p) * of_part, n = std::min(of_part, layout.n_lines - first);
    struct Waiting {
      int64_t index;
      Home home;
      float log_prob, backoff;
    };
    std::vector<Waiting> rows;
    rows.reserve(static_cast<size_t>((*parts)[p]->size()));
    (*parts)[p]->for_each<Row>([&](const Row& row) {
      rows.push_back({row.index, grams.home(row.slot, row.words[order - 1]), row.log_prob, row.backoff});
      goes_on_[static_cast<size_t>(row.slot) / 64] |= uint64_t{1} << (row.slot % 64);
    });
    (*parts)[p].reset();
    std::sort(rows.begin(), rows.end(), [](const Waiting& a, const Waiting& b) { return a.index < b.index; });
    const Pages lines(static_cast<size_t>(n * kLineBytes));
    clear_lines(lines.as<uint64_t>(), n);
    Patience patience;
    for (const Waiting& row : rows) {
      patience.spend(100);
      int64_t slot;
      const Put put = put_gram(lines.as<uint64_t>(), first, layout, row.home, prob_bits_of(row.log_prob),
                               std::bit_cast<uint32_t>(row.backoff), &slot);
      if (put == Put::full) return false;
      if (put == Put::twice) throw DuplicateNGram(order, row.index);
    }
    tables_[at]->append(lines.as<char>(), n * kLineBytes);
  }
  return true;
}

// As the builder in memory does it. A file is not written to twice: there is a new one.
void NGramSpill::mark_leaves(int order) {
  if (order == 1) {
    for (int64_t i = 0; i < counts_[0]; ++i) {
      float& backoff = unigrams_[2 * static_cast<size_t>(i) + 1];
      if (backoff == 0) backoff = bit_of(goes_on_, i) ? 0.0f : -0.0f;
    }
    return;
  }
  const auto at = static_cast<size_t>(order) - 2;
  const GramLayout& layout = layouts_[at];
  const int64_t of_part = lines_of_part(order);
  auto marked = std::make_unique<TempFile>(folder_);
  const Pages lines(static_cast<size_t>(std::min(of_part, layout.n_lines) * kLineBytes));
  for (int64_t first = 0; first < layout.n_lines; first += of_part) {
    const int64_t n = std::min(of_part, layout.n_lines - first);
    tables_[at]->read(first * kLineBytes, lines.as<char>(), n * kLineBytes);
    const GramTable grams(lines.as<const uint64_t>(), layout, nullptr, nullptr);
    for (int64_t slot = 0; slot < n * layout.slots; ++slot) {
      if (grams.backoff(slot) != 0) continue;
      set_backoff(lines.as<uint64_t>(), layout, slot,
                  bit_of(goes_on_, first * layout.slots + slot) ? 0 : kLeaf);
    }
    marked->append(lines.as<char>(), n * kLineBytes);
  }
  tables_[at] = std::move(marked);
}

}  // namespace semproj::lm
