#pragma once
// The rows that are not to be among the best of a query.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/reservoirs.h"
#include "kernels/retrieve.h"
#include "kernels/score_blocks.h"

namespace semproj {

// Hides corpus rows [begin, end) that no query may find, or that this one may not: such a score is above no
// bar.
class Hidden {
 public:
  Hidden(const ComparedRows& corpus, Metric metric, const SkippedRows& skipped)
      : corpus_(corpus), cosine_(metric == Metric::cosine), skipped_(skipped) {}

  void find_zeros(int64_t begin, int64_t end, std::vector<int64_t>& zeros) const {
    zeros.clear();
    if (!cosine_) return;
    for (int64_t i = begin; i < end; ++i) {
      if (corpus_.length(i) == 0) zeros.push_back(i);
    }
  }

  void hide(int64_t query, int64_t begin, int64_t end, const std::vector<int64_t>& zeros,
            float* scores) const {
    for (const int64_t i : zeros) scores[i - begin] = kLeast;
    if (skipped_.starts == nullptr) return;
    const int64_t mine = skipped_.one_for_all ? 0 : query;
    const int64_t* last = skipped_.rows + skipped_.starts[mine + 1];
    const int64_t* next = std::lower_bound(skipped_.rows + skipped_.starts[mine], last, begin);
    for (; next != last && *next < end; ++next) scores[*next - begin] = kLeast;
  }

 private:
  const ComparedRows& corpus_;
  bool cosine_;
  SkippedRows skipped_;
};

}  // namespace semproj
