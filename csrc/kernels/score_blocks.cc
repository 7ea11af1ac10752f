// Cost. A block of Q queries against 256 corpus rows of depth d takes Q 256 d / lanes operations of the
// metric (see simd/scores.h). The columns are walked 256 at a time, so that a panel of the corpus (at most 32
// rows x 256, 32 KB) stays in the first-level cache while all Q queries pass, and the queries' 256 columns
// and the scores (Q x 1 KB each) stay in the second. A panel is packed by transposing it, about 0.3 cycles an
// element against Q / 32 cycles of work on it: for Q of a few hundred packing again for every block of
// queries is cheaper than keeping a packed copy of the corpus, and nothing of the size of the corpus is
// allocated.
//
// Precision: float32; 256 columns are summed in order, then these sums in order. Lengths of rows in double.

#include "kernels/score_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr int64_t kDepth = 256;  // columns walked at a time

void set_scale(double scale, float* factors) {
  int exponent = 0;
  const double fraction = std::frexp(scale, &exponent);
  const int first = std::clamp(exponent, -120, 120);
  factors[0] = std::ldexp(1.0f, first);
  factors[1] = static_cast<float>(std::ldexp(fraction, exponent - first));
}

[[noreturn]] void refuse(const char* name, const std::string& what, int64_t row) {
  throw std::invalid_argument(std::string(name) + ": " + what + " (row " + std::to_string(row) + ")");
}

}  // namespace

simd::ScoreTable score_table_for(Isa isa) {
#ifdef SEMPROJ_X86_VARIANTS
  if (isa == Isa::avx512) return simd::avx512::score_table();
  if (isa == Isa::avx2) return simd::avx2::score_table();
#endif
  (void)isa;
  return simd::baseline::score_table();
}

ComparedRows::ComparedRows(const MatrixView<const float>& rows, Metric metric, const char* name,
                           const simd::ScoreTable& table, int n_threads)
    : rows_(rows), lengths_(static_cast<size_t>(rows.rows)) {
  constexpr int64_t kElements = int64_t{1} << 18, kSerial = int64_t{1} << 16;
  const bool euclidean = metric == Metric::cosine || metric == Metric::inner_product;
  const bool scaled = metric == Metric::cosine || metric == Metric::jensen_shannon;
  if (scaled) scale_.resize(2 * lengths_.size());
  if (rows.rows * rows.cols <= kSerial) n_threads = 1;
  const int64_t grain = std::max<int64_t>(1, kElements / std::max<int64_t>(rows.cols, 1));
  parallel_for(block_count(rows.rows, grain), n_threads, [&](int64_t task, int) {
    const Block block = block_at(rows.rows, grain, task);
    for (int64_t i = block.begin; i < block.end; ++i) {
      const double total =
          table.sum(rows.row(i), rows.cols, euclidean ? simd::RowSum::squares : simd::RowSum::absolute);
      if (!std::isfinite(total)) refuse(name, "contains NaN or infinity", i);
      lengths_[i] = euclidean ? std::sqrt(total) : total;
      if (metric == Metric::jensen_shannon) {
        if (table.sum(rows.row(i), rows.cols, simd::RowSum::plain) != total) {
          refuse(name, "expected numbers that are not negative for 'jensen_shannon'", i);
        }
        if (total == 0) refuse(name, "expected rows with a sum above 0 for 'jensen_shannon'", i);
        set_scale(0.5 / total, &scale_[2 * i]);
      } else if (metric == Metric::cosine) {
        set_scale(total > 0 ? 1 / lengths_[i] : 0, &scale_[2 * i]);
      }
    }
  });
}

double ComparedRows::longest() const {
  return lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end());
}

void check_range(const ComparedRows& queries, const ComparedRows& corpus, Metric metric, const char* name) {
  constexpr double kMost = std::numeric_limits<float>::max() / 2;
  const double a = queries.longest(), b = corpus.longest();
  if ((metric == Metric::inner_product && a * b > kMost) || (metric == Metric::l1 && a + b > kMost)) {
    throw std::invalid_argument(std::string(name) + ": too large, scores would leave the range of float32");
  }
}

