#pragma once
// A dense projection in the layout that the tile kernels read (see simd/tiles.h).

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "kernels/simd/tiles.h"

namespace semproj {

enum class Storage { float64, float32, float16, int8 };

// A dense (n_terms x n_components) matrix, repacked once into slabs that the tile kernels read.
//   float16: each column is scaled by a power of two, so neither overflow nor subnormals lose bits
//   int8:    each column is scaled by its largest magnitude / 127
class PackedProjection {
 public:
  // Element (term, component) is source[term * term_stride + component * component_stride].
  template <class T>
  PackedProjection(const T* source, int64_t n_terms, int64_t n_components, int64_t term_stride,
                   int64_t component_stride, Storage storage, int n_threads);

  int64_t n_terms() const { return n_terms_; }
  int64_t n_components() const { return n_components_; }
  Storage storage() const { return storage_; }
  int64_t nbytes() const {
    return n_components_ == 0 ? 0 : offset(n_tiles() - 1) + n_terms_ * tile_bytes(n_tiles() - 1);
  }

  int64_t n_tiles() const { return (n_components_ + simd::kTileColumns - 1) / simd::kTileColumns; }
  int64_t tile_columns(int64_t tile) const;
  int64_t tile_bytes(int64_t tile) const;  // of one term in the tile's slab: whole cache lines
  const void* slab(int64_t tile) const { return data_.get() + offset(tile); }
  const float* scale(int64_t tile) const {
    return scale_.empty() ? nullptr : scale_.data() + tile * simd::kTileColumns;
  }
  bool scale_is_ordinary(int64_t tile) const;

 private:
  int64_t element_bytes() const;
  int64_t offset(int64_t tile) const { return tile * n_terms_ * simd::kTileColumns * element_bytes(); }

  int64_t n_terms_, n_components_;
  Storage storage_;
  AlignedArray<char> data_;
  std::vector<float> scale_;  // per column, padded to whole tiles; empty for float32 and float64
};

}  // namespace semproj
