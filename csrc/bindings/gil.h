#pragma once
// The GIL is released around kernels, and taken back so that a thread survives the end of the interpreter.
//
// Once Python shuts down, a thread that asks for the GIL is ended by pthread_exit (up to 3.13), which unwinds
// its stack: through destructors, where that is std::terminate. Such threads (daemons, and those that an
// interrupt left behind) sleep here instead until the process is gone, as they do in Python 3.14.

#include <pybind11/pybind11.h>

namespace semproj::bindings {

// In every binding instead of pybind11::gil_scoped_release.
class ReleaseGil {
 public:
  ReleaseGil();
  ~ReleaseGil();
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;
};

// PyIter_Next, which may run Python code: a thread may be ended inside of that, too.
PyObject* next_item(PyObject* iterator);

// Whether a signal handler raised: asked by parallel_for on a thread that released the GIL. The Python error
// stays set. Also true when the interpreter shuts down: there is no one left to work for.
bool python_signal_arrived();

// At exit, kernels that still run are told to stop, and waited for, before libraries they use (BLAS) shut
// down.
void stop_kernels_at_exit();

}  // namespace semproj::bindings
