// Source words 1..I, the null word 0, target words 1..J.
//
// Model 1:  p(t | s) = prod_j 1/(I+1) sum_i t(t_j | s_i);  expected alignment t(t_j | s_i) / sum_i' t(t_j |
// s_i').
//
// HMM: the state after target word j is the position i of the last source word that was translated, 0 at the
// beginning. With probability p0 word j comes from the null word and the state stays; otherwise it moves from
// i' to i in 1..I with probability c(i - i') / sum_i'' c(i'' - i'), c the weight of the jump's class:
//
//   A(i', i) = (1 - p0) c(i - i') / S(i')                    A(i', 0) = 0
//   r_j = A' u_{j-1}                                          u_0 = (1, 0, ..., 0)
//   u_j = (e_j * r_j + p0 e_j(0) u_{j-1}) / scale_j           e_j(i) = t(t_j | s_i)
//   w_j = e_j * b_j                                           b_J = 1
//   b_{j-1} ~ A w_j + p0 e_j(0) b_j
//   expected alignment of j to i:  r_j(i) w_j(i) / q_j        q_j = sum of u_{j-1} * (A w_j + p0 e_j(0) b_j)
//   expected moves i' -> i:        A(i', i) sum_j u_{j-1}(i') w_j(i) / q_j
//
// The log likelihood is the sum of log scale_j. Vectors are scaled at each j, so nothing overflows. Cost:
// 6 n^2 m flops, in float32, as scaled additions of whole rows; the sums that scale are in double.

#include "models/wordbyword_pair.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "kernels/dispatch.h"

