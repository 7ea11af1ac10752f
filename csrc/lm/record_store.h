#pragma once
// Records in memory as long as there is room, then in a temporary file: lists in the order they are made, and
// what reads them back, a window at a time. Whoever reads need not know where they are.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "lm/pages.h"
#include "lm/temp_file.h"

namespace semproj::lm {

// How many bytes training may have, and where what is too much goes.
class Workspace {
 public:
  Workspace(int64_t memory, std::string temp_folder) : memory_(memory), folder_(std::move(temp_folder)) {}

  // For one copy of what is sorted, or two of a part of it; for the buffers of one reader; for what one step
  // takes at a time. What remains is for the words, and for what steps and readers share.
  int64_t for_sorting() const { return memory_ / 4; }
  int64_t for_reading() const { return std::max<int64_t>(memory_ / 32, 1 << 14); }
  int64_t for_step() const { return std::clamp<int64_t>(memory_ / 64, 1 << 14, kStep); }
  const std::string& folder() const { return folder_; }

  // Of what is kept from one step to the next: a quarter of all, or half of much.
  bool take(int64_t n_bytes) {
    if (kept_ + n_bytes > std::max(memory_ / 4, memory_ / 2 - kMuch)) return false;
    kept_ += n_bytes;
    return true;
  }
  void give_back(int64_t n_bytes) { kept_ -= n_bytes; }

 private:
  static constexpr int64_t kStep = int64_t{1} << 27, kMuch = int64_t{1} << 27;
  int64_t memory_, kept_ = 0;
  std::string folder_;
};

// Memory for records, uninitialised. From the system, not from the heap: it goes back when it is no longer
// needed.
template <class Record>
class Records {
 public:
  Records() = default;
  explicit Records(int64_t n) : pages_(static_cast<size_t>(std::max<int64_t>(n, 1)) * sizeof(Record)) {}

  Record* get() const { return pages_.as<Record>(); }
  Record& operator[](int64_t i) const { return get()[i]; }
  bool empty() const { return get() == nullptr; }
  void reset() { *this = Records(); }

 private:
  Pages pages_;
};

// Memory that has been taken.
class Taken {
 public:
  Taken() = default;
  Taken(Workspace* workspace, int64_t n_bytes) : workspace_(workspace), n_bytes_(n_bytes) {}
  Taken(Taken&& other) noexcept { *this = std::move(other); }
  Taken& operator=(Taken&& other) noexcept {
    if (this != &other) {
      give_back();
      workspace_ = std::exchange(other.workspace_, nullptr);
      n_bytes_ = other.n_bytes_;
    }
    return *this;
  }
  ~Taken() { give_back(); }

 private:
  void give_back() {
    if (workspace_ != nullptr) workspace_->give_back(n_bytes_);
  }
  Workspace* workspace_ = nullptr;
  int64_t n_bytes_ = 0;
};

// What a window is filled from.
template <class Record>
class Source {
 public:
  virtual ~Source() = default;

  // All records, if they lie in memory one after another.
  virtual std::optional<std::span<const Record>> all() const { return std::nullopt; }

  // Otherwise: copies up to n of those that follow, and returns how many; 0 at the end.
  virtual int64_t read(Record* to, int64_t n) = 0;
};

// The records of a source, from those that have not been consumed on.
template <class Record>
class Window {
 public:
  Window(std::unique_ptr<Source<Record>> source, int64_t step_bytes)
      : source_(std::move(source)),
        step_(std::max<int64_t>(64, step_bytes / static_cast<int64_t>(sizeof(Record)))) {
    if (const auto all = source_->all()) {
      seen_ = *all;
      is_complete_ = true;
    }
  }

  std::span<const Record> seen() const { return seen_; }

  // Sees more; false at the end.
  bool extend() {
    if (is_complete_) return false;
    const auto kept = static_cast<int64_t>(seen_.size());
    if (kept > 0 && seen_.data() != buffer_.get()) {
      std::copy(seen_.begin(), seen_.end(), buffer_.get());
    }
    if (kept + step_ > capacity_) {
      const int64_t capacity = std::max(kept + step_, 2 * kept);
      Records<Record> larger(capacity);
      std::copy_n(buffer_.get(), kept, larger.get());
      buffer_ = std::move(larger);
      capacity_ = capacity;
    }
    const int64_t n = source_->read(buffer_.get() + kept, step_);
    is_complete_ = n == 0;
    seen_ = {buffer_.get(), static_cast<size_t>(kept + n)};
    return n > 0;
  }

  void consume(int64_t n) { seen_ = seen_.subspan(static_cast<size_t>(n)); }

  // The next records, at most n, but as many more as belong to the last one's group. Empty at the end.
  template <class SameGroup>
  std::span<const Record> next(int64_t n, const SameGroup& same_group) {
    while (static_cast<int64_t>(seen_.size()) <= n && extend()) {
    }
    int64_t end = std::min<int64_t>(n, seen_.size());
    if (end == 0) return {};
    for (;; ++end) {
      if (end == static_cast<int64_t>(seen_.size()) && !extend()) break;
      if (!same_group(seen_[end - 1], seen_[end])) break;
    }
    return seen_.first(static_cast<size_t>(end));
  }

  // Those whose key is not above this one.
  template <class Key>
  std::span<const Record> up_to(const Key& key) {
    while ((seen_.empty() || !(key < seen_.back().key)) && extend()) {
    }
    const auto above = std::upper_bound(seen_.begin(), seen_.end(), key,
                                        [](const Key& k, const Record& r) { return k < r.key; });
    return seen_.first(static_cast<size_t>(above - seen_.begin()));
  }

 private:
  std::unique_ptr<Source<Record>> source_;
  int64_t step_, capacity_ = 0;
  bool is_complete_ = false;
  Records<Record> buffer_;
  std::span<const Record> seen_;
};

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
