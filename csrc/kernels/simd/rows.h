#pragma once
// Products with a few dozen short rows, too small for a BLAS call, compiled once per instruction set.

#include <cstdint>

namespace semproj::simd {

// Rows have `stride` elements, a multiple of kRowLanes; they need no alignment and do not overlap.
constexpr int64_t kRowLanes = 16;
// Rows of a Gram matrix are computed so many at a time: scratch for n rows has room for a multiple of it.
constexpr int64_t kRowTile = 4;

template <class T>
struct RowTable {
  // out = a x, n elements.
  void (*scale)(const T* x, T a, int64_t n, T* out);
  // Row i of out = row ids[i] of table, whose rows are whole vectors; those that follow are prefetched
  // meanwhile.
  void (*gather)(const T* table, int64_t stride, const int32_t* ids, int64_t n, T* out);
  // out = sum over i of coefficients[i] * row i. Sums of even and of odd i, in order, then both.
  void (*combine)(const T* coefficients, const T* rows, int64_t n, int64_t stride, T* out);
  // out += a x, in double.
  void (*add_wide)(double a, const T* x, int64_t n, double* out);
  // x . y, in double.
  double (*dot_wide)(const T* x, const double* y, int64_t n);
  // out[i] = row i . x
  void (*products)(const T* rows, int64_t n, int64_t stride, const T* x, T* out);
  // row i += coefficients[i] * x
  void (*add_outer)(const T* coefficients, const T* x, int64_t n, int64_t stride, T* rows);

  // out[i * row_step + j * column_step] = row i . row j, for j >= i at least. Reads and writes up to the next
  // multiple of kRowTile rows.
  void (*row_gram)(const T* rows, int64_t n, int64_t stride, T* out, int64_t row_step, int64_t column_step);
  // out (stride x stride) += sign * R'R, for the first `columns` rows i and j >= i at least. Summed in T over
  // the n rows, then in double: give it a few dozen rows at a time.
  void (*column_gram)(const T* rows, int64_t n, int64_t stride, int64_t columns, double sign, double* out);
  // out (8 x stride) = Z L for 8 rows of Z and a lower triangular L (stride x stride, zero above). A row's
  // bits do not depend on the others.
  void (*multiply_lower)(const T* z, const T* l, int64_t stride, T* out);
};

}  // namespace semproj::simd