BlockScorer::BlockScorer(const simd::ScoreTable& table, Metric metric, int64_t max_queries, int64_t depth)
    : table_(table), metric_(metric), depth_(depth), max_groups_(block_count(max_queries, table.rows)) {
  tile_ = metric == Metric::l1               ? table.l1
          : metric == Metric::jensen_shannon ? table.jensen_shannon
                                             : table.inner;
  const int64_t packed = max_groups_ * table.rows * depth, panel = kDepth * table.cols;
  queries_ = aligned_array<float>(static_cast<size_t>(packed));
  panel_ = aligned_array<float>(static_cast<size_t>(panel));
  if (metric == Metric::jensen_shannon) {
    query_terms_ = aligned_array<float>(static_cast<size_t>(packed));
    panel_terms_ = aligned_array<float>(static_cast<size_t>(panel));
  }
  scores_ = aligned_array<float>(static_cast<size_t>(max_groups_ * table.rows * kBlockColumns));
  zeros_.resize(kDepth);
}

void BlockScorer::take_queries(const ComparedRows& queries, int64_t begin, int64_t end) {
  const int64_t rows = table_.rows;
  groups_ = block_count(end - begin, rows);
  for (int64_t from = 0; from < depth_; from += kDepth) {
    const int64_t depth = std::min(kDepth, depth_ - from);
    for (int64_t i = 0; i < groups_ * rows; ++i) {
      float* out = queries_.get() + groups_ * rows * from + i / rows * rows * depth + i % rows;
      const bool exists = begin + i < end;
      const float* in = exists ? queries.row(begin + i) + from : zeros_.data();
      const float once = exists ? queries.scale(begin + i, 0) : 0;
      const float again = exists ? queries.scale(begin + i, 1) : 0;
      for (int64_t k = 0; k < depth; ++k) out[k * rows] = in[k] * once * again;
    }
  }
  if (query_terms_) table_.entropy_terms(queries_.get(), groups_ * rows * depth_, query_terms_.get());
}

void BlockScorer::pack_panel(const ComparedRows& corpus, int64_t begin, int64_t end, int64_t from,
                             int64_t depth) {
  constexpr int kMostColumns = 64;
  const float* rows[kMostColumns];
  float scale[2 * kMostColumns] = {};
  for (int j = 0; j < table_.cols; ++j) {
    const bool exists = begin + j < end;
    rows[j] = exists ? corpus.row(begin + j) + from : zeros_.data();
    if (!exists) continue;
    scale[j] = corpus.scale(begin + j, 0);
    scale[table_.cols + j] = corpus.scale(begin + j, 1);
  }
  table_.pack(rows, scale, depth, panel_.get());
  if (panel_terms_) table_.entropy_terms(panel_.get(), depth * table_.cols, panel_terms_.get());
}

void BlockScorer::score(const ComparedRows& corpus, int64_t begin, int64_t end) {
  for (int64_t from = 0; from < depth_; from += kDepth) {
    const int64_t depth = std::min(kDepth, depth_ - from);
    for (int64_t column = 0; begin + column < end; column += table_.cols) {
      pack_panel(corpus, begin + column, end, from, depth);
      simd::TileOperands on{};
      on.panel = panel_.get();
      on.panel_terms = panel_terms_.get();
      on.depth = depth;
      on.out_stride = kBlockColumns;
      on.add = from > 0;
      for (int64_t g = 0; g < groups_; ++g) {
        const int64_t at = groups_ * table_.rows * from + g * table_.rows * depth;
        on.group = queries_.get() + at;
        on.group_terms = query_terms_ ? query_terms_.get() + at : nullptr;
        on.out = scores(g * table_.rows) + column;
        tile_(on);
      }
    }
  }
}

}  // namespace semproj
