// Cost. A block of Q queries against 256 corpus rows of depth d takes Q 256 d / lanes operations of the
// metric (see simd/scores.h). The columns are walked 256 at a time, so that a panel of the corpus (at most 32
// rows x 256, 32 KB) stays in the first-level cache while all Q queries pass, and the queries' 256 columns
// and the scores (Q x 1 KB each) stay in the second. A panel is packed by transposing it, about 0.3 cycles an
// element against Q / 32 cycles of work on it: for Q of a few hundred packing again for every block of
// queries is cheaper than keeping a packed copy of the corpus, and nothing of the size of the corpus is
// allocated.
//
// Few queries do not pay for that (see few_queries.cc).
//
// Precision: float32; 256 columns are summed in order, then these sums in order; for Jensen-Shannon first 32.
// Where columns are all alike, so are the roundings of such a sum, up to 128 units in its last place. Lengths
// of rows in double.

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

ComparedRows::ComparedRows(const MatrixView<const float>& rows, Metric metric, const char* name,
                           const simd::ScoreTable& table, const double* lengths)
    : rows_(rows), metric_(metric), name_(name), sum_(table.sum), lengths_(lengths) {}

void ComparedRows::make_room() {
  own_lengths_.resize(static_cast<size_t>(size()));
  lengths_ = own_lengths_.data();
  if (metric_ == Metric::cosine || metric_ == Metric::jensen_shannon) scale_.resize(2 * own_lengths_.size());
}

double ComparedRows::length_of(int64_t i) const {
  const bool euclidean = metric_ == Metric::cosine || metric_ == Metric::inner_product;
  const double total = sum_(row(i), depth(), euclidean ? simd::RowSum::squares : simd::RowSum::absolute);
  if (!std::isfinite(total)) refuse(name_, "contains NaN or infinity", i);
  return euclidean ? std::sqrt(total) : total;
}

void ComparedRows::prepare(int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const double total = own_lengths_[i] = length_of(i);
    if (metric_ == Metric::jensen_shannon) {
      if (sum_(row(i), depth(), simd::RowSum::plain) != total) {
        refuse(name_, "expected numbers that are not negative for 'jensen_shannon'", i);
      }
      if (total == 0) refuse(name_, "expected rows with a sum above 0 for 'jensen_shannon'", i);
      set_scale(0.5 / total, &scale_[2 * i]);
    } else if (metric_ == Metric::cosine) {
      set_scale(total > 0 ? 1 / total : 0, &scale_[2 * i]);
    }
  }
}

void ComparedRows::prepare_all(int n_threads) {
  make_room();
  constexpr int64_t kElements = int64_t{1} << 18, kSerial = int64_t{1} << 16;
  if (size() * depth() <= kSerial) n_threads = 1;
  const int64_t grain = std::max<int64_t>(1, kElements / std::max<int64_t>(depth(), 1));
  parallel_for(block_count(size(), grain), n_threads, [&](int64_t task, int) {
    const Block block = block_at(size(), grain, task);
    prepare(block.begin, block.end);
  });
}

double ComparedRows::longest() const {
  return size() == 0 ? 0 : *std::max_element(lengths_, lengths_ + size());
}

bool in_range(double longest_query, double longest_row, Metric metric) {
  constexpr double kMost = std::numeric_limits<float>::max() / 2;
  return !((metric == Metric::inner_product && longest_query * longest_row > kMost) ||
           (metric == Metric::l1 && longest_query + longest_row > kMost));
}

void check_range(const ComparedRows& queries, const ComparedRows& corpus, Metric metric, const char* name,
                 double longest_row) {
  if (!in_range(queries.longest(), longest_row > 0 ? longest_row : corpus.longest(), metric)) {
    throw std::invalid_argument(std::string(name) + ": too large, scores would leave the range of float32");
  }
}

BlockScorer::BlockScorer(const simd::ScoreTable& table, Metric metric, int64_t max_queries, int64_t depth)
    : table_(table),
      metric_(metric),
      depth_(depth),
      max_queries_(block_count(max_queries, table.rows) * table.rows) {
  tile_ = metric == Metric::l1               ? table.l1
          : metric == Metric::jensen_shannon ? table.jensen_shannon
                                             : table.inner;
  const int64_t packed = max_queries_ * depth, panel = kDepth * table.cols;
  queries_ = aligned_array<float>(static_cast<size_t>(packed));
  panel_ = aligned_array<float>(static_cast<size_t>(panel));
  if (metric == Metric::jensen_shannon) {
    query_terms_ = aligned_array<float>(static_cast<size_t>(packed));
    panel_terms_ = aligned_array<float>(static_cast<size_t>(panel));
  }
  scores_ = aligned_array<float>(static_cast<size_t>(max_queries_ * kBlockColumns));
  zeros_.resize(kDepth);
}

void BlockScorer::take_queries(const ComparedRows& queries, int64_t begin, int64_t end) {
  constexpr int kMostRows = 16;
  const int rows = table_.rows;
  groups_ = block_count(end - begin, rows);
  for (int64_t from = 0; from < depth_; from += kDepth) {
    const int64_t depth = std::min(kDepth, depth_ - from);
    for (int64_t group = 0; group < groups_; ++group) {
      const float* in[kMostRows];
      float once[kMostRows] = {}, again[kMostRows] = {};
      for (int i = 0; i < rows; ++i) {
        const int64_t query = begin + group * rows + i;
        in[i] = query < end ? queries.row(query) + from : zeros_.data();
        if (query >= end) continue;
        once[i] = queries.scale(query, 0);
        again[i] = queries.scale(query, 1);
      }
      float* out = queries_.get() + groups_ * rows * from + group * rows * depth;
      for (int64_t k = 0; k < depth; ++k, out += rows) {
        for (int i = 0; i < rows; ++i) out[i] = in[i][k] * once[i] * again[i];
      }
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
  table_.pack(rows, scale, depth, kBlockColumns * corpus.stride(), panel_.get());
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
  if (metric_ == Metric::jensen_shannon) forget_roundings_above_zero(end - begin);
}

// A divergence is never negative: those that rounding makes so are ties at zero, and ties go by their ids.
void BlockScorer::forget_roundings_above_zero(int64_t n) {
  for (int64_t query = 0; query < groups_ * table_.rows; ++query) {
    float* mine = scores(query);
    for (int64_t j = 0; j < n; ++j) mine[j] = std::min(mine[j], 0.0f);
  }
}

}  // namespace semproj
