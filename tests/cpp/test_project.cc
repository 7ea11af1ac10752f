// The sparse projection on every instruction set of this CPU, against plain loops in double, and with offsets
// that do not fit 32 bits.

#include "kernels/project.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "core/philox.h"

using namespace semproj;

namespace {

double normal(uint64_t seed, int64_t i) {
  return philox_normals(seed, {static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0})[0];
}

template <class Index, class Value>
struct Rows {
  int64_t n_cols;
  std::vector<int64_t> indptr{0};
  std::vector<Index> indices;
  std::vector<Value> data;

  Rows(const std::vector<int64_t>& lengths, int64_t columns) : n_cols(columns) {
    for (const int64_t n : lengths) {
      for (int64_t k = 0; k < n; ++k) {
        const auto i = static_cast<int64_t>(indices.size());
        indices.push_back(static_cast<Index>(philox(3, {static_cast<uint32_t>(i), 0, 0, 0})[0] % columns));
        data.push_back(std::is_integral_v<Value> ? static_cast<Value>(1 + i % 5)
                                                 : static_cast<Value>(normal(4, i)));
      }
      indptr.push_back(static_cast<int64_t>(indices.size()));
    }
  }

  int64_t n_rows() const { return static_cast<int64_t>(indptr.size()) - 1; }
  CsrView<Index, Value> view() const {
    return {n_rows(), n_cols, indptr.data(), indices.data(), data.data()};
  }
};

struct Matrix {
  int64_t rows, cols;
  std::vector<double> data;

  Matrix(int64_t r, int64_t c) : rows(r), cols(c), data(r * c) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = normal(1, static_cast<int64_t>(i));
  }
  PackedProjection packed(Storage storage, int n_threads = 1) const {
    return {data.data(), rows, cols, cols, 1, storage, n_threads};
  }
};

template <class Index, class Value>
std::vector<double> plain(const Rows<Index, Value>& x, const Matrix& p) {
  std::vector<double> out(x.n_rows() * p.cols, 0.0);
  for (int64_t r = 0; r < x.n_rows(); ++r) {
    for (int64_t i = x.indptr[r]; i < x.indptr[r + 1]; ++i) {
      for (int64_t c = 0; c < p.cols; ++c) {
        out[r * p.cols + c] += static_cast<double>(x.data[i]) * p.data[x.indices[i] * p.cols + c];
      }
    }
  }
  return out;
}

constexpr double kTolerance[] = {1e-14, 2e-6, 5e-4, 1.5e-2};  // in the order of Storage

template <class Out>
double error(const std::vector<Out>& got, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / std::max(size, 1e-300));
}

template <class Out, class Index, class Value>
std::vector<Out> run(const Rows<Index, Value>& x, const PackedProjection& p, ProjectOptions options,
                     Out fill = 99) {
  std::vector<Out> out(x.n_rows() * p.n_components(), fill);
  project(x.view(), p, MatrixView<Out>{out.data(), x.n_rows(), p.n_components(), p.n_components()}, options);
  return out;
}

template <class Index, class Value>
void check_all(const Rows<Index, Value>& x, const Matrix& p) {
  const std::vector<double> expected = plain(x, p);
  for (const Isa isa : supported_isas()) {
    for (const Storage storage : {Storage::float64, Storage::float32, Storage::float16, Storage::int8}) {
      ProjectOptions options;
      options.isa = isa;
      const PackedProjection packed = p.packed(storage);
      const double tolerance = kTolerance[static_cast<int>(storage)];
      if (storage == Storage::float64) {
        const auto one = run<double>(x, packed, options);
        CHECK_NEAR(error(one, expected), 0, tolerance);
        options.n_threads = 3;
        CHECK(one == run<double>(x, packed, options));
      } else {
        const auto one = run<float>(x, packed, options);
        CHECK_NEAR(error(one, expected), 0, tolerance);
        options.n_threads = 3;
        CHECK(one == run<float>(x, packed, options));
      }
    }
  }
}

const std::vector<int64_t> kLengths{0, 1, 2, 3, 4, 5, 7, 8, 9, 0, 33, 1000, 0};

}  // namespace

TEST(every_type_and_instruction_set) {
  const Matrix p(300, 70);
  check_all(Rows<int32_t, float>(kLengths, 300), p);
  check_all(Rows<int32_t, double>(kLengths, 300), p);
  check_all(Rows<int32_t, int32_t>(kLengths, 300), p);
  check_all(Rows<int64_t, float>(kLengths, 300), p);
  check_all(Rows<int64_t, double>(kLengths, 300), p);
  check_all(Rows<int64_t, int32_t>(kLengths, 300), p);
}

TEST(every_width) {
  const Rows<int32_t, float> x(kLengths, 300);
  for (const int64_t d :
       {1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 200}) {
    check_all(x, Matrix(300, d));
  }
}

TEST(hand_computed) {
  // [2 at column 1, 3 at column 0, 1 at column 1] times [[1, 2], [10, 20]] = [3 + 30, 6 + 60].
  Rows<int32_t, float> x({3}, 2);
  x.indices = {1, 0, 1};
  x.data = {2, 3, 1};
  Matrix p(2, 2);
  p.data = {1, 2, 10, 20};
  for (const Isa isa : supported_isas()) {
    ProjectOptions options;
    options.isa = isa;
    const auto out = run<float>(x, p.packed(Storage::float32), options);
    CHECK_EQUAL(out[0], 33.0f);
    CHECK_EQUAL(out[1], 66.0f);
    options.accumulate = true;
    CHECK_EQUAL(run<float>(x, p.packed(Storage::float32), options, 100)[1], 166.0f);
    options.accumulate = false;
    options.normalize = true;
    CHECK_NEAR(run<float>(x, p.packed(Storage::float32), options)[1], 2 / std::sqrt(5.0), 1e-7);
    const double weight[] = {1, 2};  // tfidf: [1, 2] times the counts
    options.normalize = false;
    options.weighting.kind = WeightKind::tfidf;
    options.weighting.term_weight = weight;
    CHECK_EQUAL(run<float>(x, p.packed(Storage::float32), options)[0], 63.0f);
    options.weighting.kind = WeightKind::log_tfidf;
    CHECK_NEAR(run<float>(x, p.packed(Storage::float32), options)[0],
               std::log2(4.0) + 20 * (std::log2(3.0) + std::log2(2.0)), 1e-5);
  }
}

