// Attention: what runs over the rows of dense matrices.
//
//   gat_scores           s[i][h] = Σ_c a_src[hC+c]·t[i][hC+c];  d likewise with a_dst, unless d is null
//   gat_scores_backward  dt[i][hC+c] += a_src[hC+c]·ds[i][h] + a_dst[hC+c]·dd[i][h]
//                        part[b][hC+c] = Σ_i ds[i][h]·t[i][hC+c] over the rows of block b, and behind these heads·C sums the
//                        same with dd; add_parts adds them. dd may be null: its sums are then not written
//   head_mean            dst[i][c] = Σ_h src[i][hC+c]/heads + bias[c]
//   head_mean_backward   dst[i][hC+c] = src[i][c]/heads
//   edge_drop            writes what _drop kernels read of their settings
#include "elementwise.cuh"
#include "gat.cuh"

extern "C" __global__ void capgnn_gat_scores(i64 rows, int heads, int channels, const float* t, i64 ldt, const float* a_src,
                                             const float* a_dst, float* s, i64 lds, float* d, i64 ldd) {
  const int lane = threadIdx.x % 32;
  for (i64 i = thread_id() / 32; i < rows; i += thread_count() / 32) {
    for (int h = 0; h < heads; h++) {
      const float* row = t + i * ldt + h * channels;
      float x = 0.f, y = 0.f;
      for (int c = lane; c < channels; c += 32) {
        x = fmaf(a_src[h * channels + c], row[c], x);
        if (d) y = fmaf(a_dst[h * channels + c], row[c], y);
      }
      x = warp_sum(x);
      if (lane == 0) s[i * lds + h] = x;
      if (!d) continue;
      y = warp_sum(y);
      if (lane == 0) d[i * ldd + h] = y;
    }
  }
}

// Block (t, b) does columns 32t to 32t + 31 of rows [b·step, (b+1)·step); warp w takes every 8th row from w on.
extern "C" __global__ void capgnn_gat_scores_backward(i64 rows, int cols, int channels, const float* t, i64 ldt, float* dt,
                                                      i64 lddt, const float* ds, i64 ldds, const float* dd, i64 lddd,
                                                      const float* a_src, const float* a_dst, float* part, i64 step) {
  CAPGNN_SHARED(float, sums, 2 * CAPGNN_BLOCK);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, j = blockIdx.x * 32 + lane;
  const i64 from = blockIdx.y * step, to = from + step < rows ? from + step : rows;
  float src = 0.f, dst = 0.f;
  if (j < cols) {
    const int h = j / channels;
    for (i64 i = from + warp; i < to; i += CAPGNN_WARPS) {
      const float x = t[i * ldt + j], gs = ds[i * ldds + h], gd = dd ? dd[i * lddd + h] : 0.f;
      float grad = fmaf(a_src[j], gs, dt[i * lddt + j]);
      if (dd) grad = fmaf(a_dst[j], gd, grad);
      dt[i * lddt + j] = grad;
      src = fmaf(gs, x, src);
      dst = fmaf(gd, x, dst);
    }
  }
  sums[threadIdx.x] = src;
  sums[CAPGNN_BLOCK + threadIdx.x] = dst;
  __syncthreads();
  if (warp > 0 || j >= cols) return;
  for (int w = 1; w < CAPGNN_WARPS; w++) {
    src += sums[32 * w + lane];
    dst += sums[CAPGNN_BLOCK + 32 * w + lane];
  }
  part[(i64)blockIdx.y * 2 * cols + j] = src;
  if (dd) part[(i64)blockIdx.y * 2 * cols + cols + j] = dst;
}

extern "C" __global__ void capgnn_head_mean(i64 rows, int channels, int heads, float* dst, i64 ldd, const float* src, i64 lds,
                                            const float* bias) {
  each_unit(rows, channels, [&](i64 i, i64 from, i64 to) {
    for (i64 c = from + threadIdx.x % 32; c < to; c += 32) {
      float sum = 0.f;
      for (int h = 0; h < heads; h++) sum += src[i * lds + h * channels + c];
      sum /= heads;
      dst[i * ldd + c] = bias ? sum + bias[c] : sum;
    }
  });
}

extern "C" __global__ void capgnn_head_mean_backward(i64 rows, int channels, int heads, float* dst, i64 ldd, const float* src,
                                                     i64 lds) {
  each_unit(rows, (i64)heads * channels, [&](i64 i, i64 from, i64 to) {
    for (i64 j = from + threadIdx.x % 32; j < to; j += 32) dst[i * ldd + j] = src[i * lds + j % channels] / heads;
  });
}

CAPGNN_KERNEL(capgnn_gat_scores)
CAPGNN_KERNEL(capgnn_gat_scores_backward)
CAPGNN_KERNEL(capgnn_head_mean)
CAPGNN_KERNEL(capgnn_head_mean_backward)

extern "C" __global__ void capgnn_edge_drop(EdgeDrop* to, const int* rows, const int* inner, const int* halo, u64 key, u64 when, u32 threshold, float scale,
                                            float slope, int by_source) {
  if (thread_id() == 0) *to = {rows, inner, halo, key, (u32)when, (u32)(when >> 32), threshold, scale, slope, by_source};
}
CAPGNN_KERNEL(capgnn_edge_drop)
