#include "kernels/cholesky.h"

#include <algorithm>

#include "core/blas.h"
#include "core/parallel.h"

namespace semproj {
namespace {

constexpr int64_t kBlock = 256;        // of the factor: its diagonal blocks are done on one thread
constexpr int64_t kUpdateRows = 1024;  // of the right-hand side that one task updates

int length(const Block& b) {
  return static_cast<int>(b.end - b.begin);
}

}  // namespace

// Left-looking: a block column gathers everything to its left in one long product per task, so each element
// of the matrix is written twice only.
template <class T>
int64_t cholesky(const MatrixView<T>& a, int n_threads) {
  const int64_t n = a.rows, blocks = block_count(n, kBlock);
  const auto stride = static_cast<int>(a.stride);
  for (int64_t k = 0; k < blocks; ++k) {
    const Block columns = block_at(n, kBlock, k);
    const int width = length(columns);
    parallel_for(blocks - k, n_threads, [&](int64_t task, int) {
      const Block rows = block_at(n, kBlock, k + task);
      gemm(false, true, length(rows), width, static_cast<int>(columns.begin), T{-1}, a.row(rows.begin),
           stride, a.row(columns.begin), stride, T{1}, a.row(rows.begin) + columns.begin, stride);
    });
    T* diagonal = a.row(columns.begin) + columns.begin;
    const int done = factor_triangle(width, diagonal, stride);
    if (done < width) return columns.begin + done;
    parallel_for(blocks - k - 1, n_threads, [&](int64_t task, int) {
      const Block rows = block_at(n, kBlock, k + 1 + task);
      solve_triangle_right(width, length(rows), diagonal, stride, a.row(rows.begin) + columns.begin, stride);
    });
  }
  return n;
}

// Right-looking: a solved block is taken from all rows that need it, which is where the parallel work is.
template <class T>
void solve_lower(const MatrixView<const T>& l, bool transpose, const MatrixView<T>& b, int n_threads) {
  const int64_t n = l.rows, blocks = block_count(n, kBlock);
  const auto ldl = static_cast<int>(l.stride), ldb = static_cast<int>(b.stride);
  const auto columns = static_cast<int>(b.cols);
  for (int64_t step = 0; step < blocks; ++step) {
    const Block solved = block_at(n, kBlock, transpose ? blocks - 1 - step : step);
    T* x = b.row(solved.begin);
    solve_triangle(transpose, length(solved), columns, l.row(solved.begin) + solved.begin, ldl, x, ldb);
    const int64_t begin = transpose ? 0 : solved.end, rest = transpose ? solved.begin : n - solved.end;
    parallel_for(block_count(rest, kUpdateRows), n_threads, [&](int64_t task, int) {
      const Block part = block_at(rest, kUpdateRows, task);
      const int64_t first = begin + part.begin;
      const T* factor = transpose ? l.row(solved.begin) + first : l.row(first) + solved.begin;
      gemm(transpose, false, length(part), columns, length(solved), T{-1}, factor, ldl, x, ldb, T{1},
           b.row(first), ldb);
    });
  }
}

template <class T>
void mirror_lower(const MatrixView<T>& a, int n_threads) {
  constexpr int64_t kTile = 64;
  parallel_for(block_count(a.rows, kTile), n_threads, [&](int64_t task, int) {
    const Block rows = block_at(a.rows, kTile, task);
    for (int64_t left = 0; left < rows.end; left += kTile) {
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = left; j < std::min(left + kTile, i); ++j) a.row(j)[i] = a.row(i)[j];
      }
    }
  });
}

template int64_t cholesky(const MatrixView<float>&, int);
template int64_t cholesky(const MatrixView<double>&, int);
template void solve_lower(const MatrixView<const float>&, bool, const MatrixView<float>&, int);
template void solve_lower(const MatrixView<const double>&, bool, const MatrixView<double>&, int);
template void mirror_lower(const MatrixView<float>&, int);
template void mirror_lower(const MatrixView<double>&, int);

}  // namespace semproj
