#pragma once
// Shared by the binding files, the only code that includes pybind11. A binding checks what memory safety
// needs (dtype, contiguity, shape, writability), makes views, releases the GIL and calls one kernel. What has
// several parts crosses as a class with named attributes, not as a tuple.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/gil.h"
#include "core/cpu.h"
#include "core/views.h"

namespace semproj::bindings {

namespace py = pybind11;

// The variant all kernels of this process use; chosen at import from SEMPROJ_ISA.
Isa active_isa();

template <class T>
bool has_dtype(const py::array& a) {
  return py::isinstance<py::array_t<T>>(a);
}

// One function for two precisions: `wide` if its first argument is of float64, otherwise `narrow`, which
// refuses what is not float32.
template <class Result, class... Rest>
auto by_dtype(Result (*narrow)(const py::array&, Rest...), Result (*wide)(const py::array&, Rest...)) {
  return [=](const py::array& first, Rest... rest) -> Result {
    return (has_dtype<double>(first) ? wide : narrow)(first, std::forward<Rest>(rest)...);
  };
}

// The elements, at an address that T may have: NumPy lets arrays begin at any byte.
template <class T>
const T* aligned_data(const py::array& a, const char* name) {
  if (a.size() > 0 && reinterpret_cast<uintptr_t>(a.data()) % alignof(T) != 0) {
    throw py::value_error(std::string(name) + ": misaligned memory");
  }
  return static_cast<const T*>(a.data());
}

// A one-dimensional C-contiguous array of exactly this dtype, or a TypeError that names the argument.
template <class T>
const T* vector_data(const py::array& a, int64_t size, const char* name) {
  if (!has_dtype<T>(a)) {
    throw py::type_error(std::string(name) + ": unexpected dtype " + std::string(py::str(a.dtype())));
  }
  if (a.ndim() != 1 || a.shape(0) != size ||
      (size > 1 && a.strides(0) != static_cast<py::ssize_t>(sizeof(T)))) {
    throw py::value_error(std::string(name) + ": expected a contiguous vector of length " +
                          std::to_string(size));
  }
  return aligned_data<T>(a, name);
}

// The same, to be written to.
template <class T>
T* output_data(const py::array& a, int64_t size, const char* name) {
  const T* data = vector_data<T>(a, size, name);
  if (!a.writeable()) throw py::value_error(std::string(name) + ": is read-only");
  return const_cast<T*>(data);
}

// A matrix with contiguous rows; writable unless T is const.
template <class T>
MatrixView<T> matrix_view(const py::array& a, const char* name) {
  if (!has_dtype<std::remove_const_t<T>>(a)) {
    throw py::type_error(std::string(name) + ": unexpected dtype " + std::string(py::str(a.dtype())));
  }
  const auto size = static_cast<py::ssize_t>(sizeof(T));
  const bool strided =
      a.ndim() == 2 && a.size() > 0 && ((a.shape(1) > 1 && a.strides(1) != size) || a.strides(0) % size != 0);
  if (a.ndim() != 2 || strided) {
    throw py::value_error(std::string(name) + ": expected a matrix with contiguous rows");
  }
  if (!std::is_const_v<T> && !a.writeable()) throw py::value_error(std::string(name) + ": is read-only");
  // To a single row NumPy may give any stride; BLAS takes none that is shorter than a row.
  const int64_t stride = a.shape(0) > 1 ? a.strides(0) / size : a.shape(1);
  return {const_cast<T*>(aligned_data<T>(a, name)), a.shape(0), a.shape(1), stride};
}

// Offsets of parts that follow each other.
template <class T>
bool rise_from_zero(const T* offsets, int64_t n) {
  return n > 0 && offsets[0] == 0 && std::is_sorted(offsets, offsets + n);
}

// Whether all ids are in [0, limit). Without a branch, so that it is done in wide registers.
template <class Id>
bool all_in_range(const Id* ids, int64_t n, int64_t limit) {
  Id least = 0, most = -1;
  for (int64_t i = 0; i < n; ++i) {
    least = std::min(least, ids[i]);
    most = std::max(most, ids[i]);
  }
  return least >= 0 && static_cast<int64_t>(most) < limit;
}

// Takes the memory along.
template <class T>
py::array_t<T> array_of(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const py::capsule owner(kept, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array_t<T>(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
}

void register_alignment(py::module_& m);
void register_bptf(py::module_& m);
void register_bptf_graph(py::module_& m);
void register_config(py::module_& m);
void register_cplsa(py::module_& m);
void register_csr(py::module_& m);
void register_index(py::module_& m);
void register_ngram(py::module_& m);
void register_ngram_model(py::module_& m);
void register_ngram_sinks(py::module_& m);
void register_ngram_states(py::module_& m);
void register_ngram_tables(py::module_& m);
void register_modelm(py::module_& m);
void register_modelm_score(py::module_& m);
void register_plsa(py::module_& m);
void register_products(py::module_& m);
void register_project(py::module_& m);
void register_retrieve(py::module_& m);
void register_rnnlm(py::module_& m);
void register_rowsolve(py::module_& m);
void register_s2net(py::module_& m);
void register_spgemm(py::module_& m);
void register_sparse_topk(py::module_& m);
void register_symmetric(py::module_& m);
void register_tall(py::module_& m);
void register_text(py::module_& m);
void register_text_reading(py::module_& m);
void register_windows(py::module_& m);
void register_tucker(py::module_& m);
void register_weight(py::module_& m);
void register_word_classes(py::module_& m);
void register_wordbyword(py::module_& m);

}  // namespace semproj::bindings
