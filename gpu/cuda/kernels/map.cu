// A function of every element, perhaps times another: gpu.Map.
//
//   map  dst[i][j] = f(src[i][j])·by[i][j] + beta·dst[i][j]; with beta = 0, dst is not read; by may be null: 1
//
// An element (i, j) of a matrix lies at i·row + j·column; a step of 0 makes one row or column that of all.
#include "elementwise.cuh"
#include "functions.cuh"

extern "C" __global__ void capgnn_map(i64 rows, i64 cols, float* dst, i64 row, i64 column, const float* src, i64 src_row,
                                      i64 src_column, const float* by, i64 by_row, i64 by_column, int f, int derivative, float a,
                                      float b, float beta) {
  const int lane = threadIdx.x % 32;
  each_unit(rows, cols, [&](i64 i, i64 from, i64 to) {
    for (i64 j = from + lane; j < to; j += 32) {
      const float x = src[i * src_row + j * src_column];
      float y = derivative ? slope(f, a, b, x) : value(f, a, b, x);
      if (by) y *= by[i * by_row + j * by_column];
      float* d = dst + i * row + j * column;
      *d = beta != 0.f ? fmaf(beta, *d, y) : y;
    }
  });
}

CAPGNN_KERNEL(capgnn_map)
