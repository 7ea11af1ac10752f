#include "lm/pages.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace semproj::lm {

Pages::Pages(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw std::bad_alloc();
  }
#ifdef MADV_HUGEPAGE
  constexpr size_t kWorthIt = 4 << 20;
  if (bytes >= kWorthIt) madvise(data_, bytes, MADV_HUGEPAGE);  // look-ups then miss less often in the TLB
#endif
}

Pages::Pages(int file, size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw std::system_error(errno, std::generic_category(), "a temporary file cannot be mapped");
  }
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace semproj::lm
