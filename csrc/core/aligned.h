#pragma once
// Memory for tables that are read at random: aligned to cache lines, on huge pages where they are worth it.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace semproj {

struct FreeAligned {
  void operator()(void* p) const { std::free(p); }
};

template <class T>
using AlignedArray = std::unique_ptr<T[], FreeAligned>;

// Uninitialised. Above 4 MB the kernel is asked for 2 MB pages: one TLB entry then covers 32,768 lines.
template <class T>
AlignedArray<T> aligned_array(size_t count) {
  constexpr size_t kLine = 64, kHugePage = size_t{1} << 21;
  const size_t bytes = count * sizeof(T);
  const size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kLine;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (p == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage) madvise(p, rounded, MADV_HUGEPAGE);
#endif
  return AlignedArray<T>(static_cast<T*>(p));
}

template <class T>
AlignedArray<T> aligned_zeros(size_t count) {
  auto zeros = aligned_array<T>(count);
  std::fill_n(zeros.get(), count, T{});
  return zeros;
}

}  // namespace semproj