TEST(pack_reads_any_strides) {
  const Matrix p(50, 20);
  std::vector<double> transposed(50 * 20);
  for (int t = 0; t < 50; ++t) {
    for (int c = 0; c < 20; ++c) transposed[c * 50 + t] = p.data[t * 20 + c];
  }
  const PackedProjection packed(transposed.data(), 50, 20, 1, 50, Storage::float64, 2);
  const Rows<int32_t, double> x(kLengths, 50);
  CHECK(run<double>(x, packed, {}) == run<double>(x, p.packed(Storage::float64), {}));
  CHECK_EQUAL(p.packed(Storage::float32).n_tiles(), 1);
  CHECK_EQUAL(Matrix(5, 65).packed(Storage::float32).n_tiles(), 2);
}

TEST(bad_values_are_named) {
  Matrix p(300, 10);
  const PackedProjection packed = p.packed(Storage::float32);
  const auto expect = [&](const auto& x, const char* part) {
    CHECK_THROWS(std::invalid_argument, part, run<float>(x, packed, {}));
  };
  Rows<int32_t, float> x(kLengths, 300);
  x.indices[20] = 300;
  expect(x, "X: column index 300");
  x.indices[20] = -1;
  expect(x, "X: column index -1");
  x.indices[20] = 0;
  x.data[20] = std::numeric_limits<float>::infinity();
  expect(x, "holds NaN");
  x.data[20] = std::numeric_limits<float>::quiet_NaN();
  expect(x, "holds NaN");
  Rows<int64_t, int32_t> wide(kLengths, 300);
  wide.indices[20] = int64_t{1} << 32;
  expect(wide, "X: column index 4294967296");
  p.data[15] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS(std::invalid_argument, "term 1, component 5", p.packed(Storage::float32));
}

TEST(int8_does_not_overflow) {
  // 200,000 products of the largest magnitudes and one sign.
  Rows<int32_t, int32_t> x({200000, 3}, 4);
  std::fill(x.data.begin(), x.data.end(), 7);
  Matrix p(4, 65);
  std::fill(p.data.begin(), p.data.end(), 2.0);
  for (const double sign : {1.0, -1.0}) {
    for (double& v : p.data) v = 2 * sign;
    for (const Isa isa : supported_isas()) {
      ProjectOptions options;
      options.isa = isa;
      const auto out = run<float>(x, p.packed(Storage::int8), options);
      for (int64_t c = 0; c < 65; ++c) CHECK_NEAR(out[c], sign * 2.8e6, 1e3);
      CHECK_NEAR(out[65], sign * 42, 1e-3);
    }
  }
}

namespace {

// Memory that costs nothing until it is touched.
template <class T>
class Reserved {
 public:
  explicit Reserved(int64_t n) : bytes_(n * sizeof(T)) {
    void* p =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::runtime_error("mmap");
    data_ = static_cast<T*>(p);
  }
  ~Reserved() { munmap(data_, bytes_); }
  Reserved(const Reserved&) = delete;
  T* data() { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

// Rows behind a gap of 2^31 + 1000 entries that are never read.
template <class Index, class Value>
void check_far_rows() {
  constexpr int64_t kGap = (int64_t{1} << 31) + 1000;
  const Rows<Index, Value> x(kLengths, 300);
  const auto n = static_cast<int64_t>(x.indices.size());
  Reserved<Index> indices(kGap + n);
  Reserved<Value> data(kGap + n);
  std::copy(x.indices.begin(), x.indices.end(), indices.data() + kGap);
  std::copy(x.data.begin(), x.data.end(), data.data() + kGap);
  std::vector<int64_t> indptr = x.indptr;
  for (int64_t& at : indptr) at += kGap;
  const CsrView<Index, Value> far{x.n_rows(), 300, indptr.data(), indices.data(), data.data()};
  const Matrix p(300, 70);
  for (const Isa isa : supported_isas()) {
    for (const Storage storage : {Storage::float32, Storage::float16, Storage::int8}) {
      ProjectOptions options;
      options.isa = isa;
      options.n_threads = 2;
      const PackedProjection packed = p.packed(storage);
      std::vector<float> out(x.n_rows() * 70, 99);
      project(far, packed, MatrixView<float>{out.data(), x.n_rows(), 70, 70}, options);
      CHECK(out == run<float>(x, packed, options));
    }
  }
  std::vector<double> weights(300, 1.5);
  Weighting weighting;
  weighting.kind = WeightKind::tfidf;
  weighting.term_weight = weights.data();
  if constexpr (std::is_integral_v<Value>) {
    Reserved<float> out(kGap + n);
    weight_rows(far, weighting, out.data(), 2);
    for (int64_t i = 0; i < n; ++i) CHECK_EQUAL(out.data()[kGap + i], 1.5f * x.data[i]);
  }
}

}  // namespace

TEST(offsets_beyond_32_bits) {
  check_far_rows<int32_t, float>();  // the caller's own arrays
  check_far_rows<int64_t, float>();  // converted
  check_far_rows<int32_t, int32_t>();
}
