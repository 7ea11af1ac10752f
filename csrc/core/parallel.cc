#include "core/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace semproj {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPollEvery = std::chrono::milliseconds(50);

std::atomic<InterruptCheck> interrupt_check{nullptr};
thread_local bool inside_parallel_for = false;

// One parallel_for in flight.
struct Job {
  int64_t n_tasks;
  const std::function<void(int64_t, int)>& body;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;

  void cancel() { next.store(n_tasks); }

  void fail(std::exception_ptr e) {
    const std::lock_guard lock(mutex);
    if (!error) error = std::move(e);
    cancel();
  }

  // Returns false when no task was left to take.
  bool run_one(int worker) {
    if (next.load(std::memory_order_relaxed) >= n_tasks) return false;
    const int64_t task = next.fetch_add(1);
    if (task >= n_tasks) return false;
    try {
      body(task, worker);
    } catch (...) {
      fail(std::current_exception());
    }
    return true;
  }
};

// Asks the interrupt check, but not more often than it is worth.
class Poller {
 public:
  bool interrupted() {
    const auto now = Clock::now();
    if (now - last_ < kPollEvery) return false;
    last_ = now;
    const InterruptCheck check = interrupt_check.load();
    return check != nullptr && check();
  }

 private:
  Clock::time_point last_ = Clock::now();
};

class Pool {
 public:
  void run(Job& job, int n_threads) {
    const int helpers = static_cast<int>(std::min<int64_t>(n_threads, job.n_tasks)) - 1;
    grow(helpers);
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      wanted_ = helpers;
      active_ = 0;
      ++generation_;
    }
    wake_.notify_all();

    Poller poller;
    while (job.run_one(0)) {
      if (poller.interrupted()) job.fail(std::make_exception_ptr(Interrupted{}));
    }
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // A helper that has not started by now is not needed.
    while (!done_.wait_for(lock, kPollEvery, [&] { return active_ == 0; })) {
      lock.unlock();
      if (poller.interrupted()) job.fail(std::make_exception_ptr(Interrupted{}));
      lock.lock();
    }
    job_ = nullptr;
  }

  std::mutex in_use;  // Held by the thread whose job the pool is running.

 private:
  void grow(int helpers) {
    while (n_helpers_ < helpers) {
      ++n_helpers_;
      std::thread([this, worker = n_helpers_] { serve(worker); }).detach();
    }
  }

  void serve(int worker) {
    inside_parallel_for = true;
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return generation_ != seen && worker <= wanted_; });
      seen = generation_;
      Job& job = *job_;
      ++active_;
      lock.unlock();
      while (job.run_one(worker)) {
      }
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* job_ = nullptr;
  int wanted_ = 0;
  int active_ = 0;
  int n_helpers_ = 0;
  uint64_t generation_ = 0;
};

// The threads of a parent do not exist in a forked child, and its locks may be held by them: the child starts
// with a new pool. The old one is leaked on purpose, as are the idle threads at exit.
std::atomic<Pool*> current_pool{nullptr};

void forget_pool_after_fork() {
  current_pool.store(nullptr);
  inside_parallel_for = false;
}

Pool& pool() {
  if (Pool* existing = current_pool.load()) return *existing;
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool_after_fork);
  (void)registered;
  Pool* fresh = new Pool;
  Pool* expected = nullptr;
  if (current_pool.compare_exchange_strong(expected, fresh)) return *fresh;
  delete fresh;
  return *expected;
}

void run_serially(Job& job) {
  Poller poller;
  while (job.run_one(0)) {
    if (poller.interrupted()) job.fail(std::make_exception_ptr(Interrupted{}));
  }
}

}  // namespace

void set_interrupt_check(InterruptCheck check) {
  interrupt_check.store(check);
}

void parallel_for(int64_t n_tasks, int n_threads, const std::function<void(int64_t, int)>& body) {
  if (n_tasks <= 0) return;
  if (inside_parallel_for) {
    for (int64_t task = 0; task < n_tasks; ++task) body(task, 0);
    return;
  }
  Job job{n_tasks, body, {0}, {}, {}};
  inside_parallel_for = true;
  struct Leave {
    ~Leave() { inside_parallel_for = false; }
  } leave;
  if (n_threads <= 1 || n_tasks == 1) {
    run_serially(job);
  } else {
    Pool& shared = pool();
    std::unique_lock lock(shared.in_use, std::try_to_lock);
    if (lock.owns_lock()) {
      shared.run(job, n_threads);
    } else {
      run_serially(job);
    }
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace semproj
