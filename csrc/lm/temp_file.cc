#include "lm/temp_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

constexpr int64_t kPiece = 1 << 20;

}  // namespace

TempFile::TempFile(const std::string& folder) : folder_(folder) {
#ifdef O_TMPFILE
  handle_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (handle_ >= 0) return;
#endif
  // File systems that cannot: with a name for a moment.
  std::string name = folder + "/semproj-XXXXXX";
  handle_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (handle_ < 0) fail("cannot make a temporary file", errno);
  ::unlink(name.c_str());
}

TempFile::~TempFile() {
  if (handle_ >= 0) ::close(handle_);
}

void TempFile::append(const void* data, int64_t n_bytes) {
  const char* p = static_cast<const char*>(data);
  while (n_bytes > 0) {
    const ssize_t written = ::pwrite(handle_, p, std::min(n_bytes, kPiece), size_);
    if (written < 0 && errno == EINTR) {
      check_interrupt();
      continue;
    }
    if (written <= 0) fail("cannot write temporary data", written < 0 ? errno : ENOSPC);
    p += written, n_bytes -= written, size_ += written;
    check_interrupt();
  }
}

void TempFile::read(int64_t offset, void* data, int64_t n_bytes) const {
  char* p = static_cast<char*>(data);
  while (n_bytes > 0) {
    const ssize_t n = ::pread(handle_, p, std::min(n_bytes, kPiece), offset);
    if (n < 0 && errno == EINTR) {
      check_interrupt();
      continue;
    }
    if (n <= 0) fail("cannot read temporary data back", n < 0 ? errno : EIO);
    p += n, n_bytes -= n, offset += n;
    check_interrupt();
  }
}

void TempFile::fail(const char* what, int error) const {
  throw std::system_error(error, std::generic_category(),
                          "temp_dir: " + std::string(what) + " in '" + folder_ + "'");
}

}  // namespace semproj::lm
