#pragma once
// Arithmetic around a user's proximal map of the dual variables of a pair (models/cplsa_prox.h).
//
// Rows of doubles have n elements, a multiple of kDualLanes; rows of floats at least as many.

#include <cstdint>

namespace semproj::simd {

constexpr int64_t kDualLanes = 8;

struct DualGains {
  double sum, largest;
};

struct DualTable {
  // Where a step by d leads from `from`, how long it is, d / (f1 - f2) or its limit for equal fractions, and
  // f1 - f2, all in double. Fractions below 1e-20 count as that.
  void (*prepare)(const float* from, const float* d, const float* f1, const float* f2, const float* scales,
                  int64_t n, double* at, double* duals, double* steps, double* slacks);
  // out = x + factor y
  void (*along)(const double* x, const double* y, double factor, int64_t n, double* out);
  // The sum of weights (x - y).
  double (*weighted)(const double* weights, const double* x, const double* y, int64_t n);
  // The sum of (x - y)^2 / divisors.
  double (*squares)(const double* x, const double* y, const double* divisors, int64_t n);
  // With r = factor (moved - start): the sum of r (x - y), and the largest |r|.
  DualGains (*gains)(const double* moved, const double* start, double factor, const double* x,
                     const double* y, int64_t n);
};

}  // namespace semproj::simd
