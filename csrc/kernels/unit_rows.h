#pragma once
// Rows scaled to unit length.

#include "core/views.h"

namespace semproj {

// In place; zero rows stay zero, and rows that are not finite stay as they are. T is float or double.
template <class T>
void unit_rows(const MatrixView<T>& rows, int n_threads);

}  // namespace semproj
