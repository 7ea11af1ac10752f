#pragma once
// What the bindings of retrieval share.

#include <string>

#include "bindings/bindings.h"
#include "kernels/retrieve.h"

namespace semproj::bindings {

// Of each query, best first.
struct TopK {
  py::array_t<int64_t> indices;
  py::array_t<float> scores;
};

inline Metric parse_metric(const std::string& name) {
  if (name == "cosine") return Metric::cosine;
  if (name == "inner_product") return Metric::inner_product;
  if (name == "l1") return Metric::l1;
  if (name == "jensen_shannon") return Metric::jensen_shannon;
  throw py::value_error("metric: expected 'cosine', 'inner_product', 'l1' or 'jensen_shannon', got '" + name +
                        "'");
}

inline RetrieveOptions options_of(const std::string& metric, int n_threads) {
  return {parse_metric(metric), n_threads, active_isa()};
}

}  // namespace semproj::bindings
