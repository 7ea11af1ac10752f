#pragma once
// Records in memory as long as there is room, then in a temporary file: lists in the order they are made, and
// what reads them back. Whoever reads need not know where they are.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lm/record_window.h"
#include "lm/temp_file.h"

namespace semproj::lm {

// A list that grows at its end.
template <class Record>
class RecordList {
 public:
  explicit RecordList(Workspace* workspace) : workspace_(workspace) {}

  int64_t size() const { return size_; }

  // Room for n records behind the last; then say how many of them there are.
  Record* reserve(int64_t n) {
    if (pieces_.empty() || pieces_.back().is_written() || pieces_.back().size + n > pieces_.back().capacity) {
      constexpr int64_t kSpare = 16;
      pieces_.push_back({.records = Records<Record>(n + kSpare), .capacity = n + kSpare});
    }
    return pieces_.back().records.get() + pieces_.back().size;
  }
  void commit(int64_t n) {
    Piece& piece = pieces_.back();
    piece.size += n;
    size_ += n;
    if (piece.is_taken) return;
    const auto n_bytes = piece.capacity * static_cast<int64_t>(sizeof(Record));
    if (workspace_->take(n_bytes)) {
      piece.taken = Taken(workspace_, n_bytes);
      piece.is_taken = true;
      return;
    }
    if (!file_) file_ = std::make_shared<TempFile>(workspace_->folder());
    piece.offset = file_->size();
    file_->append(piece.records.get(), piece.size * static_cast<int64_t>(sizeof(Record)));
    piece.records.reset();
  }

  // As long as the list lives and does not change.
  std::unique_ptr<Source<Record>> source() const { return std::make_unique<Reader>(this); }

 private:
  struct Piece {
    Records<Record> records;
    int64_t capacity = 0, size = 0, offset = 0;
    Taken taken{};
    bool is_taken = false;

    bool is_written() const { return records.empty(); }
  };

  class Reader : public Source<Record> {
   public:
    explicit Reader(const RecordList* list) : list_(list) {}

    std::optional<std::span<const Record>> all() const override {
      if (list_->pieces_.empty()) return std::span<const Record>();
      const Piece& only = list_->pieces_[0];
      if (list_->pieces_.size() > 1 || only.is_written()) return std::nullopt;
      return std::span<const Record>(only.records.get(), static_cast<size_t>(only.size));
    }

    int64_t read(Record* to, int64_t n) override {
      int64_t done = 0;
      while (done < n && piece_ < list_->pieces_.size()) {
        const Piece& piece = list_->pieces_[piece_];
        const int64_t some = std::min(n - done, piece.size - at_);
        if (piece.is_written()) {
          constexpr auto kSize = static_cast<int64_t>(sizeof(Record));
          list_->file_->read(piece.offset + at_ * kSize, to + done, some * kSize);
        } else {
          std::copy_n(piece.records.get() + at_, some, to + done);
        }
        done += some, at_ += some;
        if (at_ == piece.size) ++piece_, at_ = 0;
      }
      return done;
    }

   private:
    const RecordList* list_;
    size_t piece_ = 0;
    int64_t at_ = 0;
  };

  Workspace* workspace_;
  std::vector<Piece> pieces_;
  std::shared_ptr<TempFile> file_;
  int64_t size_ = 0;
};

}  // namespace semproj::lm
