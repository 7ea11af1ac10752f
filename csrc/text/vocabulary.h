#pragma once
// The terms that have a column.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "text/term_table.h"

namespace semproj::text {

// Immutable once made. Column i is the term with id i.
struct Vocabulary {
  TermTable terms;

  int64_t size() const { return terms.size(); }
};

struct Selection {
  int64_t drop_top = 0;
  std::optional<int64_t> max_features;
  int64_t min_count = 1;
};

// The ids of the chosen terms: ordered by count, largest first, then by their bytes; without the first
// drop_top, at most max_features, none below min_count.
std::vector<uint32_t> select_terms(const TermTable& terms, const std::vector<int64_t>& counts,
                                   const Selection& selection, int n_threads);

// Terms from their bytes one after another. Throws std::invalid_argument where the offsets do not increase
// from 0 to n_bytes, or a term comes twice.
std::shared_ptr<const Vocabulary> vocabulary_from_bytes(const char* bytes, int64_t n_bytes,
                                                        const int64_t* offsets, int64_t n_offsets);

}  // namespace semproj::text
