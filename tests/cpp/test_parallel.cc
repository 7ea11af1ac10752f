#include "core/parallel.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

using namespace semproj;
using namespace std::chrono_literals;

namespace {

// How often each task ran.
std::vector<int> run(int64_t n_tasks, int n_threads) {
  std::vector<std::atomic<int>> count(n_tasks);
  std::atomic<bool> worker_in_range{true};
  parallel_for(n_tasks, n_threads, [&](int64_t task, int worker) {
    if (worker < 0 || worker >= n_threads) worker_in_range = false;
    ++count[task];
  });
  CHECK(worker_in_range);
  return {count.begin(), count.end()};
}

bool all_once(int64_t n_tasks, int n_threads) {
  for (const int c : run(n_tasks, n_threads)) {
    if (c != 1) return false;
  }
  return true;
}

int64_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

}  // namespace

TEST(every_task_runs_once) {
  for (const int n_threads : {1, 2, 5, 16}) {
    for (const int64_t n_tasks : {0, 1, 2, 3, 17, 1000}) CHECK(all_once(n_tasks, n_threads));
  }
}

TEST(pool_can_be_used_many_times) {
  for (int i = 0; i < 3000; ++i) CHECK(all_once(7, 1 + i % 6));
}

TEST(workers_have_scratch_of_their_own) {
  constexpr int kThreads = 4;
  std::atomic<int> inside[kThreads] = {};
  std::atomic<bool> shared{false};
  parallel_for(200, kThreads, [&](int64_t, int worker) {
    if (++inside[worker] != 1) shared = true;
    std::this_thread::sleep_for(100us);
    --inside[worker];
  });
  CHECK(!shared);
}

TEST(threads_really_run_at_once) {
  // Each task waits for the other: one thread alone would never end, so give up after a while.
  std::atomic<int> arrived{0};
  parallel_for(2, 2, [&](int64_t, int) {
    ++arrived;
    for (int i = 0; i < 5000 && arrived < 2; ++i) std::this_thread::sleep_for(1ms);
    CHECK_EQUAL(arrived.load(), 2);
  });
}

TEST(first_exception_arrives_and_the_rest_is_dropped) {
  for (const int n_threads : {1, 3}) {
    std::atomic<int> ran{0};
    CHECK_THROWS(std::runtime_error, "task 5", parallel_for(100000, n_threads, [&](int64_t task, int) {
                   ++ran;
                   if (task == 5) throw std::runtime_error("task 5");
                   std::this_thread::sleep_for(10us);
                 }));
    CHECK(ran < 100000);
    CHECK(all_once(50, n_threads));  // the pool is whole afterwards
  }
}

TEST(nested_calls_run_serially) {
  std::atomic<int> total{0};
  std::atomic<bool> other_thread{false};
  parallel_for(8, 3, [&](int64_t, int) {
    const auto me = std::this_thread::get_id();
    parallel_for(10, 3, [&](int64_t, int worker) {
      if (std::this_thread::get_id() != me || worker != 0) other_thread = true;
      ++total;
    });
  });
  CHECK_EQUAL(total.load(), 80);
  CHECK(!other_thread);
}

TEST(nested_exception_arrives) {
  CHECK_THROWS(std::runtime_error, "inner", parallel_for(4, 2, [](int64_t, int) {
                 parallel_for(4, 2, [](int64_t, int) { throw std::runtime_error("inner"); });
               }));
  CHECK(all_once(20, 2));
}

TEST(several_threads_may_call_at_once) {
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        std::atomic<int64_t> sum{0};
        parallel_for(100, 3, [&](int64_t task, int) { sum += task; });
        if (sum == 4950) ++good;
      }
    });
  }
  for (auto& c : callers) c.join();
  CHECK_EQUAL(good.load(), 800);
}

TEST(interrupt_stops_the_work_soon) {
  static std::thread::id asked_on;
  static std::atomic<int> asked;
  for (const int n_threads : {1, 2}) {
    asked = 0;
    set_interrupt_check([] {
      asked_on = std::this_thread::get_id();
      return ++asked >= 2;
    });
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS(Interrupted, "interrupted",
                 parallel_for(100000, n_threads, [](int64_t, int) { std::this_thread::sleep_for(1ms); }));
    CHECK(std::chrono::steady_clock::now() - start < 1s);
    CHECK(asked_on == std::this_thread::get_id());
    CHECK_EQUAL(asked.load(), 2);
    set_interrupt_check(nullptr);
    CHECK(all_once(50, n_threads));
  }
}

