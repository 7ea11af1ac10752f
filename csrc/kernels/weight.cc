#include "kernels/weight.h"

#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace semproj {

template <class Index, class Value, class Out>
void weight_rows(const CsrView<Index, Value>& rows, const Weighting& weighting, Out* out, int n_threads) {
  constexpr int64_t kGrain = 256;
  parallel_for(block_count(rows.n_rows, kGrain), n_threads, [&](int64_t task, int) {
    const Block block = block_at(rows.n_rows, kGrain, task);
    for (int64_t r = block.begin; r < block.end; ++r) {
      const int64_t begin = rows.indptr[r], end = rows.indptr[r + 1];
      const double norm = weighting.length_norm(rows.data + begin, end - begin);
      for (int64_t i = begin; i < end; ++i) {
        const auto column = static_cast<int64_t>(rows.indices[i]);
        if (column < 0 || column >= rows.n_cols) {
          throw std::invalid_argument("X: column index " + std::to_string(column) + " in row " +
                                      std::to_string(r) + " is out of range for " +
                                      std::to_string(rows.n_cols) + " columns");
        }
        const auto count = static_cast<double>(rows.data[i]);
        const double weight = weighting(count, column, norm);
        if (count < 0) {
          throw std::invalid_argument("X: counts must not be negative (row " + std::to_string(r) + ")");
        }
        if (!std::isfinite(weight)) {
          throw std::invalid_argument("X: row " + std::to_string(r) +
                                      " holds NaN or infinity after weighting");
        }
        out[i] = static_cast<Out>(weight);
      }
    }
  });
}

#define SEMPROJ_INSTANTIATE(Index, Value)                                                 \
  template void weight_rows(const CsrView<Index, Value>&, const Weighting&, float*, int); \
  template void weight_rows(const CsrView<Index, Value>&, const Weighting&, double*, int);
SEMPROJ_INSTANTIATE(int32_t, float)
SEMPROJ_INSTANTIATE(int32_t, double)
SEMPROJ_INSTANTIATE(int32_t, int32_t)
SEMPROJ_INSTANTIATE(int64_t, float)
SEMPROJ_INSTANTIATE(int64_t, double)
SEMPROJ_INSTANTIATE(int64_t, int32_t)
#undef SEMPROJ_INSTANTIATE

}  // namespace semproj
