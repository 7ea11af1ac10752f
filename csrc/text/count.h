#pragma once
// Documents to rows of term counts.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/ngrams.h"
#include "text/rows.h"
#include "text/tokenize.h"
#include "text/vocabulary.h"

namespace semproj::text {

struct CountOptions {
  int ngram_max = 1;
  bool lowercase = false;
  bool replace_errors = false;
  int n_threads = 1;
  bool nfc = false;  // whoever adds texts composes them before
};

// Counts documents batch after batch, either learning the vocabulary or with a given one. After an exception
// the object is of no more use.
class CountSession {
 public:
  // Without a vocabulary, learns one; the rows are kept only if asked.
  CountSession(const CountOptions& options, std::shared_ptr<const Vocabulary> vocabulary, bool keep_rows);
  ~CountSession();

  // `first_number` is what messages call the first of these documents.
  void add(std::span<const DocumentRef> documents, int64_t first_number);

  // Ends the learning: makes the vocabulary and gives the kept rows their columns.
  void choose(const Selection& selection);

  const CountOptions& options() const { return options_; }
  int64_t n_documents() const { return n_documents_; }
  int64_t n_words() const { return n_words_; }
  int64_t n_entries() const;  // of the rows, with the vocabulary's columns
  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  const std::vector<int64_t>& term_counts() const { return term_counts_; }  // by column, when learnt

  // Arrays of n_documents + 1, n_entries and n_entries. Gives the rows away: may be called once.
  void write_rows(int64_t* indptr, int32_t* indices, int32_t* data);

 private:
  struct Worker;

  Worker& worker(int index);
  void count_block(std::span<const DocumentRef> documents, int64_t first, Worker& worker, RowBlock* block);
  void merge_tables();
  void apply_columns();

  CountOptions options_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  bool learning_;
  bool keep_rows_;
  int64_t n_documents_ = 0;
  int64_t n_words_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<RowBlock> blocks_;
  std::vector<int64_t> term_counts_;
};

}  // namespace semproj::text
