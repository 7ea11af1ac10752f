#include "kernels/topics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/dispatch.h"

namespace semproj {
namespace {

constexpr int64_t kBlockBytes = int64_t{8} << 20;     // theta of a block: stays in the last-level cache
constexpr int64_t kBlockEntries = int64_t{1} << 20;   // and so do its ratios
constexpr int64_t kMostDocuments = int64_t{1} << 16;  // of a block: 16 bits
constexpr int64_t kNearCacheBytes = int64_t{768} << 10;
constexpr int64_t kTaskEntries = 2048;
constexpr int64_t kWordChunk = 128;   // words whose sums for the normalisation are one
constexpr double kLeastMass = 1e-37;  // of a document or topic, so that float32 has room for its reciprocal

int64_t padded_topics(int64_t n) {
  return (n + simd::kTopicLanes - 1) / simd::kTopicLanes * simd::kTopicLanes;
}

}  // namespace

TopicWords::TopicWords(const MatrixView<const float>& values, int n_threads)
    : n_words_(values.rows),
      n_topics_(values.cols),
      stride_(padded_topics(values.cols)),
      data_(aligned_array<float>(static_cast<size_t>(n_words_ * stride_))) {
  copy_from(values, n_threads);
}

void TopicWords::copy_from(const MatrixView<const float>& values, int n_threads) {
  parallel_for(block_count(n_words_, kWordChunk), n_threads, [&](int64_t task, int) {
    const Block mine = block_at(n_words_, kWordChunk, task);
    for (int64_t w = mine.begin; w < mine.end; ++w) {
      std::fill(std::copy_n(values.row(w), n_topics_, row(w)), row(w) + stride_, 0.0f);
    }
  });
}

void TopicWords::copy_to(const MatrixView<float>& out, int n_threads) const {
  parallel_for(block_count(n_words_, kWordChunk), n_threads, [&](int64_t task, int) {
    const Block mine = block_at(n_words_, kWordChunk, task);
    for (int64_t w = mine.begin; w < mine.end; ++w) {
      std::copy_n(data_.get() + w * stride_, n_topics_, out.row(w));
    }
  });
}

void TopicWords::raise_to(double power, int n_threads) {
  const auto exponent = static_cast<float>(power);
  parallel_for(block_count(n_words_, kWordChunk), n_threads, [&](int64_t task, int) {
    const Block mine = block_at(n_words_, kWordChunk, task);
    float* const end = row(mine.end);
    for (float* value = row(mine.begin); value < end; ++value) *value = std::pow(*value, exponent);
  });
}

DocumentPass::DocumentPass(const TopicWords& words, Isa isa)
    : words_(words),
      table_(simd_table(isa).topics),
      sums_(new_row()),
      wide_(static_cast<size_t>(words.stride())) {}

AlignedArray<float> DocumentPass::new_row() const {
  return aligned_zeros<float>(static_cast<size_t>(stride()));
}

TokenSums DocumentPass::run(const float* theta, const int32_t* words, const float* counts, int64_t n,
                            float* ratios, bool cached, float* squares) {
  TokenSums all{0, 0};
  const bool several = n > simd::kTopicSegment;
  if (several) std::fill(wide_.begin(), wide_.end(), 0.0);
  std::fill_n(sums_.get(), stride(), 0.0f);
  for (int64_t at = 0; at < n; at += simd::kTopicSegment) {
    const int64_t here = std::min(simd::kTopicSegment, n - at);
    const TokenSums found = table_.document(theta, words_.data(), stride(), words + at, counts + at, here,
                                            ratios + at, sums_.get(), squares, cached);
    all.log_likelihood += found.log_likelihood;
    all.mass += found.mass;
    patience_.spend(here * stride() / 4);
    if (several) {
      for (int64_t t = 0; t < stride(); ++t) wide_[t] += static_cast<double>(std::exchange(sums_[t], 0.0f));
    }
  }
  if (several) std::copy(wide_.begin(), wide_.end(), sums_.get());
  return all;
}

bool DocumentPass::fits_cache(int64_t n_words) const {
  return n_words * stride() * static_cast<int64_t>(sizeof(float)) <= kNearCacheBytes;
}

bool DocumentPass::update(float* theta, float prior) const {
  const double sum = table_.expected(theta, sums_.get(), prior, n_topics(), stride(), theta);
  const bool scalable = sum >= kLeastMass;
  const auto scale = static_cast<float>(1.0 / (scalable ? sum : static_cast<double>(n_topics())));
  for (int64_t t = 0; t < n_topics(); ++t) {
    const float value = scalable ? theta[t] * scale : scale;
    theta[t] = value < simd::kLeastProbability ? 0.0f : value;
  }
  return std::isfinite(sum);
}

TopicCorpus::TopicCorpus(const CsrView<int32_t, float>& documents, std::vector<int64_t> view_starts,
                         int64_t n_topics, int64_t group, int n_threads)
    : documents_(documents),
      view_starts_(std::move(view_starts)),
      n_topics_(n_topics),
      stride_(padded_topics(n_topics)),
      group_(group) {
  const auto per_row = static_cast<int64_t>(sizeof(float)) * stride_;
  const int64_t most = std::clamp(kBlockBytes / per_row, int64_t{64}, kMostDocuments) / group * group;
  int64_t widest = 0, longest = 0;
  for (int64_t begin = 0, end; begin < documents.n_rows; begin = end) {
    end = begin + group;
    while (end < documents.n_rows && end + group - begin <= most &&
           documents.indptr[end + group] - documents.indptr[begin] <= kBlockEntries) {
      end += group;
    }
    blocks_.push_back({begin, end, 0, 0, 0, 0});
    widest = std::max(widest, end - begin);
    longest = std::max(longest, documents.indptr[end] - documents.indptr[begin]);
  }
  const auto entries = static_cast<size_t>(documents.indptr[documents.n_rows]);
  rows_ = aligned_array<uint16_t>(entries);
  places_ = aligned_array<uint32_t>(entries);
  used_ = aligned_array<float>(static_cast<size_t>(widest * stride_));
  ratios_ = aligned_array<float>(static_cast<size_t>(longest));
  sums_ = aligned_array<float>(static_cast<size_t>(documents.n_cols * stride_));

  std::vector<std::vector<int32_t>> present(blocks_.size());
  std::vector<std::vector<int64_t>> starts(blocks_.size());
  parallel_for(static_cast<int64_t>(blocks_.size()), n_threads, [&](int64_t b, int) {
    const auto i = static_cast<size_t>(b);
    index_block(i, present[i], starts[i]);
  });
  for (size_t b = 0; b < blocks_.size(); ++b) {
    DocumentBlock& block = blocks_[b];
    block.first_word = static_cast<int64_t>(present_.size());
    block.first_task = static_cast<int64_t>(tasks_.size());
    int64_t work = kTaskEntries;
    for (size_t p = 0; p < present[b].size(); ++p) {
      const int64_t end = p + 1 < starts[b].size() ? starts[b][p + 1] : documents.indptr[block.end];
      if (work >= kTaskEntries) {
        tasks_.push_back(static_cast<int64_t>(present_.size() + p));
        work = 0;
      }
      work += end - starts[b][p] + 2;  // reading and writing a word's sums is as much as two entries
      longest_word_ = std::max(longest_word_, end - starts[b][p]);
    }
    present_.insert(present_.end(), present[b].begin(), present[b].end());
    starts_.insert(starts_.end(), starts[b].begin(), starts[b].end());
    block.last_word = static_cast<int64_t>(present_.size());
    block.last_task = static_cast<int64_t>(tasks_.size());
  }
  starts_.push_back(static_cast<int64_t>(entries));
}

// Sorts the entries of a block by word, then document.
void TopicCorpus::index_block(size_t b, std::vector<int32_t>& present, std::vector<int64_t>& starts) {
  const DocumentBlock& block = blocks_[b];
  const int64_t first = documents_.indptr[block.begin], last = documents_.indptr[block.end];
  std::vector<int64_t> next(static_cast<size_t>(documents_.n_cols) + 1, 0);
  for (int64_t e = first; e < last; ++e) ++next[static_cast<size_t>(documents_.indices[e]) + 1];
  for (size_t w = 0; w + 1 < next.size(); ++w) {
    if (next[w + 1] > 0) {
      present.push_back(static_cast<int32_t>(w));
      starts.push_back(first + next[w]);
    }
    next[w + 1] += next[w];
  }
  for (int64_t d = block.begin; d < block.end; ++d) {
    for (int64_t e = documents_.indptr[d]; e < documents_.indptr[d + 1]; ++e) {
      const int64_t at = first + next[static_cast<size_t>(documents_.indices[e])]++;
      rows_[at] = static_cast<uint16_t>(d - block.begin);
      places_[at] = static_cast<uint32_t>(e - first);
    }
  }
}

int64_t TopicCorpus::task_documents() const {
  constexpr int64_t kDocuments = 16;
  return (kDocuments + group_ - 1) / group_ * group_;
}

double TopicCorpus::sweep(TopicWords& words, double beta, double power, bool update, int n_threads, Isa isa,
                          const DocumentTask& task) {
  const simd::TopicTable& table = simd_table(isa).topics;
  const MatrixView<float> spare{sums_.get(), words.n_words(), words.n_topics(), stride_};
  const bool kept = power != 1 && !update;
  if (kept) words.copy_to(spare, n_threads);  // the table of sums is free
  if (power != 1) words.raise_to(power, n_threads);
  if (update) {
    parallel_for(block_count(documents_.n_cols, kWordChunk), n_threads, [&](int64_t chunk, int) {
      const Block mine = block_at(documents_.n_cols, kWordChunk, chunk);
      std::fill(sums_.get() + mine.begin * stride_, sums_.get() + mine.end * stride_, 0.0f);
    });
  }
  const int64_t grain = task_documents();
  for (const DocumentBlock& block : blocks_) {
    const int64_t first = documents_.indptr[block.begin];
    parallel_for(block_count(block.end - block.begin, grain), n_threads, [&](int64_t i, int worker) {
      const Block mine = block_at(block.end - block.begin, grain, i);
      task(block.begin + mine.begin, block.begin + mine.end, worker, used_.get() + mine.begin * stride_,
           ratios_.get() + documents_.indptr[block.begin + mine.begin] - first);
    });
    if (update) add_words(block, n_threads, table);
  }
  const double logs = update_words(words, beta, update, n_threads, table);
  if (kept) words.copy_from({spare.data, spare.rows, spare.cols, spare.stride}, n_threads);
  return logs;
}

// sums_w += sum over the block's documents of r theta_d
void TopicCorpus::add_words(const DocumentBlock& block, int n_threads, const simd::TopicTable& table) {
  parallel_for(block.last_task - block.first_task, n_threads, [&](int64_t i, int) {
    const auto task = static_cast<size_t>(block.first_task + i);
    const int64_t end = block.first_task + i + 1 < block.last_task ? tasks_[task + 1] : block.last_word;
    std::vector<float> coefficients(static_cast<size_t>(longest_word_));
    for (int64_t p = tasks_[task]; p < end; ++p) {
      const auto at = static_cast<size_t>(p);
      const int64_t begin = starts_[at], n = starts_[at + 1] - begin;
      for (int64_t e = 0; e < n; ++e) coefficients[e] = ratios_[places_[begin + e]];
      table.combine(used_.get(), stride_, rows_.get() + begin, coefficients.data(), n,
                    sums_.get() + present_[at] * stride_);
    }
  });
}

// phi = (beta - 1) + phi * sums, each topic of a view scaled to one. Returns the sum of log phi before.
double TopicCorpus::update_words(TopicWords& words, double beta, bool update, int n_threads,
                                 const simd::TopicTable& table) {
  struct Chunk {
    int64_t begin, end, view;
  };
  std::vector<Chunk> chunks;
  const auto n_views = static_cast<int64_t>(view_starts_.size()) - 1;
  for (int64_t v = 0; v < n_views; ++v) {
    const int64_t start = view_starts_[v], n = view_starts_[v + 1] - start;
    for (int64_t i = 0; i < block_count(n, kWordChunk); ++i) {
      const Block mine = block_at(n, kWordChunk, i);
      chunks.push_back({start + mine.begin, start + mine.end, v});
    }
  }
  const auto prior = static_cast<float>(beta - 1);
  const auto n_chunks = static_cast<int64_t>(chunks.size());
  std::vector<double> logs(chunks.size(), 0.0);
  std::vector<double> masses(update ? chunks.size() * static_cast<size_t>(stride_) : 0, 0.0);
  parallel_for(n_chunks, n_threads, [&](int64_t c, int) {
    for (int64_t w = chunks[c].begin; w < chunks[c].end; ++w) {
      if (beta > 1) logs[c] += table.sum_logs(words.row(w), n_topics_);
      if (!update) continue;
      float* sums = sums_.get() + w * stride_;
      table.expected(words.row(w), sums, prior, n_topics_, stride_, sums);
      double* mass = masses.data() + c * stride_;
      for (int64_t t = 0; t < n_topics_; ++t) mass[t] += static_cast<double>(sums[t]);
    }
  });
  double total = 0;
  for (const double each : logs) total += each;
  if (!update) return total;

  std::vector<double> scales(static_cast<size_t>(n_views * stride_), 0.0);
  for (int64_t c = 0; c < n_chunks; ++c) {
    double* scale = scales.data() + chunks[c].view * stride_;
    for (int64_t t = 0; t < n_topics_; ++t) scale[t] += masses[c * stride_ + t];
  }
  for (const double scale : scales) {
    if (!std::isfinite(scale)) total = std::numeric_limits<double>::quiet_NaN();
  }
  const auto factors = aligned_array<float>(scales.size());
  for (size_t i = 0; i < scales.size(); ++i)
    factors[i] = scales[i] >= kLeastMass ? static_cast<float>(1 / scales[i]) : 0;
  parallel_for(n_chunks, n_threads, [&](int64_t c, int) {
    const int64_t view = chunks[c].view, size = view_starts_[view + 1] - view_starts_[view];
    for (int64_t w = chunks[c].begin; w < chunks[c].end; ++w) {
      table.multiply(sums_.get() + w * stride_, factors.get() + view * stride_, stride_, words.row(w));
      for (int64_t t = 0; t < n_topics_; ++t) {
        // No token has the topic: any distribution is as likely.
        if (scales[view * stride_ + t] < kLeastMass) words.row(w)[t] = 1.0f / static_cast<float>(size);
      }
    }
  });
  return total;
}

}  // namespace semproj
