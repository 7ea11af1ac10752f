#pragma once
// Shared by the binding files, the only code that includes pybind11. A binding checks what memory safety
// needs (dtype, contiguity, shape, writability), makes views, releases the GIL and calls one kernel.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

#include "core/cpu.h"
#include "core/views.h"

namespace semproj::bindings {

namespace py = pybind11;

// The variant all kernels of this process use; chosen at import from SEMPROJ_ISA.
Isa active_isa();

// A one-dimensional C-contiguous array of exactly this dtype, or a TypeError that names the argument.
template <class T>
const T* vector_data(const py::array& a, int64_t size, const char* name) {
  if (!py::isinstance<py::array_t<T>>(a)) {
    throw py::type_error(std::string(name) + ": unexpected dtype " + std::string(py::str(a.dtype())));
  }
  if (a.ndim() != 1 || a.shape(0) != size ||
      (size > 1 && a.strides(0) != static_cast<py::ssize_t>(sizeof(T)))) {
    throw py::value_error(std::string(name) + ": expected a contiguous vector of length " +
                          std::to_string(size));
  }
  return static_cast<const T*>(a.data());
}

// A matrix with contiguous rows; writable unless T is const.
template <class T>
MatrixView<T> matrix_view(const py::array& a, const char* name) {
  using Element = std::remove_const_t<T>;
  if (!py::isinstance<py::array_t<Element>>(a)) {
    throw py::type_error(std::string(name) + ": unexpected dtype " + std::string(py::str(a.dtype())));
  }
  const auto size = static_cast<py::ssize_t>(sizeof(T));
  const bool strided =
      a.ndim() == 2 && a.size() > 0 && ((a.shape(1) > 1 && a.strides(1) != size) || a.strides(0) % size != 0);
  if (a.ndim() != 2 || strided) {
    throw py::value_error(std::string(name) + ": expected a matrix with contiguous rows");
  }
  if (!std::is_const_v<T> && !a.writeable()) throw py::value_error(std::string(name) + ": is read-only");
  return {const_cast<T*>(static_cast<const T*>(a.data())), a.shape(0), a.shape(1), a.strides(0) / size};
}

void register_alignment(py::module_& m);
void register_bptf(py::module_& m);
void register_config(py::module_& m);
void register_cplsa(py::module_& m);
void register_plsa(py::module_& m);
void register_project(py::module_& m);
void register_symmetric(py::module_& m);
void register_retrieve(py::module_& m);
void register_rowsolve(py::module_& m);
void register_spgemm(py::module_& m);
void register_tall(py::module_& m);
void register_text(py::module_& m);
void register_weight(py::module_& m);
void register_tucker(py::module_& m);
void register_wordbyword(py::module_& m);

}  // namespace semproj::bindings
