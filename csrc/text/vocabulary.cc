#include "text/vocabulary.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace semproj::text {
namespace {

struct Candidate {
  int64_t count;
  uint64_t prefix;  // the first 8 bytes, the first of them on top, so that most ties need no look at the term
  uint32_t id;
};

uint64_t prefix_of(std::string_view term) {
  unsigned char bytes[8] = {};
  std::memcpy(bytes, term.data(), std::min<size_t>(term.size(), 8));
  uint64_t prefix = 0;
  for (const unsigned char byte : bytes) prefix = prefix << 8 | byte;
  return prefix;
}

// A total order: any way of sorting gives the same result, hence also any number of threads.
struct Before {
  const TermTable& terms;
  Patience* patience;  // of the thread that sorts

  bool operator()(const Candidate& a, const Candidate& b) const {
    patience->spend(16);
    if (a.count != b.count) return a.count > b.count;
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return terms.term(a.id) < terms.term(b.id);
  }
};

// Sorts pieces, then merges pairs of pieces.
void sort_candidates(std::vector<Candidate>& candidates, const TermTable& terms, int n_threads) {
  constexpr int64_t kPieces = 16, kSerial = 4096;
  const auto n = static_cast<int64_t>(candidates.size());
  if (n < kSerial || n_threads == 1) {
    Patience patience;
    std::sort(candidates.begin(), candidates.end(), Before{terms, &patience});
    return;
  }
  const auto at = [&](int64_t piece) { return candidates.begin() + n * std::min(piece, kPieces) / kPieces; };
  parallel_for(kPieces, n_threads, [&](int64_t i, int) {
    Patience patience;
    std::sort(at(i), at(i + 1), Before{terms, &patience});
  });
  for (int64_t width = 1; width < kPieces; width *= 2) {
    parallel_for(kPieces / (2 * width), n_threads, [&](int64_t i, int) {
      const int64_t first = 2 * width * i;
      Patience patience;
      std::inplace_merge(at(first), at(first + width), at(first + 2 * width), Before{terms, &patience});
    });
  }
}

}  // namespace

std::vector<uint32_t> select_terms(const TermTable& terms, const std::vector<int64_t>& counts,
                                   const Selection& selection, int n_threads) {
  std::vector<Candidate> candidates;
  candidates.reserve(terms.size());
  for (int64_t id = 0; id < terms.size(); ++id) {
    if (counts[id] < selection.min_count) continue;  // these would be the last ones anyway
    candidates.push_back({counts[id], prefix_of(terms.term(id)), static_cast<uint32_t>(id)});
  }
  Patience patience;
  const auto n = static_cast<int64_t>(candidates.size());
  const int64_t first = std::min(selection.drop_top, n);
  const int64_t last = selection.max_features ? first + std::min(*selection.max_features, n - first) : n;
  if (last < n) {
    std::nth_element(candidates.begin(), candidates.begin() + last, candidates.end(),
                     Before{terms, &patience});
    candidates.resize(last);
  }
  sort_candidates(candidates, terms, n_threads);
  std::vector<uint32_t> chosen(last - first);
  for (int64_t i = first; i < last; ++i) chosen[i - first] = candidates[i].id;
  return chosen;
}

std::shared_ptr<const Vocabulary> vocabulary_from_bytes(const char* bytes, int64_t n_bytes,
                                                        const int64_t* offsets, int64_t n_offsets) {
  if (n_offsets < 1 || offsets[0] != 0 || offsets[n_offsets - 1] != n_bytes) {
    throw std::invalid_argument("term_offsets must begin with 0 and end with the number of bytes in terms");
  }
  for (int64_t i = 1; i < n_offsets; ++i) {
    if (offsets[i] < offsets[i - 1]) throw std::invalid_argument("term_offsets must not decrease");
  }
  auto vocabulary = std::make_shared<Vocabulary>();
  vocabulary->terms.reserve(n_offsets - 1, n_bytes);
  for (int64_t i = 0; i + 1 < n_offsets; ++i) {
    const auto length = static_cast<size_t>(offsets[i + 1] - offsets[i]);
    if (vocabulary->terms.insert(std::string_view(bytes + offsets[i], length)) != i) {
      throw std::invalid_argument("terms: term " + std::to_string(i) + " is there twice");
    }
  }
  return vocabulary;
}

}  // namespace semproj::text
