// A bead takes a source sentences of l characters together and b target sentences of k:
//
//   cost = -log prior(a, b) + delta^2 / 2,   delta = (k - r l) / sqrt(v (r l + k) / 2)
//
// r: the ratio of lengths; v: the variance for each character. The prior is that of Gale and Church: 1-1
// 0.89, 2-1 and 1-2 0.0445 each, 2-2 0.011. A sentence without a counterpart costs -log skip, however long it
// is: in comparable documents whole parts are missing, and their length says nothing.
//
// D(i, j) = min over beads (a, b) of D(i - a, j - b) + cost. Only a band around the diagonal j = i m / n is
// computed; where the best path comes into the outer quarter of the band, it is computed again with twice the
// width, until the band is the whole square. Time and memory: n times the band's width, 1 byte a cell for the
// way back and three rows of doubles. Sums in double.

#include "models/alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/parallel.h"

namespace semproj {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTaskCells = 1 << 15;  // a millisecond or less

struct Move {
  int a, b;
  double prior;  // 0: of a skip
};
constexpr std::array<Move, 6> kMoves{
    {{1, 1, 0.89}, {1, 0, 0}, {0, 1, 0}, {2, 1, 0.0445}, {1, 2, 0.0445}, {2, 2, 0.011}}};

// How badly the lengths fit: delta^2 / 2.
double mismatch(double l, double k, const BeadModel& model) {
  const double expected = model.ratio * l, difference = k - expected;
  return difference * difference / (model.variance * (expected + k) + 1e-9);
}

class Band {
 public:
  Band(int64_t n, int64_t m, int64_t half) : n_(n), m_(m), half_(half) {}

  bool whole() const { return half_ >= m_; }
  int64_t width() const { return std::min(2 * half_ + 1, m_ + 1); }
  int64_t begin(int64_t i) const { return std::clamp<int64_t>(i * m_ / n_ - half_, 0, m_ + 1 - width()); }
  int64_t end(int64_t i) const { return begin(i) + width(); }
  bool near_edge(int64_t i, int64_t j) const {
    const int64_t near = half_ / 4 + 2;
    return (j < begin(i) + near && begin(i) > 0) || (j >= end(i) - near && end(i) <= m_);
  }

 private:
  int64_t n_, m_, half_;
};

class Table {
 public:
  Table(std::span<const int32_t> source, std::span<const int32_t> target, const BeadModel& model,
        const Band& band)
      : model_(model), band_(band), source_(sums_of(source)), target_(sums_of(target)) {
    for (size_t k = 0; k < kMoves.size(); ++k) {
      prior_[k] = -std::log(kMoves[k].prior == 0 ? model.skip : kMoves[k].prior);
    }
    const int64_t n = rows() - 1;
    for (auto& row : cost_) row.resize(band_.width());
    back_.resize((n + 1) * band_.width());
    Patience patience;
    for (int64_t i = 0; i <= n; ++i) {
      fill_row(i);
      patience.spend(8 * band_.width());
    }
  }

  // False when the path came near the band's edge, so that a wider band might have a better one.
  bool trace(std::vector<Bead>* beads) const {
    beads->clear();
    bool inside = true;
    for (int64_t i = rows() - 1, j = static_cast<int64_t>(target_.size()) - 1; i > 0 || j > 0;) {
      const size_t k = back_[i * band_.width() + j - band_.begin(i)];
      const Move& move = kMoves[k];
      inside = inside && !band_.near_edge(i, j);
      const double cost = move.prior == 0 ? prior_[k] : fit(i, j, move);
      beads->push_back({static_cast<int32_t>(i - move.a), static_cast<int32_t>(i),
                        static_cast<int32_t>(j - move.b), static_cast<int32_t>(j),
                        static_cast<float>(-cost)});
      i -= move.a;
      j -= move.b;
    }
    std::reverse(beads->begin(), beads->end());
    return inside;
  }

 private:
  int64_t rows() const { return static_cast<int64_t>(source_.size()); }

  static std::vector<double> sums_of(std::span<const int32_t> lengths) {
    std::vector<double> sums(lengths.size() + 1, 0.0);
    std::partial_sum(lengths.begin(), lengths.end(), sums.begin() + 1, std::plus<double>());
    return sums;
  }