namespace semproj {

double expect_model1(float* cells, int64_t n, int64_t m, std::vector<float>* scratch) {
  scratch->assign(m, 0.0f);
  float* sums = scratch->data();
  for (int64_t i = 0; i < n; ++i) {
    const float* row = cells + i * m;
    for (int64_t j = 0; j < m; ++j) sums[j] += row[j];
  }
  double log_likelihood = -static_cast<double>(m) * std::log(static_cast<double>(n));
  for (int64_t j = 0; j < m; ++j) {
    log_likelihood += std::log(static_cast<double>(sums[j]));
    sums[j] = 1.0f / sums[j];
  }
  for (int64_t i = 0; i < n; ++i) {
    float* row = cells + i * m;
    for (int64_t j = 0; j < m; ++j) row[j] *= sums[j];
  }
  return log_likelihood;
}

HmmPair::HmmPair(const JumpClasses& classes, double null_probability, Isa isa)
    : rows_(simd_table(isa).float32.rows), classes_(classes), p_null_(static_cast<float>(null_probability)) {}

void HmmPair::resize(int64_t n, int64_t m) {
  n_ = n;
  m_ = m;
  stride_ = (n + simd::kRowLanes - 1) / simd::kRowLanes * simd::kRowLanes;
  const auto fit = [](auto* v, int64_t size) { v->assign(size, 0); };
  fit(&step_, n * stride_);
  fit(&back_step_, n * stride_);
  fit(&moves_, n * stride_);
  fit(&emission_, m * stride_);
  fit(&reach_, m * stride_);
  fit(&occupied_, (m + 1) * stride_);
  fit(&future_, stride_);
  fit(&weighted_, stride_);
  fit(&next_, stride_);
  fit(&scaled_, stride_);
  fit(&total_, n);
}

// From position `from`, the targets [1, left) are in the first class, [left, right) in a class each and
// [right, n) in the last one. first_class is that of target `left`.
HmmPair::Reach HmmPair::reach_of(int64_t from) const {
  const int64_t limit = classes_.max_jump;
  const int64_t left = std::clamp<int64_t>(from - limit, 1, n_);
  const int64_t right = std::clamp<int64_t>(from + limit + 1, left, n_);
  return {left, right, classes_.of(left - from)};
}

void HmmPair::fill_transitions(const int32_t* words, const float* jumps) {
  const int k = classes_.count();
  for (int64_t from = 0; from < n_; ++from) {
    const float* weight = jumps + static_cast<int64_t>(words[from]) * k;
    const auto [left, right, first_class] = reach_of(from);
    double total =
        static_cast<double>(left - 1) * weight[0] + static_cast<double>(n_ - right) * weight[k - 1];
    for (int64_t i = 0; i < right - left; ++i) total += weight[first_class + i];
    total_[from] = total;
    const auto scale = static_cast<float>((1 - static_cast<double>(p_null_)) / total);
    float* step = step_.data() + from * stride_;
    std::fill(step + 1, step + left, scale * weight[0]);
    for (int64_t i = 0; i < right - left; ++i) step[left + i] = scale * weight[first_class + i];
    std::fill(step + right, step + n_, scale * weight[k - 1]);
    for (int64_t to = 1; to < n_; ++to) back_step_[to * stride_ + from] = step[to];
  }
}

double HmmPair::forward() {
  double log_likelihood = 0;
  occupied_[0] = 1;
  Patience patience;
  for (int64_t j = 0; j < m_; ++j) {
    patience.spend(n_ * n_ / 4);
    const float* before = occupied_.data() + j * stride_;
    const float* e = emission_.data() + j * stride_;
    float* reach = reach_.data() + j * stride_;
    float* now = occupied_.data() + (j + 1) * stride_;
    rows_.combine(before, step_.data(), n_, stride_, reach);
    const float stay = p_null_ * e[0];
    double sum = 0;
    for (int64_t i = 0; i < n_; ++i) {
      now[i] = e[i] * reach[i] + stay * before[i];
      sum += now[i];
    }
    const auto scale = static_cast<float>(1 / sum);
    for (int64_t i = 0; i < n_; ++i) now[i] *= scale;
    log_likelihood += std::log(sum);
  }
  return log_likelihood;
}

void HmmPair::backward(float* cells) {
  std::fill(future_.begin(), future_.begin() + n_, 1.0f);
  Patience patience;
  for (int64_t j = m_ - 1; j >= 0; --j) {
    patience.spend(n_ * n_ / 4);
    const float* before = occupied_.data() + j * stride_;
    const float* e = emission_.data() + j * stride_;
    const float* reach = reach_.data() + j * stride_;
    const float stay = p_null_ * e[0];
    weighted_[0] = 0;
    for (int64_t i = 1; i < n_; ++i) weighted_[i] = e[i] * future_[i];
    rows_.combine(weighted_.data(), back_step_.data(), n_, stride_, next_.data());
    double staying = 0, total = 0;
    float peak = 0;
    for (int64_t i = 0; i < n_; ++i) {
      const float stayed = stay * future_[i];
      staying += static_cast<double>(before[i]) * stayed;
      next_[i] += stayed;
      total += static_cast<double>(before[i]) * next_[i];
      peak = std::max(peak, next_[i]);
    }
    // Zero only where everything underflowed; such a word then tells nothing.
    const auto scale = static_cast<float>(total > 0 ? 1 / total : 0);
    for (int64_t i = 0; i < n_; ++i) scaled_[i] = scale * before[i];
    rows_.add_outer(scaled_.data(), weighted_.data(), n_, stride_, moves_.data());
    cells[j] = static_cast<float>(total > 0 ? staying / total : 0);
    for (int64_t i = 1; i < n_; ++i) cells[i * m_ + j] = scale * reach[i] * weighted_[i];
    const float shrink = peak > 0 ? 1 / peak : 0;
    for (int64_t i = 0; i < n_; ++i) future_[i] = next_[i] * shrink;
  }
}

// For class k and position i': the expected jumps, and (expected moves from i') n_k(i') / S(i'), where n_k is
// how many positions are at such a jump.
void HmmPair::write_statistics(float* statistics) const {
  const int k = classes_.count();
  for (int64_t from = 0; from < n_; ++from) {
    float* counts = statistics + 2 * k * from;
    float* exposure = counts + k;
    std::fill(counts, counts + 2 * k, 0.0f);
    const float* step = step_.data() + from * stride_;
    const float* moves = moves_.data() + from * stride_;
    const auto [left, right, first_class] = reach_of(from);
    double before = 0, after = 0;  // in these classes A is one number
    for (int64_t to = 1; to < left; ++to) before += moves[to];
    for (int64_t to = right; to < n_; ++to) after += moves[to];
    counts[0] = left > 1 ? static_cast<float>(before * step[1]) : 0;
    counts[k - 1] = right < n_ ? static_cast<float>(after * step[right]) : 0;
    exposure[0] = static_cast<float>(left - 1);
    exposure[k - 1] = static_cast<float>(n_ - right);
    for (int64_t i = 0; i < right - left; ++i) {
      counts[first_class + i] = step[left + i] * moves[left + i];
      exposure[first_class + i] = 1;
    }
    double moved = 0;
    for (int c = 0; c < k; ++c) moved += counts[c];
    const auto scale = static_cast<float>(moved / total_[from]);
    for (int c = 0; c < k; ++c) exposure[c] *= scale;
  }
}

double HmmPair::expect(float* cells, int64_t n, int64_t m, const int32_t* words, const float* jumps,
                       float* statistics) {
  resize(n, m);
  fill_transitions(words, jumps);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) emission_[j * stride_ + i] = cells[i * m + j];
  }
  const double log_likelihood = forward();
  backward(cells);
  write_statistics(statistics);
  return log_likelihood;
}

}  // namespace semproj
