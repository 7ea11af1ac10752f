#include "bindings/csr_argument.h"

namespace semproj::bindings {
namespace {

bool rise(const py::array& offsets) {
  if (has_dtype<int32_t>(offsets)) {
    return rise_from_zero(vector_data<int32_t>(offsets, offsets.size(), "offsets"), offsets.size());
  }
  return rise_from_zero(vector_data<int64_t>(offsets, offsets.size(), "offsets"), offsets.size());
}

}  // namespace

void register_csr(py::module_& m) {
  py::class_<CsrArgument>(m, "Csr")
      .def(py::init<py::array, py::array, py::array, int64_t>(), py::arg("indptr"), py::arg("indices"),
           py::arg("data"), py::arg("n_cols"))
      .def_readonly("indptr", &CsrArgument::indptr)
      .def_readonly("indices", &CsrArgument::indices)
      .def_readonly("data", &CsrArgument::data)
      .def_readonly("n_cols", &CsrArgument::n_cols);
  m.def("rise_from_zero", &rise, py::arg("offsets"));
}

}  // namespace semproj::bindings
