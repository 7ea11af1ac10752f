#pragma once
// What EM sweeps of topic models share: the words of all topics, the documents indexed by word, and the two
// halves of a sweep.
//
// With theta (documents x T) and phi (words x T), a sweep over documents d and their words w with counts n is
//
//   s = theta_d . phi_w,  r = n / s
//   theta_dt ~ (alpha - 1) + theta_dt sum_w r phi_tw
//   phi_tw   ~ (beta - 1)  + phi_tw   sum_d r theta_dt
//
// The posterior p(t | d, w), which is theta_dt phi_tw / s, is never stored. Tempered by a power below 1, phi
// to this power stands for phi on the right sides, and in the likelihood and the prior that EM maximises.
//
// Documents come in blocks. In a block, first the documents are done, in parallel; they leave r and the theta
// that was used in a buffer. Then the words of the block, in parallel, in an index sorted by word. A word is
// written by one task and blocks come in order, so bits do not depend on threads; and a block's theta is
// still in the last-level cache when the words read it at random.
//
// Cost for each non-zero: 3 T multiply-adds, 4 T bytes of a row of phi (from the last-level cache, for
// frequent words) and 4 T of a row of the block's theta; for each word of a block 8 T bytes of its sums.
// Memory: two tables of words (4 T bytes a word each), theta, 6 bytes a non-zero for the index and 8 for the
// documents, and a block: kBlockBytes of theta and 4 bytes for each of its non-zeros.
//
// Precision: everything is stored in float32. Products are summed in float32 over up to 256 terms, in double
// over more, in a document or in a block; sums of words over blocks are float32, those that normalise a topic
// and likelihoods are double.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/aligned.h"
#include "core/cpu.h"
#include "core/parallel.h"
#include "core/views.h"
#include "kernels/simd/topics.h"

namespace semproj {

using simd::TokenSums;

// phi, word by word, in padded and aligned rows.
class TopicWords {
 public:
  TopicWords(const MatrixView<const float>& values, int n_threads);

  int64_t n_words() const { return n_words_; }
  int64_t n_topics() const { return n_topics_; }
  int64_t stride() const { return stride_; }
  const float* data() const { return data_.get(); }
  float* row(int64_t word) { return data_.get() + word * stride_; }
  void copy_to(const MatrixView<float>& out, int n_threads) const;
  void copy_from(const MatrixView<const float>& values, int n_threads);
  void raise_to(double power, int n_threads);

 private:
  int64_t n_words_, n_topics_, stride_;
  AlignedArray<float> data_;
};

// The posteriors of one document at a time.
class DocumentPass {
 public:
  DocumentPass(const TopicWords& words, Isa isa);

  // theta has `stride` elements. Sets ratios, and sums() to sum_w r phi_w; adds n phi_w^2 / s^2 to squares,
  // if there are any. `cached` says that rows of these words are in cache, see fits_cache.
  TokenSums run(const float* theta, const int32_t* words, const float* counts, int64_t n, float* ratios,
                bool cached = false, float* squares = nullptr);
  // Whether the rows of so many words stay in the second-level cache from one run to the next.
  bool fits_cache(int64_t n_words) const;
  const float* sums() const { return sums_.get(); }

  // theta = prior + theta * sums(), scaled to one: what EM makes of the last run. Uniform if all is zero.
  // False when it is not finite.
  bool update(float* theta, float prior) const;

  // Zeros, for a worker's own use.
  AlignedArray<float> new_row() const;

  const simd::TopicTable& table() const { return table_; }
  int64_t n_topics() const { return words_.n_topics(); }
  int64_t stride() const { return words_.stride(); }

 private:
  const TopicWords& words_;
  const simd::TopicTable& table_;
  AlignedArray<float> sums_;
  std::vector<double> wide_;
  Patience patience_;
};

// Documents and the same entries sorted by block and word; also the memory that sweeps need.
class TopicCorpus {
 public:
  // Documents [k * group, (k + 1) * group) are never parted. `view_starts` has the first word of each view
  // (whose words are one distribution) and n_words. The documents stay the caller's.
  TopicCorpus(const CsrView<int32_t, float>& documents, std::vector<int64_t> view_starts, int64_t n_topics,
              int64_t group, int n_threads);

  const CsrView<int32_t, float>& documents() const { return documents_; }
  int64_t n_topics() const { return n_topics_; }
  int64_t group() const { return group_; }

  // A task does documents [begin, end): it writes the theta that it used, `stride` apart, and the ratio of
  // each entry.
  using DocumentTask =
      std::function<void(int64_t begin, int64_t end, int worker, float* used, float* ratios)>;

  // One sweep: the documents by `task`, and new words. Returns the sum of log phi before it (0 for a beta of
  // 1), or NaN when the new words are not finite. Without `update` they stay as they are. The documents see
  // the words to the given power.
  double sweep(TopicWords& words, double beta, double power, bool update, int n_threads, Isa isa,
               const DocumentTask& task);

  // Documents of a task: a multiple of group().
  int64_t task_documents() const;

 private:
  struct DocumentBlock {
    int64_t begin, end;             // documents
    int64_t first_word, last_word;  // in present_
    int64_t first_task, last_task;  // in tasks_
  };

  void index_block(size_t block, std::vector<int32_t>& present, std::vector<int64_t>& starts);
  void add_words(const DocumentBlock& block, int n_threads, const simd::TopicTable& table);
  double update_words(TopicWords& words, double beta, bool update, int n_threads,
                      const simd::TopicTable& table);

  CsrView<int32_t, float> documents_;
  std::vector<int64_t> view_starts_;
  int64_t n_topics_, stride_, group_;
  std::vector<DocumentBlock> blocks_;
  std::vector<int32_t> present_;   // the words of each block
  std::vector<int64_t> starts_;    // where the entries of each begin
  std::vector<int64_t> tasks_;     // where tasks begin in present_, of about equal work
  AlignedArray<uint16_t> rows_;    // entries: document in its block
  AlignedArray<uint32_t> places_;  //          entry in the order of documents, from the block's first
  AlignedArray<float> used_, ratios_, sums_;
  int64_t longest_word_ = 0;  // entries of a word in a block
};

}  // namespace semproj
