#include "text/term_hash.h"

#include <atomic>
#include <chrono>
#include <random>

#include "core/philox.h"

namespace semproj::text {
namespace {

uint64_t draw_secret() {
  try {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  } catch (const std::exception&) {  // no such device: the time is better than nothing
    return static_cast<uint64_t>(std::chrono::high_resolution_clock::now().time_since_epoch().count());
  }
}

}  // namespace

HashSeed fresh_seed() {
  static const uint64_t secret = draw_secret();
  static std::atomic<uint64_t> n_drawn{0};
  const uint64_t i = n_drawn.fetch_add(1, std::memory_order_relaxed);
  const Philox4 r = philox(secret, {static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0});
  constexpr uint64_t kHighest = uint64_t{1} << 63;
  return {(uint64_t{r[0]} << 32 | r[1]) | kHighest, (uint64_t{r[2]} << 32 | r[3]) | kHighest};
}

}  // namespace semproj::text
