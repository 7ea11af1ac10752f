#pragma once
// Non-owning views of memory that belongs to the caller. No algorithms here.

#include <cstdint>

namespace semproj {

// Rows of a sparse matrix. Offsets are 64-bit: more than 2^31 non-zeros are ordinary.
template <class Index, class Value>
struct CsrView {
  int64_t n_rows = 0;
  int64_t n_cols = 0;
  const int64_t* indptr = nullptr;  // n_rows + 1
  const Index* indices = nullptr;
  const Value* data = nullptr;
};

// A dense row-major matrix whose rows are `stride` elements apart.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  T* row(int64_t i) const { return data + i * stride; }
};

}  // namespace semproj