TEST(interrupt_while_only_a_helper_works) {
  // The caller has nothing left to do and waits; it must still ask.
  static std::atomic<bool> asked;
  asked = false;
  set_interrupt_check([] { return asked.exchange(true), false; });
  const auto caller = std::this_thread::get_id();
  parallel_for(2, 2, [&](int64_t, int) {
    if (std::this_thread::get_id() != caller)
      std::this_thread::sleep_for(300ms);
    else
      std::this_thread::sleep_for(20ms);
  });
  set_interrupt_check(nullptr);
  CHECK(asked);
}

TEST(a_long_task_is_interrupted_from_inside) {
  static std::atomic<int> asked;
  for (const int n_threads : {1, 2}) {
    asked = 0;
    set_interrupt_check([] { return ++asked >= 2; });
    std::atomic<int> ended{0};
    CHECK_THROWS(Interrupted, "interrupted", parallel_for(2, n_threads, [&](int64_t, int) {
                   for (int i = 0; i < 20000; ++i) {
                     std::this_thread::sleep_for(100us);
                     check_interrupt();
                   }
                   ++ended;
                 }));
    CHECK_EQUAL(ended.load(), 0);
    CHECK_EQUAL(asked.load(), 2);  // and never by a helper
    set_interrupt_check(nullptr);
    CHECK(all_once(50, n_threads));
  }
}

TEST(short_jobs_one_after_the_other_are_interrupted) {
  static std::atomic<int> asked;
  asked = 0;
  set_interrupt_check([] { return ++asked >= 2; });
  restart_interrupt_clock();
  CHECK_THROWS(
      Interrupted, "interrupted", for (int i = 0; i < 2000; ++i) {
        parallel_for(2, 2, [](int64_t, int) { std::this_thread::sleep_for(1ms); });
      });
  set_interrupt_check(nullptr);
}

TEST(an_error_ends_the_long_tasks_beside_it) {
  std::atomic<int> ended{0};
  CHECK_THROWS(std::runtime_error, "task 1", parallel_for(2, 2, [&](int64_t task, int) {
                 if (task == 1) throw std::runtime_error("task 1");
                 for (int i = 0; i < 20000; ++i) {
                   std::this_thread::sleep_for(100us);
                   check_interrupt();
                 }
                 ++ended;
               }));
  CHECK_EQUAL(ended.load(), 0);
}

TEST(idle_threads_end) {
  CHECK(all_once(1000, 12));
  const int64_t many = threads_of_this_process();
  CHECK(many >= 12);
  // Two threads are still asked for, over and over: those are not idle.
  for (int i = 0; i < 8000 && threads_of_this_process() > many - 10; ++i) {
    parallel_for(2, 2, [](int64_t, int) { std::this_thread::sleep_for(1ms); });
  }
  CHECK(threads_of_this_process() <= many - 10);
  CHECK(all_once(1000, 12));
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // which need memory of their own

TEST(threads_that_the_system_refuses_are_not_waited_for) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const rlimit none{1 << 20, 1 << 20};  // bytes of address space: less than there is already
    if (setrlimit(RLIMIT_AS, &none) != 0) _exit(2);
    _exit(all_once(100, 5) && all_once(100, 3) ? 0 : 1);
  }
  int status = 0;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif

#ifndef __SANITIZE_THREAD__  // which cannot start threads in a forked child

TEST(forked_child_has_a_pool_of_its_own) {
  CHECK(all_once(100, 3));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that waits for its parent's threads must not wait for ever
    std::atomic<int> arrived{0};
    parallel_for(2, 2, [&](int64_t, int) {
      ++arrived;
      for (int i = 0; i < 5000 && arrived < 2; ++i) std::this_thread::sleep_for(1ms);
    });
    _exit(arrived == 2 && all_once(100, 3) ? 0 : 1);
  }
  int status = 0;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(all_once(100, 3));
}

TEST(fork_while_the_pool_is_busy) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) parallel_for(20, 3, [](int64_t, int) { std::this_thread::sleep_for(50us); });
  });
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      std::atomic<int64_t> sum{0};
      parallel_for(100, 3, [&](int64_t task, int) { sum += task; });
      _exit(sum == 4950 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
}

#endif

TEST(blocks_cover_everything_once) {
  for (const int64_t n : {0, 1, 99, 100, 101}) {
    int64_t at = 0;
    for (int64_t i = 0; i < block_count(n, 10); ++i) {
      const Block b = block_at(n, 10, i);
      CHECK_EQUAL(b.begin, at);
      CHECK(b.end > b.begin && b.end - b.begin <= 10);
      at = b.end;
    }
    CHECK_EQUAL(at, n);
  }
}
