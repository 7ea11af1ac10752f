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
constexpr int64_t kAhead = 8;   // entries between the prefetch of a row of b and its use

[[noreturn]] void refuse(int64_t row, const std::string& what) {
  throw std::invalid_argument("X: " + what + " (row " + std::to_string(row) + ")");
}

// One row of sums. Zero, with no bit set, between rows.
template <class Value>
class DenseRow {
 public:
  explicit DenseRow(int64_t n) : sums_(n), bits_((n + 63) / 64) {}

  void add(const int32_t* columns, const float* values, int64_t n, Value scale) {
    for (int64_t i = 0; i < n; ++i) {
      const int32_t c = columns[i];
      sums_[c] += scale * values[i];
      bits_[c >> 6] |= uint64_t{1} << (c & 63);
    }
  }

  // Writes the row by increasing column, starts the next one and returns the length. There must be room for 4
  // more indices than the row can have.
  int64_t take(int32_t* indices, Value* data) {
    int32_t* out = indices;
    for (size_t g = 0; g < bits_.size(); ++g) {
      if (bits_[g] == 0) continue;
      uint64_t bits = bits_[g];
      bits_[g] = 0;
      const auto base = static_cast<int32_t>(g * 64);
      do {  // most words have few bits: four at once, without asking how many there are
        for (int step = 0; step < 4; ++step) {
          *out = base + std::countr_zero(bits | kTop);
          out += bits != 0;
          bits &= bits - 1;
        }
      } while (bits != 0);
    }
    const int64_t n = out - indices;
    for (int64_t i = 0; i < n; ++i) {
      data[i] = sums_[indices[i]];
      sums_[indices[i]] = 0;
    }
    return n;
  }

 private:
  static constexpr uint64_t kTop = uint64_t{1} << 63;

  std::vector<Value> sums_;
  std::vector<uint64_t> bits_;  // one for each column
};

// What a thread needs: its row, and the rows of a task before they are copied to a part of just their size.
template <class Value>
struct Scratch {
  explicit Scratch(int64_t n_cols) : sums(n_cols) {}

  // Room for a row of up to n entries.
  void reserve(int64_t used, int64_t n) {
    if (static_cast<int64_t>(indices.size()) >= used + n + 4) return;
    indices.resize(2 * (used + n + 4));
    data.resize(indices.size());
  }

  DenseRow<Value> sums;
  std::vector<int32_t> indices;
  std::vector<Value> data;
};

// Rows of b are short and lie anywhere: without this each of them waits for memory.
inline void prefetch_row(const CsrView<int32_t, float>& b, int64_t k) {
  if (k < 0 || k >= b.n_rows) return;  // reported when its turn comes
  const int64_t begin = b.indptr[k];
  __builtin_prefetch(b.indices + begin);
  __builtin_prefetch(b.data + begin);
}

// The rows of one task.
template <class Value, class Index, class In>
void multiply_block(const CsrView<Index, In>& a, const CsrView<int32_t, float>& b, const Block& block,
                    Scratch<Value>* scratch, ProductPart<Value>* part) {
  Patience patience;
  int64_t used = 0;
  const int64_t last = a.indptr[block.end];
  for (int64_t r = block.begin; r < block.end; ++r) {
    int64_t products = 0;
    for (int64_t i = a.indptr[r]; i < a.indptr[r + 1]; ++i) {
      if (i + kAhead < last) prefetch_row(b, static_cast<int64_t>(a.indices[i + kAhead]));
      const auto k = static_cast<int64_t>(a.indices[i]);
      if (k < 0 || k >= a.n_cols) {
        refuse(r, "column index " + std::to_string(k) + " is out of range for " + std::to_string(a.n_cols) +
                      " columns");
      }
      const auto scale = static_cast<Value>(a.data[i]);
      if (!std::isfinite(scale)) refuse(r, "NaN or infinity");
      const int64_t begin = b.indptr[k], n = b.indptr[k + 1] - begin;
      scratch->sums.add(b.indices + begin, b.data + begin, n, scale);
      products += n;
      patience.spend(n);
    }
    scratch->reserve(used, std::min(products, b.n_cols));
    const int64_t length = scratch->sums.take(scratch->indices.data() + used, scratch->data.data() + used);
    part->lengths.push_back(length);
    used += length;
  }
  part->indices.assign(scratch->indices.begin(), scratch->indices.begin() + used);
  part->data.assign(scratch->data.begin(), scratch->data.begin() + used);
}

}  // namespace

template <class Value, class Index, class In>
std::vector<ProductPart<Value>> multiply_sparse(const CsrView<Index, In>& a, const CsrView<int32_t, float>& b,
                                                int n_threads) {
  std::vector<ProductPart<Value>> parts(block_count(a.n_rows, kGrain));
  std::vector<std::unique_ptr<Scratch<Value>>> scratch(std::max(n_threads, 1));
  parallel_for(static_cast<int64_t>(parts.size()), n_threads, [&](int64_t task, int worker) {
    if (!scratch[worker]) scratch[worker] = std::make_unique<Scratch<Value>>(b.n_cols);
    multiply_block(a, b, block_at(a.n_rows, kGrain, task), scratch[worker].get(), &parts[task]);
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
