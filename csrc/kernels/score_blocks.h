#pragma once
// Scores of a block of queries against a block of corpus rows: what every kind of retrieval is made of.

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/cpu.h"
#include "core/views.h"
#include "kernels/simd/scores.h"

namespace semproj {

// Scores are such that more is better: the distances come with a minus.
enum class Metric { cosine, inner_product, l1, jensen_shannon };

// The caller's rows, read in place, and what turns them into the rows that are compared: unit length for
// cosine (zero rows stay zero), half of a sum of one for Jensen-Shannon. Rows must be prepared, all or some
// at a time, before they are scored; those for which lengths are given have been, and are as they are
// compared.
class ComparedRows {
 public:
  ComparedRows(const MatrixView<const float>& rows, Metric metric, const char* name,
               const simd::ScoreTable& table, const double* lengths = nullptr);

  // Throws std::invalid_argument, beginning with the rows' name, for NaN or infinity, and for Jensen-Shannon
  // for negative numbers and rows of zeros. Once `make_room` was called.
  void prepare(int64_t begin, int64_t end);
  void prepare_all(int n_threads);
  void make_room();

  bool is_prepared() const { return lengths_ != nullptr; }
  int64_t size() const { return rows_.rows; }
  int64_t depth() const { return rows_.cols; }
  const float* row(int64_t i) const { return rows_.row(i); }
  int64_t stride() const { return rows_.stride; }
  // A scale may lie outside of float's range; its two factors do not.
  float scale(int64_t i, int factor) const { return scale_.empty() ? 1.0f : scale_[2 * i + factor]; }
  double length(int64_t i) const { return lengths_[i]; }  // Euclidean, or the sum of magnitudes
  // The same of a row that is not prepared. Throws if it is not finite.
  double length_of(int64_t i) const;
  double longest() const;

 private:
  MatrixView<const float> rows_;
  Metric metric_;
  const char* name_;
  double (*sum_)(const float*, int64_t, simd::RowSum);
  const double* lengths_;
  std::vector<double> own_lengths_;
  std::vector<float> scale_;  // two factors for each row; empty when rows are compared as they are
};

// No score, and no sum on the way to one, may leave float's range. Throws std::invalid_argument.
void check_range(const ComparedRows& queries, const ComparedRows& corpus, Metric metric, const char* name,
                 double longest_row = 0);
bool in_range(double longest_query, double longest_row, Metric metric);

constexpr int64_t kBlockColumns = 256;  // corpus rows of a block

// One thread's memory for scoring, and its block of queries, which stays packed while the corpus goes by.
class BlockScorer {
 public:
  BlockScorer(const simd::ScoreTable& table, Metric metric, int64_t max_queries, int64_t depth);

  void take_queries(const ComparedRows& queries, int64_t begin, int64_t end);

  // Scores the queries against the corpus rows [begin, end), at most kBlockColumns.
  void score(const ComparedRows& corpus, int64_t begin, int64_t end);

  float* scores(int64_t query) { return scores_.get() + query * kBlockColumns; }

 private:
  void pack_panel(const ComparedRows& corpus, int64_t begin, int64_t end, int64_t from, int64_t depth);
  void forget_roundings_above_zero(int64_t n);

  const simd::ScoreTable& table_;
  Metric metric_;
  void (*tile_)(const simd::TileOperands&);
  int64_t depth_, max_queries_, groups_ = 0;
  AlignedArray<float> queries_, query_terms_, panel_, panel_terms_, scores_;
  std::vector<float> zeros_;
};

}  // namespace semproj
