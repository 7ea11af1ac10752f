#pragma once
// Vectors of one number for each topic, in double, as Newton's method and descents of a pair have them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace semproj {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t t = 0; t < a.size(); ++t) sum += a[t] * b[t];
  return sum;
}

inline double largest(const std::vector<double>& a) {
  double most = 0;
  for (const double x : a) most = std::max(most, std::abs(x));
  return most;
}

}  // namespace semproj
