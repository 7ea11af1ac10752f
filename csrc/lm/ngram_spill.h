#pragma once
// Makes the tables of a model that does not fit into memory: the same bytes as ngram_builder.h.
//
// N-grams wait in a file for each order. To find their contexts, an order's n-grams go through the tables
// below it, one after the other: they are divided by the part of the table in which their first k words are,
// parts are read one at a time, and what is found leads to the part of the next table. The last one is the
// table that is made: a part at a time is filled, in the order in which n-grams came. Tables are files
// without a name, and mapped when all are done. Costs k - 1 writes and reads of each n-gram of order k, none
// of them at random.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lm/ngram_builder.h"
#include "lm/temp_file.h"

namespace semproj::lm {

class RowFile;

class NGramSpill {
 public:
  NGramSpill(int64_t memory, std::string folder, std::span<const int64_t> counts_by_order);
  ~NGramSpill();

  void add(int order, int64_t n, const uint32_t* words, const float* log_prob, const float* log_backoff);
  BuiltModel end();

 private:
  // An n-gram on its way: the slot of its first words, and what comes after them.
  struct Row {
    int64_t slot, index;
    float log_prob, backoff;
    uint32_t words[kMaxOrder];  // in reading order
  };
  using Parts = std::vector<std::unique_ptr<RowFile>>;

  int max_order() const { return static_cast<int>(counts_.size()); }
  int64_t part_bytes() const;
  bool build_order(int order, int failures);
  Parts parts_for(int order) const;
  int64_t lines_of_part(int order) const;
  void route(const Row& row, int table, Parts* parts) const;
  void resolve(int table, Parts* from, Parts* to);
  bool fill(int order, Parts* parts);
  void mark_leaves(int order);

  int64_t memory_;
  std::string folder_;
  std::vector<int64_t> counts_;
  std::vector<float> unigrams_;
  std::vector<std::unique_ptr<RowFile>> given_;    // by order, from 2 up
  std::vector<std::unique_ptr<TempFile>> tables_;  // the same
  std::vector<GramLayout> layouts_;                // the same
  std::vector<uint64_t> goes_on_;                  // slots of the order below from which an n-gram goes on
};

}  // namespace semproj::lm
