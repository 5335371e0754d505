// Loops over all elements of matrices, for kernels in which each element is made from its peers in other matrices.
#pragma once
#include "device.cuh"

// Columns of a row that a warp does in one go.
#define CAPGNN_SEGMENT 1024

// each_unit calls f(row, from, to) for every piece of at most CAPGNN_SEGMENT columns of a rows×cols matrix, once per warp of
// the grid that gets it: warp w of n gets pieces w, w + n, ….
template <class F> CAPGNN_FN void each_unit(i64 rows, i64 cols, F f) {
  const i64 segments = (cols + CAPGNN_SEGMENT - 1) / CAPGNN_SEGMENT;
  for (i64 unit = thread_id() / 32; unit < rows * segments; unit += thread_count() / 32) {
    const i64 row = segments == 1 ? unit : unit / segments;
    const i64 from = (unit - row * segments) * CAPGNN_SEGMENT;
    f(row, from, from + CAPGNN_SEGMENT < cols ? from + CAPGNN_SEGMENT : cols);
  }
}

// elementwise calls f.run<V>(row, column) for all elements, V = 4 neighbouring ones at a time if four is true, else V = 1.
template <class F> CAPGNN_FN void elementwise(i64 rows, i64 cols, bool four, const F& f) {
  const int lane = threadIdx.x % 32;
  each_unit(rows, cols, [&](i64 row, i64 from, i64 to) {
    if (!four) {
      for (i64 j = from + lane; j < to; j += 32) f.template run<1>(row, j);
      return;
    }
    for (i64 j = from + 4 * lane; j < to; j += 128) {
      if (j + 4 <= to) {
        f.template run<4>(row, j);
      } else {
        for (i64 k = j; k < to; k++) f.template run<1>(row, k);
      }
    }
  });
}

// put stores V elements.
template <int V, class T> CAPGNN_FN void put(T* p, const float* v) {
  if (V == 4) {
    store4(p, v);
  } else {
    store1(p, v[0]);
  }
}