  double fit(int64_t i, int64_t j, const Move& move) const {
    return mismatch(source_[i] - source_[i - move.a], target_[j] - target_[j - move.b], model_);
  }

  double at(int64_t i, int64_t j) const {
    if (i < 0 || j < band_.begin(i) || j >= band_.end(i)) return kInfinity;
    return cost_[i % 3][j - band_.begin(i)];
  }

  void fill_row(int64_t i) {
    for (int64_t j = band_.begin(i); j < band_.end(i); ++j) {
      double best = i == 0 && j == 0 ? 0 : kInfinity;
      uint8_t back = 0;
      for (size_t k = 0; k < kMoves.size(); ++k) {
        const Move& move = kMoves[k];
        const double before = at(i - move.a, j - move.b) + prior_[k];
        if (!(before < best)) continue;  // the fit only adds to it
        const double cost = move.prior == 0 ? before : before + fit(i, j, move);
        if (cost < best) {
          best = cost;
          back = static_cast<uint8_t>(k);
        }
      }
      cost_[i % 3][j - band_.begin(i)] = best;
      back_[i * band_.width() + j - band_.begin(i)] = back;
    }
  }

  const BeadModel& model_;
  const Band band_;
  const std::vector<double> source_, target_;  // characters before each sentence
  std::array<double, kMoves.size()> prior_{};
  std::array<std::vector<double>, 3> cost_;
  std::vector<uint8_t> back_;
};

// Within a step of the diagonal by two sentences the band must hold the cell it came from.
int64_t first_half(int64_t n, int64_t m, const BeadModel& model) {
  return std::max(model.band, 2 * (m / n + 2));
}

// Where to cut the documents into tasks of about kTaskCells of the bands.
std::vector<int64_t> cut_tasks(const SentenceLengths& source, const SentenceLengths& target,
                               const BeadModel& model) {
  const auto documents = static_cast<int64_t>(source.starts.size()) - 1;
  std::vector<int64_t> cuts{0};
  double cells = 0;
  for (int64_t d = 0; d < documents; ++d) {
    const auto n = static_cast<int64_t>(source.document(d).size());
    const auto m = static_cast<int64_t>(target.document(d).size());
    if (n > 0) cells += static_cast<double>(n) * Band(n, m, first_half(n, m, model)).width();
    if (cells < kTaskCells && d + 1 < documents) continue;
    cuts.push_back(d + 1);
    cells = 0;
  }
  return cuts;
}

}  // namespace

std::vector<Bead> align_lengths(std::span<const int32_t> source, std::span<const int32_t> target,
                                const BeadModel& model) {
  std::vector<Bead> beads;
  const auto n = static_cast<int64_t>(source.size()), m = static_cast<int64_t>(target.size());
  if (n == 0 || m == 0) return beads;
  if (n == 1 || m == 1) {
    const double l = std::accumulate(source.begin(), source.end(), 0.0);
    const double k = std::accumulate(target.begin(), target.end(), 0.0);
    beads.push_back(
        {0, static_cast<int32_t>(n), 0, static_cast<int32_t>(m), static_cast<float>(-mismatch(l, k, model))});
    return beads;
  }
  for (int64_t half = first_half(n, m, model);; half *= 2) {
    const Band band(n, m, half);
    if (Table(source, target, model, band).trace(&beads) || band.whole()) return beads;
  }
}

std::vector<std::vector<Bead>> align_documents(const SentenceLengths& source, const SentenceLengths& target,
                                               const BeadModel& model, int n_threads) {
  const std::vector<int64_t> cuts = cut_tasks(source, target, model);
  std::vector<std::vector<Bead>> beads(source.starts.size() - 1);
  parallel_for(static_cast<int64_t>(cuts.size()) - 1, n_threads, [&](int64_t task, int) {
    for (int64_t d = cuts[task]; d < cuts[task + 1]; ++d) {
      beads[d] = align_lengths(source.document(d), target.document(d), model);
    }
  });
  return beads;
}

}  // namespace semproj
