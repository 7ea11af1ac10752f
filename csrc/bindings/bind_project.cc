#include <memory>

#include "bindings/csr_argument.h"
#include "bindings/weighting_argument.h"
#include "kernels/project.h"
#include "kernels/unit_rows.h"

namespace semproj::bindings {
namespace {

Storage parse_storage(const std::string& name) {
  if (name == "float64") return Storage::float64;
  if (name == "float32") return Storage::float32;
  if (name == "float16") return Storage::float16;
  if (name == "int8") return Storage::int8;
  throw py::value_error("storage: expected 'float64', 'float32', 'float16' or 'int8', got '" + name + "'");
}

const char* storage_name(Storage storage) {
  constexpr const char* kNames[] = {"float64", "float32", "float16", "int8"};
  return kNames[static_cast<int>(storage)];
}

std::unique_ptr<PackedProjection> pack(const py::array& matrix, const std::string& storage, int n_threads) {
  if (matrix.ndim() != 2) throw py::value_error("projection: expected a matrix");
  const auto build = [&]<class T>(const T* data) {
    const auto size = static_cast<py::ssize_t>(sizeof(T));
    if (matrix.strides(0) % size != 0 || matrix.strides(1) % size != 0) {
      throw py::value_error("projection: misaligned strides");
    }
    const Storage kind = parse_storage(storage);
    const int64_t rows = matrix.shape(0), cols = matrix.shape(1);
    const int64_t row_stride = matrix.strides(0) / size, col_stride = matrix.strides(1) / size;
    const ReleaseGil release;
    return std::make_unique<PackedProjection>(data, rows, cols, row_stride, col_stride, kind, n_threads);
  };
  if (has_dtype<double>(matrix)) return build(aligned_data<double>(matrix, "projection"));
  if (has_dtype<float>(matrix)) return build(aligned_data<float>(matrix, "projection"));
  throw py::type_error("projection: expected float32 or float64, got " +
                       std::string(py::str(matrix.dtype())));
}

template <class Out>
void run(const CsrArgument& x, const PackedProjection& projection, const py::array& out_array,
         const ProjectOptions& options) {
  const auto out = matrix_view<Out>(out_array, "out");
  x.visit([&](const auto& rows) {
    if (out.rows != rows.n_rows || out.cols != projection.n_components()) {
      throw py::value_error("out: expected shape (" + std::to_string(rows.n_rows) + ", " +
                            std::to_string(projection.n_components()) + ")");
    }
    const ReleaseGil release;
    project(rows, projection, out, options);
  });
}

void project_into(const CsrArgument& x, const PackedProjection& projection, const py::array& out,
                  const WeightingArgument* weighting, bool normalize, bool accumulate, int n_threads) {
  if (x.n_cols != projection.n_terms()) {
    throw py::value_error("X: has " + std::to_string(x.n_cols) + " columns, the projection has " +
                          std::to_string(projection.n_terms()) + " terms");
  }
  ProjectOptions options;
  if (weighting != nullptr) options.weighting = weighting->view(x.n_cols);
  options.normalize = normalize;
  options.accumulate = accumulate;
  options.n_threads = n_threads;
  options.isa = active_isa();
  if (projection.storage() == Storage::float64) {
    run<double>(x, projection, out, options);
  } else {
    run<float>(x, projection, out, options);
  }
}

template <class T>
void scale_rows(const py::array& array, int n_threads) {
  const auto rows = matrix_view<T>(array, "rows");
  const ReleaseGil release;
  unit_rows(rows, n_threads);
}

}  // namespace

void register_project(py::module_& m) {
  py::class_<PackedProjection>(m, "PackedProjection")
      .def(py::init(&pack), py::arg("matrix"), py::arg("storage"), py::arg("n_threads"))
      .def_property_readonly("n_terms", &PackedProjection::n_terms)
      .def_property_readonly("n_components", &PackedProjection::n_components)
      .def_property_readonly("nbytes", &PackedProjection::nbytes)
      .def_property_readonly("storage", [](const PackedProjection& p) { return storage_name(p.storage()); });
  m.def("project", &project_into, py::arg("x"), py::arg("projection"), py::arg("out"),
        py::arg("weighting").none(true), py::arg("normalize"), py::arg("accumulate"), py::arg("n_threads"));
  m.def("unit_rows", by_dtype(&scale_rows<float>, &scale_rows<double>), py::arg("rows"),
        py::arg("n_threads"));
}

}  // namespace semproj::bindings
