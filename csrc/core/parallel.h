#pragma once
// The one way work is spread over threads.
//
// The caller cuts the work into tasks that do not depend on the number of threads and that each write only
// what they own; threads take tasks in order. So the same bits come out for any number of threads.

#include <cstdint>
#include <exception>
#include <functional>

namespace semproj {

// Thrown by parallel_for on the calling thread when the interrupt check asked to stop.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

// Runs body(task, worker) for every task in [0, n_tasks), on the calling thread and up to n_threads - 1
// others. `worker` is in [0, n_threads): an index for scratch memory, never for results. Nested calls, and
// calls made while another thread is using the pool, run serially. The first exception thrown by a task is
// rethrown here after all running tasks have ended; tasks not yet started are dropped.
void parallel_for(int64_t n_tasks, int n_threads, const std::function<void(int64_t task, int worker)>& body);

// Called on the thread that called parallel_for, at most every 50 ms. Returning true stops the work.
using InterruptCheck = bool (*)();
void set_interrupt_check(InterruptCheck check);

// The next 50 ms of this thread begin now: what is over sooner is never asked about.
void restart_interrupt_clock();

// For work that may take longer than a moment without an end of a task: throws Interrupted if the work is to
// stop. Costs about as much as reading a clock: call it every ten microseconds of work, or every millisecond.
void check_interrupt();

// The same for loops of short steps, whose work is counted in about nanoseconds.
class Patience {
 public:
  void spend(int64_t work) {
    left_ -= work;
    if (left_ > 0) return;
    left_ = kWork;
    check_interrupt();
  }

 private:
  static constexpr int64_t kWork = 1 << 16;
  int64_t left_ = kWork;
};

// f(i) for each i, with check_interrupt between stretches: for loops that scatter into memory which nobody
// has touched yet. There a step may have to wait until the system has cleared a page, large ones for half a
// millisecond.
template <class F>
void in_stretches(int64_t begin, int64_t end, const F& f) {
  constexpr int64_t kStretch = 64;
  while (end - begin > kStretch) {
    for (const int64_t stop = begin + kStretch; begin < stop; ++begin) f(begin);
    check_interrupt();
  }
  for (; begin < end; ++begin) f(begin);
}

// All jobs, and those that begin later, end with Interrupted.
void stop_all_work();

// A contiguous piece [begin, end) of n items, cut into blocks of `grain`.
struct Block {
  int64_t begin;
  int64_t end;
};

inline int64_t block_count(int64_t n, int64_t grain) {
  return (n + grain - 1) / grain;
}

inline Block block_at(int64_t n, int64_t grain, int64_t i) {
  const int64_t begin = i * grain;
  return {begin, begin + grain < n ? begin + grain : n};
}

}  // namespace semproj
