#include "lm/gram_table.h"

#include <cmath>
#include <stdexcept>

namespace semproj::lm {
namespace {

constexpr int kLineBits = 64 * kLineWords, kReachBits = 4, kBehindBits = 4;
constexpr uint64_t kFree = 15;  // in the place of how far an n-gram lies behind its line
constexpr int64_t kLargestGroup = 1024;
constexpr int kMostLowBits = 52;
constexpr double kLoad = 0.8;

int low_bits_for(int64_t n_lines, int key_bits) {
  return std::max(0, key_bits - static_cast<int>(std::bit_width(static_cast<uint64_t>(n_lines))) + 1);
}

int slots_for(int low_bits, int value_bits) {
  return (kLineBits - kReachBits) / (low_bits + kBehindBits + value_bits);
}

int64_t group_for(int64_t n_lines) {
  return n_lines >= kLargestGroup ? kLargestGroup
                                  : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n_lines)));
}

void write_bits(uint64_t* line, int at, int bits, uint64_t value) {
  const int byte = std::min(at >> 3, 56), shift = at - 8 * byte;
  char* p = reinterpret_cast<char*>(line) + byte;
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  v = (v & ~(low_mask(bits) << shift)) | (value << shift);
  std::memcpy(p, &v, sizeof v);
}

}  // namespace

int64_t lines_for(int64_t n, int context_bits, int word_bits, int prob_bits, int backoff_bits, int failures) {
  const int key_bits = context_bits + word_bits;
  if (key_bits > 64) throw std::length_error("the model has more n-grams of more words than have room");
  int64_t n_lines = 1;
  // More lines leave fewer bits to tell keys apart, which may give lines more slots: a few rounds settle it.
  for (int round = 0; round < 4; ++round) {
    const int slots = slots_for(low_bits_for(n_lines, key_bits), prob_bits + backoff_bits);
    // Small tables do not fill evenly.
    const double load = (n < 4096 ? 0.5 : kLoad) * std::pow(0.85, failures);
    n_lines = std::max(n_lines, static_cast<int64_t>(std::ceil(static_cast<double>(n) / (load * slots))));
  }
  if (key_bits > kMostLowBits) n_lines = std::max(n_lines, int64_t{1} << (key_bits - kMostLowBits));
  const int64_t group = group_for(n_lines);
  return (n_lines + group - 1) / group * group;
}

GramLayout layout_for(int64_t n_lines, int context_bits, int word_bits, int prob_bits, int backoff_bits) {
  const int key_bits = context_bits + word_bits;
  if (n_lines < 1 || n_lines > (int64_t{1} << 40) || n_lines % group_for(n_lines) != 0 || context_bits < 1 ||
      word_bits < 1 || key_bits > 64 || low_bits_for(n_lines, key_bits) > kMostLowBits) {
    throw std::invalid_argument("tables: a number of lines that no table has");
  }
  GramLayout layout{};
  layout.n_lines = n_lines;
  layout.group = group_for(n_lines);
  layout.context_bits = context_bits;
  layout.word_bits = word_bits;
  layout.key_bits = key_bits;
  layout.low_bits = low_bits_for(n_lines, key_bits);
  layout.tag_bits = layout.low_bits + kBehindBits;
  layout.prob_bits = prob_bits;
  layout.backoff_bits = backoff_bits;
  layout.slots = slots_for(layout.low_bits, prob_bits + backoff_bits);
  layout.prob_at = layout.slots * layout.tag_bits;
  layout.backoff_at = layout.prob_at + layout.slots * prob_bits;
  return layout;
}

bool GramTable::read(int64_t slot, int64_t* context, uint32_t* word) const {
  const int64_t line = slot / layout_.slots;
  const int i = static_cast<int>(slot - line * layout_.slots);
  const uint64_t tag = bits_of(line_at(line), i * layout_.tag_bits, layout_.tag_bits);
  const uint64_t behind = tag >> layout_.low_bits;
  if (behind == kFree) return false;
  const int64_t group = line & ~(layout_.group - 1);
  const int64_t own = group | ((line - group - static_cast<int64_t>(behind)) & (layout_.group - 1));
  // The first mixed key of the line, then the first from there on that has these lowest bits.
  const unsigned __int128 scaled = static_cast<unsigned __int128>(own) << layout_.key_bits;
  const auto lines = static_cast<uint64_t>(layout_.n_lines);
  const auto first = static_cast<uint64_t>((scaled + lines - 1) / lines);
  const uint64_t mask = low_mask(layout_.low_bits);
  const uint64_t mixed = first + (((tag & mask) - first) & mask);
  const uint64_t key = mixer_.unmix(mixed & low_mask(layout_.key_bits));
  *context = static_cast<int64_t>(key >> layout_.word_bits);
  *word = static_cast<uint32_t>(key & low_mask(layout_.word_bits));
  return true;
}

void clear_lines(uint64_t* lines, int64_t n_lines) {
  std::memset(lines, 0xFF, static_cast<size_t>(n_lines) * kLineWords * sizeof(uint64_t));
  for (int64_t i = 0; i < n_lines; ++i) lines[i * kLineWords + kLineWords - 1] = ~uint64_t{0} >> kReachBits;
}

void set_log_prob(uint64_t* lines, const GramLayout& layout, int64_t slot, uint32_t value) {
  const int64_t line = slot / layout.slots, i = slot - line * layout.slots;
  write_bits(lines + line * kLineWords, layout.prob_at + static_cast<int>(i) * layout.prob_bits,
             layout.prob_bits, value);
}

void set_backoff(uint64_t* lines, const GramLayout& layout, int64_t slot, uint32_t value) {
  const int64_t line = slot / layout.slots, i = slot - line * layout.slots;
  write_bits(lines + line * kLineWords, layout.backoff_at + static_cast<int>(i) * layout.backoff_bits,
             layout.backoff_bits, value);
}

Put put_gram(uint64_t* lines, int64_t first, const GramLayout& layout, const Home& home, uint32_t prob_value,
             uint32_t backoff_value, int64_t* slot) {
  int64_t at = home.line;
  uint64_t* const own = lines + (at - first) * kLineWords;
  const uint64_t most = std::min<uint64_t>(kFree, static_cast<uint64_t>(layout.group));
  const int64_t within = layout.group - 1;
  for (uint64_t behind = 0; behind < most; ++behind) {
    uint64_t* line = lines + (at - first) * kLineWords;
    const uint64_t tag = (behind << layout.low_bits) | home.low;
    for (int i = 0; i < layout.slots; ++i) {
      const uint64_t there = bits_of(line, i * layout.tag_bits, layout.tag_bits);
      if (there == tag) return Put::twice;
      if (there >> layout.low_bits != kFree) continue;
      write_bits(line, i * layout.tag_bits, layout.tag_bits, tag);
      write_bits(line, layout.prob_at + i * layout.prob_bits, layout.prob_bits, prob_value);
      if (layout.backoff_bits > 0) {
        write_bits(line, layout.backoff_at + i * layout.backoff_bits, layout.backoff_bits, backoff_value);
      }
      const uint64_t reach = std::max(own[kLineWords - 1] >> 60, behind);
      own[kLineWords - 1] = (own[kLineWords - 1] & (~uint64_t{0} >> kReachBits)) | (reach << 60);
      *slot = at * layout.slots + i;
      return Put::done;
    }
    at = (at & ~within) | ((at + 1) & within);
  }
  return Put::full;
}

}  // namespace semproj::lm
