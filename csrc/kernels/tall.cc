#include "kernels/tall.h"

#include <algorithm>
#include <vector>

#include "core/blas.h"
#include "core/parallel.h"
#include "core/philox.h"

namespace semproj {
namespace {

constexpr int64_t kBlockRows = 512;     // summed in T before going to double
constexpr int64_t kSlices = 8;          // partial results, added in order
constexpr int64_t kPanelColumns = 256;  // of the result: skipping mirrored panels halves a Gram matrix

}  // namespace

template <class T>
void tall_cross(const MatrixView<const T>& a, const MatrixView<const T>& b, double* out, int n_threads) {
  const bool symmetric = a.data == b.data && a.stride == b.stride && a.cols == b.cols;
  const int64_t blocks = block_count(a.rows, kBlockRows),
                slices = std::min(kSlices, std::max<int64_t>(blocks, 1));
  const int64_t per_slice = block_count(blocks, slices);
  const int64_t panels_a = block_count(a.cols, kPanelColumns), panels_b = block_count(b.cols, kPanelColumns);
  const int64_t size = a.cols * b.cols;
  std::vector<double> partial(static_cast<size_t>(slices * size), 0.0);

  parallel_for(slices * panels_a * panels_b, n_threads, [&](int64_t task, int) {
    const int64_t slice = task / (panels_a * panels_b), pair = task % (panels_a * panels_b);
    const int64_t i = pair / panels_b, j = pair % panels_b;
    if (symmetric && i > j) return;
    const Block left = block_at(a.cols, kPanelColumns, i), right = block_at(b.cols, kPanelColumns, j);
    const auto m = static_cast<int>(left.end - left.begin), n = static_cast<int>(right.end - right.begin);
    std::vector<T> product(static_cast<size_t>(m) * n);
    double* sum = partial.data() + slice * size + left.begin * b.cols + right.begin;
    for (int64_t k = slice * per_slice; k < std::min(blocks, (slice + 1) * per_slice); ++k) {
      const Block rows = block_at(a.rows, kBlockRows, k);
      gemm(true, false, m, n, static_cast<int>(rows.end - rows.begin), T{1}, a.row(rows.begin) + left.begin,
           static_cast<int>(a.stride), b.row(rows.begin) + right.begin, static_cast<int>(b.stride), T{0},
           product.data(), n);
      for (int r = 0; r < m; ++r) {
        for (int c = 0; c < n; ++c) sum[r * b.cols + c] += product[static_cast<size_t>(r) * n + c];
      }
    }
  });

  parallel_for(a.cols, n_threads, [&](int64_t r, int) {
    for (int64_t c = 0; c < b.cols; ++c) {
      const bool mirrored = symmetric && r / kPanelColumns > c / kPanelColumns;
      const int64_t at = mirrored ? c * b.cols + r : r * b.cols + c;
      double total = 0;
      for (int64_t s = 0; s < slices; ++s) total += partial[static_cast<size_t>(s * size + at)];
      out[r * b.cols + c] = total;
    }
  });
}

template <class T>
void tall_multiply(const MatrixView<const T>& a, const MatrixView<const T>& c, T alpha, T beta,
                   const MatrixView<T>& out, int n_threads) {
  parallel_for(block_count(a.rows, kBlockRows), n_threads, [&](int64_t task, int) {
    const Block rows = block_at(a.rows, kBlockRows, task);
    gemm(false, false, static_cast<int>(rows.end - rows.begin), static_cast<int>(out.cols),
         static_cast<int>(a.cols), alpha, a.row(rows.begin), static_cast<int>(a.stride), c.data,
         static_cast<int>(c.stride), beta, out.row(rows.begin), static_cast<int>(out.stride));
  });
}

template <class T>
void fill_normal(const MatrixView<T>& out, uint64_t key, uint32_t stream, int n_threads) {
  parallel_for(block_count(out.rows, kBlockRows), n_threads, [&](int64_t task, int) {
    const Block rows = block_at(out.rows, kBlockRows, task);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      for (int64_t c = 0; c < out.cols; c += 2) {
        const Philox4 counter{static_cast<uint32_t>(c / 2), static_cast<uint32_t>(r),
                              static_cast<uint32_t>(r >> 32), stream};
        const auto pair = philox_normals(key, counter);
        out.row(r)[c] = static_cast<T>(pair[0]);
        if (c + 1 < out.cols) out.row(r)[c + 1] = static_cast<T>(pair[1]);
      }
    }
  });
}

template void tall_cross(const MatrixView<const float>&, const MatrixView<const float>&, double*, int);
template void tall_cross(const MatrixView<const double>&, const MatrixView<const double>&, double*, int);
template void tall_multiply(const MatrixView<const float>&, const MatrixView<const float>&, float, float,
                            const MatrixView<float>&, int);
template void tall_multiply(const MatrixView<const double>&, const MatrixView<const double>&, double, double,
                            const MatrixView<double>&, int);
template void fill_normal(const MatrixView<float>&, uint64_t, uint32_t, int);
template void fill_normal(const MatrixView<double>&, uint64_t, uint32_t, int);

}  // namespace semproj
