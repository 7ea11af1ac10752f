#include <cstdlib>
#include <vector>

#include "bindings/bindings.h"
#include "core/blas.h"
#include "core/parallel.h"

namespace semproj::bindings {
namespace {

void translate(std::exception_ptr p) {
  try {
    if (p) std::rethrow_exception(p);
  } catch (const Interrupted&) {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

std::string requested_isa() {
  const char* value = std::getenv("SEMPROJ_ISA");
  return value == nullptr ? "" : value;
}

// `capsules` maps a BLAS or LAPACK name to the capsule that scipy exports for it.
void use_blas(const py::dict& capsules) {
  const auto pointer = [&](const char* name) {
    const auto capsule = capsules[name].cast<py::capsule>();
    return capsule.get_pointer<void>();
  };
  const auto functions = [&]<class T>(BlasFunctions<T> f, const std::string& prefix) {
    f.gemm = reinterpret_cast<decltype(f.gemm)>(pointer((prefix + "gemm").c_str()));
    f.syrk = reinterpret_cast<decltype(f.syrk)>(pointer((prefix + "syrk").c_str()));
    f.trsm = reinterpret_cast<decltype(f.trsm)>(pointer((prefix + "trsm").c_str()));
    f.potrf = reinterpret_cast<decltype(f.potrf)>(pointer((prefix + "potrf").c_str()));
    return f;
  };
  set_blas({functions(BlasFunctions<float>{}, "s"), functions(BlasFunctions<double>{}, "d")});
}

}  // namespace

Isa active_isa() {
  static const Isa chosen = choose_isa(requested_isa());
  return chosen;
}

void register_config(py::module_& m) {
  py::register_exception_translator(&translate);
  set_interrupt_check(&python_signal_arrived);
  stop_kernels_at_exit();
  active_isa();  // an impossible SEMPROJ_ISA is an error at import, not in the middle of the work

  m.attr("__version__") = SEMPROJ_VERSION;
  m.def("active_isa", [] { return name_of(active_isa()); });
  m.def("supported_isas", [] {
    py::list names;
    for (const Isa isa : supported_isas()) names.append(name_of(isa));
    return names;
  });
  m.def("compiler", [] { return std::string(__VERSION__); });
  m.def("use_blas", &use_blas, py::arg("capsules"));
  m.def("has_blas", &has_blas);
}

}  // namespace semproj::bindings
