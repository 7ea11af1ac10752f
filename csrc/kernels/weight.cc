#include "kernels/weight.h"

#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace semproj {
namespace {

[[noreturn]] void refuse(int64_t row, const std::string& what) {
  throw std::invalid_argument("X: " + what + " (row " + std::to_string(row) + ")");
}

template <class Index, class Value, class Formula, class Out>
void weight_row(const CsrView<Index, Value>& rows, int64_t r, double norm, const Formula& formula, Out* out) {
  for (int64_t i = rows.indptr[r]; i < rows.indptr[r + 1]; ++i) {
    const auto column = static_cast<int64_t>(rows.indices[i]);
    if (column < 0 || column >= rows.n_cols) {
      refuse(r, "column index " + std::to_string(column) + " is out of range for " +
                    std::to_string(rows.n_cols) + " columns");
    }
    const auto count = static_cast<double>(rows.data[i]);
    if (count < 0) refuse(r, "counts must not be negative");
    const double weight = formula(count, column, norm);
    if (!std::isfinite(weight)) refuse(r, "NaN or infinity after weighting");
    out[i] = static_cast<Out>(weight);
  }
}

}  // namespace

template <class Index, class Value, class Out>
void weight_rows(const CsrView<Index, Value>& rows, const Weighting& weighting, Out* out, int n_threads) {
  constexpr int64_t kGrain = 256;
  weighting.with_formula([&](const auto& formula) {
    parallel_for(block_count(rows.n_rows, kGrain), n_threads, [&](int64_t task, int) {
      const Block block = block_at(rows.n_rows, kGrain, task);
      Patience patience;
      for (int64_t r = block.begin; r < block.end; ++r) {
        const int64_t begin = rows.indptr[r];
        patience.spend(16 * (rows.indptr[r + 1] - begin));
        weight_row(rows, r, weighting.length_norm(rows.data + begin, rows.indptr[r + 1] - begin), formula,
                   out);
      }
    });
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
