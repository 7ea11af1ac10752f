#pragma once
// Sentences of a document and of its translation, matched by their lengths (after Gale and Church 1993).

#include <cstdint>
#include <span>
#include <vector>

namespace semproj {

// Sentences [source_begin, source_end) of one side say what [target_begin, target_end) of the other say;
// one of the two ranges may be empty.
struct Bead {
  int32_t source_begin, source_end;
  int32_t target_begin, target_end;
  float score;  // minus half the squared difference of the lengths in standard deviations; skips: log(skip)
};

struct BeadModel {
  double ratio = 1;       // characters of the target for each of the source
  double variance = 6.8;  // of the target's length, for each character
  double skip = 0.01;     // prior probability that a sentence has no counterpart
  int64_t band = 64;      // half the first width of the band around the diagonal
};

// The best path from (0, 0) to (n, m). A side with one sentence makes one bead with all of the other.
std::vector<Bead> align_lengths(std::span<const int32_t> source, std::span<const int32_t> target,
                                const BeadModel& model);

// Lengths of the sentences of many documents, document d having [starts[d], starts[d + 1]).
struct SentenceLengths {
  std::span<const int64_t> starts;
  const int32_t* lengths;

  std::span<const int32_t> document(int64_t d) const {
    return {lengths + starts[d], static_cast<size_t>(starts[d + 1] - starts[d])};
  }
};

// The beads of every document, with the same result for any number of threads.
std::vector<std::vector<Bead>> align_documents(const SentenceLengths& source, const SentenceLengths& target,
                                               const BeadModel& model, int n_threads);

}  // namespace semproj
