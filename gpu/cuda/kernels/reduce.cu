// Sums over rows and over whole matrices.
//
//   col_sum    part[b][j] = Σ_i m[i][j] over the rows of block b
//   add_parts  dst[i][j] = Σ_b part[b][i][j] + beta·dst[i][j]; with beta = 0, dst is not read
//   dot        part[b] = Σ x[i][j]·y[i][j] over the pieces of block b, in float64
//   sum64      dst[0] = scale·Σ_b part[b], in float64
//   dot_end    dst[0] = Σ_b part[b] + beta·dst[0], rounded once; with beta = 0, dst is not read
//
// The grids of col_sum and dot decide how sums are cut, so the host chooses them by shape.
#include "elementwise.cuh"

namespace {

// col_sum: block (t, b) adds columns 32t to 32t + 31 over rows [b·step, (b+1)·step); warp w takes every 8th row from w on.
template <class T> CAPGNN_FN void col_sum(i64 rows, int cols, const T* m, i64 ld, float* part, i64 step) {
  CAPGNN_SHARED(float, sums, CAPGNN_BLOCK);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const i64 j = (i64)blockIdx.x * 32 + lane;
  const i64 from = blockIdx.y * step, to = from + step < rows ? from + step : rows;
  float sum = 0.f;
  if (j < cols)
    for (i64 i = from + warp; i < to; i += CAPGNN_WARPS) sum += load1(m + i * ld + j);
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (warp > 0 || j >= cols) return;
  for (int w = 1; w < CAPGNN_WARPS; w++) sum += sums[32 * w + lane];
  part[(i64)blockIdx.y * cols + j] = sum;
}

template <class X, class Y>
CAPGNN_FN void dot(i64 rows, i64 cols, const X* x, i64 ldx, const Y* y, i64 ldy, double* part) {
  double sum = 0;
  each_unit(rows, cols, [&](i64 i, i64 from, i64 to) {
    for (i64 j = from + threadIdx.x % 32; j < to; j += 32)
      sum += (double)load1(x + i * ldx + j) * (double)load1(y + i * ldy + j);
  });
  sum = block_sum(sum);
  if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

// warp_sum64 adds part[0…n) with one warp: lane l takes every 32nd from l on.
CAPGNN_FN double warp_sum64(const double* part, int n) {
  double sum = 0;
  for (int b = threadIdx.x; b < n; b += 32) sum += part[b];
  return warp_sum(sum);
}

}  // namespace

extern "C" __global__ void capgnn_col_sum(i64 rows, int cols, const float* m, i64 ld, float* part, i64 step) {
  col_sum(rows, cols, m, ld, part, step);
}

extern "C" __global__ void capgnn_col_sum_b(i64 rows, int cols, const bf16* m, i64 ld, float* part, i64 step) {
  col_sum(rows, cols, m, ld, part, step);
}

// Block t adds elements 32t to 32t + 31 of the parts: warp w every 8th part from w on, then the warps in order. stride is the
// distance from one part to the next.
extern "C" __global__ void capgnn_add_parts(i64 rows, i64 cols, float* dst, i64 ld, const float* part, i64 stride, int count,
                                            float beta) {
  CAPGNN_SHARED(float, sums, CAPGNN_BLOCK);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const i64 e = (i64)blockIdx.x * 32 + lane;
  float sum = 0.f;
  if (e < rows * cols) {
#pragma unroll 4
    for (int b = warp; b < count; b += CAPGNN_WARPS) sum += part[b * stride + e];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (warp > 0 || e >= rows * cols) return;
  for (int w = 1; w < CAPGNN_WARPS; w++) sum += sums[32 * w + lane];
  float* d = dst + e / cols * ld + e % cols;
  *d = beta != 0.f ? fmaf(beta, *d, sum) : sum;
}

#define DOT(name, X, Y) \
  extern "C" __global__ void name(i64 rows, i64 cols, const X* x, i64 ldx, const Y* y, i64 ldy, double* part) { \
    dot(rows, cols, x, ldx, y, ldy, part); \
  } \
  CAPGNN_KERNEL(name)

DOT(capgnn_dot_ff, float, float)
DOT(capgnn_dot_fb, float, bf16)
DOT(capgnn_dot_bf, bf16, float)
DOT(capgnn_dot_bb, bf16, bf16)

// One warp.
extern "C" __global__ void capgnn_dot_end(float* dst, const double* part, int n, float beta) {
  double sum = warp_sum64(part, n);
  if (threadIdx.x > 0) return;
  if (beta != 0.f) sum += (double)beta * (double)dst[0];
  dst[0] = (float)sum;
}

// One warp.
extern "C" __global__ void capgnn_sum64(double* dst, const double* part, int n, double scale) {
  const double sum = warp_sum64(part, n);
  if (threadIdx.x == 0) dst[0] = scale * sum;
}

CAPGNN_KERNEL(capgnn_col_sum)
CAPGNN_KERNEL(capgnn_col_sum_b)
CAPGNN_KERNEL(capgnn_add_parts)
CAPGNN_KERNEL(capgnn_dot_end)
CAPGNN_KERNEL(capgnn_sum64)
