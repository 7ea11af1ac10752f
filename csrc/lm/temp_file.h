#pragma once
// A temporary file without a name: it is gone when it is closed, however the process ends.

#include <cstdint>
#include <string>

namespace semproj::lm {

class TempFile {
 public:
  // In this folder. Throws std::system_error, as the others, with what could not be done.
  explicit TempFile(const std::string& folder);
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  int64_t size() const { return size_; }
  int handle() const { return handle_; }  // to be mapped

  // Writes at the end. Pieces of 1 MB, so that an interrupt need not wait.
  void append(const void* data, int64_t n_bytes);

  // Safe from several threads while nobody writes.
  void read(int64_t offset, void* data, int64_t n_bytes) const;

 private:
  [[noreturn]] void fail(const char* what, int error) const;

  std::string folder_;
  int handle_ = -1;
  int64_t size_ = 0;
};

}  // namespace semproj::lm
