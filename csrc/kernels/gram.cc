#include "kernels/gram.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/parallel.h"

namespace semproj {

template <class Index, class Value>
void sparse_gram(const CsrView<Index, Value>& rows, const CsrView<Index, Value>& columns, double alpha,
                 const MatrixView<Value>& out, int n_threads) {
  constexpr int64_t kGrain = 16;
  std::vector<std::vector<double>> scratch(static_cast<size_t>(n_threads));
  // The last rows of the triangle are the longest, so they go first.
  const int64_t n = columns.n_rows, tasks = block_count(n, kGrain);
  parallel_for(tasks, n_threads, [&](int64_t task, int worker) {
    std::vector<double>& sums = scratch[static_cast<size_t>(worker)];
    sums.resize(static_cast<size_t>(n));
    const Block block = block_at(n, kGrain, tasks - 1 - task);
    Patience patience;
    for (int64_t i = block.begin; i < block.end; ++i) {
      std::fill_n(sums.begin(), i + 1, 0.0);
      for (int64_t at = columns.indptr[i]; at < columns.indptr[i + 1]; ++at) {
        const int64_t row = columns.indices[at];
        const double value = columns.data[at];
        patience.spend(rows.indptr[row + 1] - rows.indptr[row]);
        for (int64_t e = rows.indptr[row]; e < rows.indptr[row + 1] && rows.indices[e] <= i; ++e) {
          sums[static_cast<size_t>(rows.indices[e])] += value * static_cast<double>(rows.data[e]);
        }
      }
      Value* result = out.row(i);
      for (int64_t j = 0; j <= i; ++j) {
        result[j] += static_cast<Value>(alpha * sums[static_cast<size_t>(j)]);
      }
    }
  });
}

template void sparse_gram(const CsrView<int32_t, float>&, const CsrView<int32_t, float>&, double,
                          const MatrixView<float>&, int);
template void sparse_gram(const CsrView<int32_t, double>&, const CsrView<int32_t, double>&, double,
                          const MatrixView<double>&, int);
template void sparse_gram(const CsrView<int64_t, float>&, const CsrView<int64_t, float>&, double,
                          const MatrixView<float>&, int);
template void sparse_gram(const CsrView<int64_t, double>&, const CsrView<int64_t, double>&, double,
                          const MatrixView<double>&, int);

}  // namespace semproj
