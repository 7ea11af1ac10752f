#pragma once
// What a network with a hidden layer and a softmax does element by element, compiled once per instruction
// set.

#include <cstdint>

namespace semproj::simd {

enum class Neuron { sigmoid, tanh, relu };

template <class T>
struct NeuronTable {
  // x = f(x). Exponents are cut at 80, where f has no more digits to gain.
  void (*activate)(Neuron kind, T* x, int64_t n);
  // Of units whose outputs are y: d, the gradient by y, becomes that by what went in, cut to [-limit, limit].
  void (*through)(Neuron kind, T* d, const T* y, int64_t n, T limit);
  // Returns log of the share exp(x[target]) has of all n. x becomes the gradient of minus that: its shares,
  // less 1 at the target.
  double (*softmax)(T* x, int64_t n, int64_t target);
  // The same, and x stays.
  double (*log_share)(const T* x, int64_t n, int64_t target);
  // x += y
  void (*add)(T* x, const T* y, int64_t n);
  // One step of Adagrad: sums += g^2, w -= rate g / sqrt(sums). Where sums are 0, so is the step.
  void (*adagrad)(T* w, const T* g, T* sums, int64_t n, T rate);
  // The same with one sum for the row: that of the mean of g^2.
  void (*adagrad_row)(T* w, const T* g, T* sum, int64_t n, T rate);
};

}  // namespace semproj::simd
