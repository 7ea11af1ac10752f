#include "bindings/gil.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/parallel.h"

namespace semproj::bindings {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatienceAtExit = 1s;

std::atomic<int> threads_in_kernels{0};
std::atomic<bool> process_ends{false};
thread_local PyThreadState* released = nullptr;

bool interpreter_is_gone() {
#if PY_VERSION_HEX >= 0x030D0000
  return process_ends || Py_IsFinalizing() != 0;
#else
  return process_ends || _Py_IsFinalizing() != 0;
#endif
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

[[noreturn]] void never_return_from_kernel() {
  --threads_in_kernels;
  sleep_for_ever();
}

// Shutdown may begin while we wait for the GIL: then the unwinding of pthread_exit arrives here, and must not
// get any further. Nothing else can be thrown.
void take_gil_back() {
  if (interpreter_is_gone()) never_return_from_kernel();
  try {
    PyEval_RestoreThread(released);
  } catch (...) {
    never_return_from_kernel();
  }
}

void wait_for_kernels() {
  process_ends = true;
  stop_all_work();
  const auto deadline = std::chrono::steady_clock::now() + kPatienceAtExit;
  while (threads_in_kernels > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
}

}  // namespace

ReleaseGil::ReleaseGil() {
  restart_interrupt_clock();
  ++threads_in_kernels;
  released = PyEval_SaveThread();
}

ReleaseGil::~ReleaseGil() {
  take_gil_back();
  released = nullptr;
  --threads_in_kernels;
}

PyObject* next_item(PyObject* iterator) {
  try {
    return PyIter_Next(iterator);
  } catch (...) {
    sleep_for_ever();
  }
}

bool python_signal_arrived() {
  if (released == nullptr || interpreter_is_gone()) return interpreter_is_gone();
  take_gil_back();
  const bool raised = PyErr_CheckSignals() != 0;
  PyEval_SaveThread();
  return raised;
}

void stop_kernels_at_exit() {
  pthread_atfork(nullptr, nullptr, [] { threads_in_kernels = 0; });  // the others are not in the child
  Py_AtExit(&wait_for_kernels);
}

}  // namespace semproj::bindings
