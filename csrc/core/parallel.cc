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
constexpr auto kIdle = std::chrono::seconds(2);

std::atomic<InterruptCheck> interrupt_check{nullptr};
std::atomic<bool> everything_stops{false};

// One parallel_for in flight.
struct Job {
  int64_t n_tasks;
  const std::function<void(int64_t, int)>& body;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex{};
  std::exception_ptr error{};

  void fail(std::exception_ptr e) {
    const std::lock_guard lock(mutex);
    if (!error) error = std::move(e);
    stopped.store(true, std::memory_order_relaxed);
    next.store(n_tasks);
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

// What a thread is doing. Only the thread that called parallel_for may ask the interrupt check.
struct Here {
  Job* job = nullptr;
  bool is_helper = false;
  Clock::time_point asked{};
};
thread_local Here here;

// Asks the interrupt check, but not more often than it is worth: over all jobs of a call, which may be short.
bool interrupted() {
  if (everything_stops.load(std::memory_order_relaxed)) return true;
  const auto now = Clock::now();
  if (now - here.asked < kPollEvery) return false;
  here.asked = now;
  const InterruptCheck check = interrupt_check.load();
  return check != nullptr && check();
}

void stop_if_interrupted(Job& job) {
  if (interrupted()) job.fail(std::make_exception_ptr(Interrupted{}));
}

class Pool {
 public:
  void run(Job& job, int n_threads) {
    const int helpers = static_cast<int>(std::min<int64_t>(n_threads, job.n_tasks)) - 1;
    {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      job_ = &job;
      wanted_ = helpers;
      active_ = 0;
      ++generation_;
    }
    wake_.notify_all();

    while (job.run_one(0)) stop_if_interrupted(job);
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // A helper that has not started by now is not needed.
    while (!done_.wait_for(lock, kPollEvery, [&] { return active_ == 0; })) {
      lock.unlock();
      stop_if_interrupted(job);
      lock.lock();
    }
    job_ = nullptr;
  }

  std::mutex in_use;  // Held by the thread whose job the pool is running.

 private:
  // The system may refuse a thread. Those that are there do the work then, if only the caller.
  void grow(int helpers) {
    try {
      if (static_cast<int>(serving_.size()) <= helpers) serving_.resize(helpers + 1);
      for (int worker = 1; worker <= helpers; ++worker) {
        if (serving_[worker]) continue;
        std::thread([this, worker] { serve(worker); }).detach();
        serving_[worker] = true;
      }
    } catch (const std::exception&) {
    }
  }

  // Ends after a while without work: jobs that want fewer threads let the others go.
  void serve(int worker) {
    here.is_helper = true;
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (wake_.wait_for(lock, kIdle, [&] { return generation_ != seen && worker <= wanted_; })) {
      seen = generation_;
      Job& job = *job_;
      ++active_;
      lock.unlock();
      here.job = &job;
      while (job.run_one(worker)) {
      }
      here.job = nullptr;
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
    serving_[worker] = false;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* job_ = nullptr;
  int wanted_ = 0;
  int active_ = 0;
  std::vector<bool> serving_;  // by worker: whether there is a thread for it
  uint64_t generation_ = 0;
};

// The threads of a parent do not exist in a forked child, and its locks may be held by them: the child starts
// with a new pool. The old one is leaked on purpose, as are the idle threads at exit.
std::atomic<Pool*> current_pool{nullptr};

void forget_pool_after_fork() {
  current_pool.store(nullptr);
  here.job = nullptr;
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

}  // namespace

void set_interrupt_check(InterruptCheck check) {
  interrupt_check.store(check);
}

void restart_interrupt_clock() {
  here.asked = Clock::now();
}

void stop_all_work() {
  everything_stops.store(true);
}

void check_interrupt() {
  const bool stopped = here.job != nullptr && here.job->stopped.load(std::memory_order_relaxed);
  if (stopped || (!here.is_helper && interrupted())) throw Interrupted{};
}

void parallel_for(int64_t n_tasks, int n_threads, const std::function<void(int64_t, int)>& body) {
  if (n_tasks <= 0) return;
  if (here.job != nullptr) {
    for (int64_t task = 0; task < n_tasks; ++task) {
      body(task, 0);
      check_interrupt();
    }
    return;
  }
  Job job{.n_tasks = n_tasks, .body = body};
  here.job = &job;
  struct Leave {
    ~Leave() { here.job = nullptr; }
  } leave;
  std::unique_lock<std::mutex> lock;
  Pool* shared = n_threads > 1 && n_tasks > 1 ? &pool() : nullptr;
  if (shared != nullptr) lock = std::unique_lock(shared->in_use, std::try_to_lock);
  if (lock.owns_lock()) {
    shared->run(job, n_threads);
  } else {
    while (job.run_one(0)) stop_if_interrupted(job);
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace semproj
