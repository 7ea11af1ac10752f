#pragma once
// Large memory from the system: of zeros, in huge pages where there are any, or a file without a name.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace semproj::lm {

class Pages {
 public:
  Pages() = default;
  // Throws std::bad_alloc.
  explicit Pages(size_t bytes);
  // The first bytes of an open file, to be read only.
  Pages(int file, size_t bytes);
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages();

  size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace semproj::lm
