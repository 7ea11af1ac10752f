#include "kernels/spgemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr int64_t kGrain = 64;  // rows in one task

[[noreturn]] void refuse(int64_t row, const std::string& what) {
  throw std::invalid_argument("X: " + what + " (row " + std::to_string(row) + ")");
}

// One row of sums. Zero, with no bit set, between rows.
template <class Value>
class DenseRow {
 public:
  explicit DenseRow(int64_t n) : sums_(n), bits_((n + 63) / 64), summary_((n + 4095) / 4096) {}

  void add(const int32_t* columns, const float* values, int64_t n, Value scale) {
    for (int64_t i = 0; i < n; ++i) {
      const int32_t c = columns[i];
      sums_[c] += scale * values[i];
      bits_[c >> 6] |= uint64_t{1} << (c & 63);
    }
    for (int64_t i = 0; i < n; ++i) summary_[columns[i] >> 12] |= uint64_t{1} << ((columns[i] >> 6) & 63);
  }

  // Appends the row by increasing column and returns its length.
  int64_t take(ProductPart<Value>* part) {
    const size_t before = part->indices.size();
    for (size_t s = 0; s < summary_.size(); ++s) {
      for (uint64_t groups = summary_[s]; groups != 0; groups &= groups - 1) {
        const auto g = static_cast<int64_t>(s) * 64 + std::countr_zero(groups);
        for (uint64_t bits = bits_[g]; bits != 0; bits &= bits - 1) {
          const int64_t c = g * 64 + std::countr_zero(bits);
          part->indices.push_back(static_cast<int32_t>(c));
          part->data.push_back(sums_[c]);
          sums_[c] = 0;
        }
        bits_[g] = 0;
      }
      summary_[s] = 0;
    }
    return static_cast<int64_t>(part->indices.size() - before);
  }

 private:
  std::vector<Value> sums_;
  std::vector<uint64_t> bits_, summary_;  // a bit for each column; for each word of bits
};

}  // namespace

template <class Value, class Index, class In>
std::vector<ProductPart<Value>> multiply_sparse(const CsrView<Index, In>& a, const CsrView<int32_t, float>& b,
                                                int n_threads) {
  std::vector<ProductPart<Value>> parts(block_count(a.n_rows, kGrain));
  std::vector<std::unique_ptr<DenseRow<Value>>> rows(std::max(n_threads, 1));
  parallel_for(static_cast<int64_t>(parts.size()), n_threads, [&](int64_t task, int worker) {
    if (!rows[worker]) rows[worker] = std::make_unique<DenseRow<Value>>(b.n_cols);
    DenseRow<Value>& sums = *rows[worker];
    const Block block = block_at(a.n_rows, kGrain, task);
    for (int64_t r = block.begin; r < block.end; ++r) {
      for (int64_t i = a.indptr[r]; i < a.indptr[r + 1]; ++i) {
        const auto k = static_cast<int64_t>(a.indices[i]);
        if (k < 0 || k >= a.n_cols) {
          refuse(r, "column index " + std::to_string(k) + " is out of range for " + std::to_string(a.n_cols) +
                        " columns");
        }
        const auto scale = static_cast<Value>(a.data[i]);
        if (!std::isfinite(scale)) refuse(r, "NaN or infinity");
        sums.add(b.indices + b.indptr[k], b.data + b.indptr[k], b.indptr[k + 1] - b.indptr[k], scale);
      }
      parts[task].lengths.push_back(sums.take(&parts[task]));
    }
  });
  return parts;
}

template <class Value>
void join_parts(std::vector<ProductPart<Value>>* parts, int64_t* indptr, int32_t* indices, Value* data,
                int n_threads) {
  std::vector<int64_t> starts{0};
  int64_t row = 0;
  indptr[0] = 0;
  for (const ProductPart<Value>& part : *parts) {
    for (const int64_t length : part.lengths) {
      indptr[row + 1] = indptr[row] + length;
      ++row;
    }
    starts.push_back(indptr[row]);
  }
  parallel_for(static_cast<int64_t>(parts->size()), n_threads, [&](int64_t i, int) {
    ProductPart<Value>& part = (*parts)[i];
    std::copy(part.indices.begin(), part.indices.end(), indices + starts[i]);
    std::copy(part.data.begin(), part.data.end(), data + starts[i]);
    part = ProductPart<Value>();
  });
}

#define SEMPROJ_INSTANTIATE(Index, In)                                                           \
  template std::vector<ProductPart<float>> multiply_sparse(const CsrView<Index, In>&,            \
                                                           const CsrView<int32_t, float>&, int); \
  template std::vector<ProductPart<double>> multiply_sparse(const CsrView<Index, In>&,           \
                                                            const CsrView<int32_t, float>&, int);
SEMPROJ_INSTANTIATE(int32_t, float)
SEMPROJ_INSTANTIATE(int32_t, double)
SEMPROJ_INSTANTIATE(int32_t, int32_t)
SEMPROJ_INSTANTIATE(int64_t, float)
SEMPROJ_INSTANTIATE(int64_t, double)
SEMPROJ_INSTANTIATE(int64_t, int32_t)
#undef SEMPROJ_INSTANTIATE
template void join_parts(std::vector<ProductPart<float>>*, int64_t*, int32_t*, float*, int);
template void join_parts(std::vector<ProductPart<double>>*, int64_t*, int32_t*, double*, int);

}  // namespace semproj
