// The machine's own limits, for benchmarks.machine: what a kernel could reach at best.
//
//   probe_copy   bytes read + written per second by memcpy between arrays far larger than the caches
//   probe_cache  bytes per second of sequential full-width loads from a buffer that stays in a core's L2
//   probe_fma    float32 operations per second, two for each fused multiply-add, from independent registers
//
// Each returns the best of `rounds`: a limit is what the machine can do when nothing disturbs it.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr std::size_t kWidth = 64;
#elif defined(__AVX__)
constexpr std::size_t kWidth = 32;
#else
constexpr std::size_t kWidth = 16;
#endif

typedef float Floats __attribute__((vector_size(kWidth)));
typedef std::int32_t Ints __attribute__((vector_size(kWidth)));

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs body(thread) on all threads at once, `rounds` times; the shortest time from the first start to the last
// end. Threads meet before each round by spinning: waking a sleeping thread would be part of the time.
template <typename Body>
double best_seconds(int n_threads, int rounds, Body body) {
  std::atomic<int> arrived{0}, finished{0};
  double best = 1e300;
  auto work = [&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      arrived.fetch_add(1);
      while (arrived.load() < (round + 1) * n_threads) std::this_thread::yield();
      const auto start = Clock::now();
      body(thread);
      finished.fetch_add(1);
      while (finished.load() < (round + 1) * n_threads) std::this_thread::yield();
      if (thread == 0) {
        const double took = seconds_since(start);
        if (took < best) best = took;
      }
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < n_threads; ++t) others.emplace_back(work, t);
  work(0);
  for (auto& other : others) other.join();
  return best;
}

struct Buffer {
  explicit Buffer(std::size_t size)
      : data(static_cast<char*>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096))) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data); }
  char* data;
};

// The compiler must believe that the value is used, and that memory may have changed.
template <typename Value>
void keep(const Value& value) {
  asm volatile("" : : "m"(value) : "memory");
}

}  // namespace

extern "C" {

int probe_vector_bytes() { return static_cast<int>(kWidth); }

double probe_copy(std::size_t bytes_per_thread, int n_threads, int rounds) {
  std::vector<char*> from(n_threads, nullptr), to(n_threads, nullptr);
  std::atomic<bool> failed{false};
  // One round more than asked: in the first each thread touches its own pages.
  const double best = best_seconds(n_threads, rounds + 1, [&](int thread) {
    if (from[thread] == nullptr) {
      from[thread] = static_cast<char*>(std::aligned_alloc(4096, bytes_per_thread));
      to[thread] = static_cast<char*>(std::aligned_alloc(4096, bytes_per_thread));
      if (from[thread] == nullptr || to[thread] == nullptr) {
        failed = true;
        return;
      }
      std::memset(from[thread], 1, bytes_per_thread);
      std::memset(to[thread], 2, bytes_per_thread);
    } else if (!failed) {
      std::memcpy(to[thread], from[thread], bytes_per_thread);
      keep(*to[thread]);
    }
  });
  for (int t = 0; t < n_threads; ++t) {
    std::free(from[t]);
    std::free(to[t]);
  }
  return failed ? 0.0 : 2.0 * static_cast<double>(bytes_per_thread) * n_threads / best;
}

double probe_cache(std::size_t bytes_per_thread, int n_threads, int rounds) {
  constexpr int kRegisters = 8;
  const std::size_t step = kRegisters * kWidth;
  const std::size_t size = bytes_per_thread / step * step;
  const int passes = static_cast<int>((std::size_t{256} << 20) / (size + 1)) + 1;
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int t = 0; t < n_threads; ++t) {
    buffers.push_back(std::make_unique<Buffer>(size));
    if (buffers.back()->data == nullptr) return 0.0;
    std::memset(buffers.back()->data, 1, size);
  }
  const double best = best_seconds(n_threads, rounds, [&](int thread) {
    const char* data = buffers[thread]->data;
    Ints sum[kRegisters] = {};
    for (int pass = 0; pass < passes; ++pass) {
      for (std::size_t at = 0; at < size; at += step) {
#pragma GCC unroll 8
        for (int r = 0; r < kRegisters; ++r) sum[r] += *reinterpret_cast<const Ints*>(data + at + r * kWidth);
      }
      asm volatile("" : : : "memory");
    }
    for (const Ints& part : sum) keep(part);
  });
  return static_cast<double>(size) * passes * n_threads / best;
}

double probe_fma(int n_threads, int rounds, float factor, float addend) {
  // Enough independent sums to hide the latency (two units x four to five cycles), few enough for 16 registers.
  constexpr int kSums = 12;
  constexpr std::int64_t kSteps = 4'000'000;
  const double best = best_seconds(n_threads, rounds, [&](int) {
    Floats sum[kSums], times = {}, plus = {};
    times += factor;
    plus += addend;
    for (int s = 0; s < kSums; ++s) sum[s] = plus + static_cast<float>(s);
    for (std::int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
      for (int s = 0; s < kSums; ++s) sum[s] = sum[s] * times + plus;
    }
    for (const Floats& part : sum) keep(part);
  });
  const double lanes = kWidth / sizeof(float);
  return 2.0 * lanes * kSums * static_cast<double>(kSteps) * n_threads / best;
}
}
