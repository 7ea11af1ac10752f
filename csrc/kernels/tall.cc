#include "kernels/tall.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/blas.h"
#include "core/parallel.h"
#include "core/philox.h"

namespace semproj {
namespace {

constexpr int64_t kBlockRows = 512;
constexpr int64_t kSumRows = 1024;       // of a cross product, summed in T before going to double
constexpr int64_t kSlices = 8;           // partial results at most, added in order
constexpr int64_t kTasks = 16;           // fewer slices where panels alone make as many
constexpr int64_t kPanelColumns = 1280;  // of the result at most: BLAS is fastest when it sees whole rows
constexpr int64_t kGramColumns = 512;    // narrower, as panels below the diagonal are skipped

// How the result of a cross product is cut: panels of equal width, as BLAS is slow on narrow remainders.
struct Panels {
  int64_t width, count;
  Panels(int64_t columns, int64_t widest)
      : width(block_count(columns, block_count(columns, widest))), count(block_count(columns, width)) {}
};

// sum (m x n, rows `stride` apart) += product; of the upper triangle only when `triangle`.
template <class T>
void add_product(const std::vector<T>& product, int m, int n, bool triangle, double* sum, int64_t stride) {
  for (int r = 0; r < m; ++r) {
    const T* from = product.data() + static_cast<size_t>(r) * n;
    for (int c = triangle ? r : 0; c < n; ++c) sum[r * stride + c] += from[c];
  }
}

}  // namespace

template <class T>
void tall_cross(const MatrixView<const T>& a, const MatrixView<const T>& b, double* out, int n_threads) {
  const int64_t size = a.cols * b.cols;
  if (size == 0) return;
  const bool symmetric = a.data == b.data && a.stride == b.stride && a.cols == b.cols;
  const int64_t widest = symmetric ? kGramColumns : kPanelColumns;
  const Panels across_a(a.cols, widest), across_b(b.cols, widest);
  const int64_t pairs = across_a.count * across_b.count;
  const int64_t blocks = block_count(a.rows, kSumRows);
  const int64_t slices =
      std::clamp<int64_t>(block_count(kTasks, pairs), 1, std::clamp<int64_t>(blocks, 1, kSlices));
  const int64_t per_slice = block_count(blocks, slices);
  std::vector<double> partial(static_cast<size_t>(slices * size), 0.0);

  parallel_for(slices * pairs, n_threads, [&](int64_t task, int) {
    const int64_t slice = task / pairs, i = task % pairs / across_b.count, j = task % across_b.count;
    if (symmetric && i > j) return;
    const bool diagonal = symmetric && i == j;
    const Block left = block_at(a.cols, across_a.width, i), right = block_at(b.cols, across_b.width, j);
    const auto m = static_cast<int>(left.end - left.begin), n = static_cast<int>(right.end - right.begin);
    double* sum = partial.data() + slice * size + left.begin * b.cols + right.begin;
    std::vector<T> product(std::is_same_v<T, double> ? 0 : static_cast<size_t>(m) * n);
    for (int64_t k = slice * per_slice; k < std::min(blocks, (slice + 1) * per_slice); ++k) {
      const Block rows = block_at(a.rows, kSumRows, k);
      const auto height = static_cast<int>(rows.end - rows.begin);
      const auto multiply = [&](T beta, T* to, int64_t stride) {
        const T* x = a.row(rows.begin) + left.begin;
        const T* y = b.row(rows.begin) + right.begin;
        if (diagonal) {
          gram_triangle(m, height, T{1}, x, static_cast<int>(a.stride), beta, to, static_cast<int>(stride));
        } else {
          gemm(true, false, m, n, height, T{1}, x, static_cast<int>(a.stride), y, static_cast<int>(b.stride),
               beta, to, static_cast<int>(stride));
        }
      };
      if constexpr (std::is_same_v<T, double>) {
        multiply(1.0, sum, b.cols);
      } else {
        multiply(T{0}, product.data(), n);
        add_product(product, m, n, diagonal, sum, b.cols);
      }
      check_interrupt();
    }
  });

  parallel_for(a.cols, n_threads, [&](int64_t r, int) {
    for (int64_t c = 0; c < b.cols; ++c) {
      const int64_t at = symmetric && r > c ? c * b.cols + r : r * b.cols + c;
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
