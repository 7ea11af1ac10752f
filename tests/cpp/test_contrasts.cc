// What losses make of a block of cosines, for every instruction set, against plain loops in double; and the
// loss of two pairs by hand.

#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"
#include "core/cpu.h"
#include "kernels/dispatch.h"
#include "models/s2net.h"
#include "plain_blas.h"

using namespace semproj;

namespace {

// Cosines of a block whose rows are longer than it: what lies behind them must stay.
template <class T>
struct Cosines {
  std::vector<T> values;
  simd::ContrastBlock<T> block;

  Cosines(int64_t rows, int64_t columns, T scale)
      : values(static_cast<size_t>(rows * (columns + 3)), T(7)),
        block{values.data(), rows, columns, columns + 3, scale} {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c)
        at(r, c) = static_cast<T>(std::sin(double(3 * r + 7 * c + r * c)));
    }
    at(rows / 2, columns / 2) = T(-1e30);  // counts for nothing
    at(0, columns - 1) = T(1);
  }
  T& at(int64_t r, int64_t c) { return values[static_cast<size_t>(r * block.stride + c)]; }
  double e(int64_t r, int64_t c) { return std::exp(double(block.scale) * (double(at(r, c)) - 1)); }
  void check_rest() {
    for (int64_t r = 0; r < block.rows; ++r) {
      for (int64_t c = block.columns; c < block.stride; ++c) CHECK_EQUAL(at(r, c), T(7));
    }
  }
};

template <class T>
void check_block(Isa isa, int64_t rows, int64_t columns, T scale, double tolerance) {
  const auto& table = dense_table<T>(isa).contrasts;
  Cosines<T> given(rows, columns, scale);
  std::vector<double> row_sums(rows, 0.5);
  std::vector<T> column_sums(columns, T(0.25)), by_row(rows), by_column(columns);
  for (int64_t r = 0; r < rows; ++r) by_row[r] = T(0.1) + T(r) / T(rows);
  for (int64_t c = 0; c < columns; ++c) by_column[c] = T(1) - T(c) / T(2 * columns);

  table.sum(given.block, row_sums.data(), column_sums.data());
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0.5;
    for (int64_t c = 0; c < columns; ++c) sum += given.e(r, c);
    CHECK_NEAR(row_sums[r], sum, tolerance * sum);
  }
  for (int64_t c = 0; c < columns; ++c) {
    double sum = 0.25;
    for (int64_t r = 0; r < rows; ++r) sum += given.e(r, c);
    CHECK_NEAR(column_sums[c], sum, tolerance * sum);
  }

  Cosines<T> shares(rows, columns, scale);
  table.softmax(shares.block, by_row.data(), by_column.data());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const double expected = given.e(r, c) * (double(by_row[r]) + by_column[c]);
      CHECK_NEAR(shares.at(r, c), expected, tolerance * expected);
    }
  }
  shares.check_rest();

  Cosines<T> slopes(rows, columns, scale);
  std::vector<double> of_rows(rows, 0);
  std::vector<T> of_columns(columns, T(0));
  const double forward = 0.3, backward = 0.7;
  const double loss = table.logistic(slopes.block, by_row.data(), by_column.data(), T(forward), T(backward),
                                     of_rows.data(), of_columns.data());
  double expected_loss = 0;
  std::vector<double> expected_columns(columns, 0);
  for (int64_t r = 0; r < rows; ++r) {
    double expected_row = 0;
    for (int64_t c = 0; c < columns; ++c) {
      const double e = given.e(r, c), there = forward * e / (e + by_row[r]),
                   back = backward * e / (e + by_column[c]);
      CHECK_NEAR(slopes.at(r, c), there + back, tolerance * (there + back));
      expected_row += there;
      expected_columns[c] += back;
      expected_loss += forward * std::log1p(e / by_row[r]) + backward * std::log1p(e / by_column[c]);
    }
    CHECK_NEAR(of_rows[r], expected_row, tolerance * expected_row);
  }
  for (int64_t c = 0; c < columns; ++c) CHECK_NEAR(of_columns[c], expected_columns[c], tolerance);
  CHECK_NEAR(loss, expected_loss, tolerance * expected_loss);
  slopes.check_rest();
}

}  // namespace

TEST(blocks) {
  for (const Isa isa : supported_isas()) {
    for (const int64_t columns : {1, 3, 4, 8, 15, 16, 17, 65}) {
      for (const int64_t rows : {1, 2, 33}) {
        for (const double scale : {0.5, 10.0, 40.0}) {
          check_block<float>(isa, rows, columns, static_cast<float>(scale), 2e-5);
          check_block<double>(isa, rows, columns, scale, 1e-13);
        }
      }
    }
  }
}

// Unit vectors at right angles: cosines of 1 within pairs and 0 between them.
TEST(two_pairs_by_hand) {
  plain::set_blas();
  double u[] = {1, 0, 0, 1}, of_u[4], of_v[4];
  const MatrixView<const double> rows{u, 2, 2, 2};
  for (const Isa isa : supported_isas()) {
    for (const auto loss : {ContrastLoss::softmax, ContrastLoss::logistic}) {
      const double value = contrast_gradient<double>(rows, rows, {loss, 2.0, 1.0, 0.0}, {of_u, 2, 2, 2},
                                                     {of_v, 2, 2, 2}, isa, 2);
      // Both losses are log(1 + exp(-2)); its slope by a difference of cosines is -2 / (1 + exp(2)).
      const double slope = -2 / (1 + std::exp(2.0));
      CHECK_NEAR(value, std::log1p(std::exp(-2.0)), 1e-15);
      const double expected[] = {slope / 2, -slope / 2, -slope / 2, slope / 2};
      for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(of_u[i], expected[i], 1e-15);
        CHECK_NEAR(of_v[i], expected[i], 1e-15);
      }
    }
  }
}
