#pragma once
// The memory of a training: how much there may be, and what has been taken of it.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "lm/pages.h"

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

}  // namespace semproj::lm
