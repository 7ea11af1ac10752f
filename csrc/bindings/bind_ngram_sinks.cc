#include <pybind11/stl.h>

#include <system_error>

#include "bindings/bindings.h"
#include "lm/ngram_arrays.h"
#include "lm/ngram_text.h"

namespace semproj::bindings {
namespace {

using namespace semproj::lm;

// Full disks and the like, as Python has them.
void translate(std::exception_ptr p) {
  try {
    if (p) std::rethrow_exception(p);
  } catch (const std::system_error& e) {
    const py::object error = py::reinterpret_steal<py::object>(
        PyObject_CallFunction(PyExc_OSError, "is", e.code().value(), e.what()));
    if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

// The arrays of an order leave the sink.
py::tuple take_order(NGramArrays& arrays, size_t order) {
  if (order < 1 || order > arrays.orders().size()) throw py::value_error("order: expected one of the model");
  auto& found = arrays.orders()[order - 1];
  const auto n = static_cast<py::ssize_t>(found.log_probs.size());
  auto words = array_of(std::move(found.words)).reshape({n, static_cast<py::ssize_t>(order)});
  return py::make_tuple(words, array_of(std::move(found.log_probs)), array_of(std::move(found.log_backoffs)));
}

}  // namespace

void register_ngram_sinks(py::module_& m) {
  py::register_local_exception_translator(&translate);
  py::register_exception<CorpusError>(m, "CorpusError", PyExc_ValueError);
  py::class_<NGramSink>(m, "NGramSink");
  py::class_<NGramArrays, NGramSink>(m, "NGramArrays")
      .def(py::init<>())
      .def("order", &take_order, py::arg("order"));
}

}  // namespace semproj::bindings
