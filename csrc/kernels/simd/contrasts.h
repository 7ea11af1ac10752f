#pragma once
// What a loss makes of a block of cosines, compiled once per instruction set.
//
// A block has `rows` rows of `columns` cosines s, `stride` apart. All functions are of
// e = exp(scale (s - 1)), which is 0 where the exponent is below -87: a cosine of -1e30 counts for nothing.

#include <cstdint>

namespace semproj::simd {

template <class T>
struct ContrastBlock {
  T* cosines;
  int64_t rows, columns, stride;
  T scale;
};

template <class T>
struct ContrastTable {
  // Adds e to the sums of its row and of its column. A column's own sum is of T: give it a block at a time.
  void (*sum)(const ContrastBlock<T>& block, double* row_sums, T* column_sums);
  // s = e (row factor + column factor)
  void (*softmax)(const ContrastBlock<T>& block, const T* row_factors, const T* column_factors);
  // With the exponentials d of the cosines that should be larger, one of each row and one of each column:
  // s = forward e / (e + d of the row) + backward e / (e + d of the column), whose two parts are added to
  // the sums. Returns the sum of forward log(1 + e / d) + backward log(1 + e / d).
  double (*logistic)(const ContrastBlock<T>& block, const T* row_own, const T* column_own, T forward,
                     T backward, double* row_sums, T* column_sums);
};

}  // namespace semproj::simd
