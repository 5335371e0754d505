// Elementwise operations and moves of whole rows: fill, copy, gather, scatter-add, axpby, scale_rows, scale_bias,
// add_scaled, transpose.
//
//   fill        m[i][j] = v
//   copy        dst[k][j] = src[rows ? rows[k] : k][j], converted
//   axpby       dst[i][j] = a·src[i][j] + b·dst[i][j]; with b = 0, dst is not read
//   scale_rows  dst[i][j] = scale[i]·src[i][j]
//   add_scaled  dst[i][j] += (1 + s[0])·src[i][j]
//   scale_bias  m[i][j] = scale[i]·m[i][j] + bias[j]; scale or bias may be null
//   transpose   dst[j][i] = src[i][j]
//   scatter_add for k in order: dst[rows[k]][j] += src[k][j]
//
// Any grid gives the same bits.
#include "elementwise.cuh"

namespace {

struct Fill {
  float* m;
  i64 ld;
  float v;
  template <int V> __device__ void run(i64 i, i64 j) const {
    const float four[4] = {v, v, v, v};
    put<V>(m + i * ld + j, four);
  }
};

template <class S, class D> struct Move {
  D* dst;
  const S* src;
  const int* rows;
  i64 ldd, lds;
  template <int V> __device__ void run(i64 k, i64 j) const {
    float v[V];
    Vector<V>::load(v, src + (rows ? rows[k] : k) * lds + j);
    put<V>(dst + k * ldd + j, v);
  }
};

struct Axpby {
  float* dst;
  const float* src;
  i64 ldd, lds;
  float a, b;
  template <int V> __device__ void run(i64 i, i64 j) const {
    float x[V], y[V];
    Vector<V>::load(x, src + i * lds + j);
    if (b != 0.f) Vector<V>::load(y, dst + i * ldd + j);
#pragma unroll
    for (int k = 0; k < V; k++) x[k] = b != 0.f ? fmaf(a, x[k], b * y[k]) : a * x[k];
    put<V>(dst + i * ldd + j, x);
  }
};

struct ScaleRows {
  float* dst;
  const float *src, *scale;
  i64 ldd, lds;
  template <int V> __device__ void run(i64 i, i64 j) const {
    float v[V];
    Vector<V>::load(v, src + i * lds + j);
#pragma unroll
    for (int k = 0; k < V; k++) v[k] *= scale[i];
    put<V>(dst + i * ldd + j, v);
  }
};

template <class S> struct AddScaled {
  float* dst;
  const S* src;
  const float* s;
  i64 ldd, lds;
  template <int V> __device__ void run(i64 i, i64 j) const {
    float x[V], y[V];
    const float a = 1.f + s[0];
    Vector<V>::load(x, src + i * lds + j);
    Vector<V>::load(y, dst + i * ldd + j);
#pragma unroll
    for (int k = 0; k < V; k++) y[k] = fmaf(a, x[k], y[k]);
    put<V>(dst + i * ldd + j, y);
  }
};

struct ScaleBias {
  float* m;
  const float *scale, *bias;
  i64 ld;
  template <int V> __device__ void run(i64 i, i64 j) const {
    float v[V];
    Vector<V>::load(v, m + i * ld + j);
    const float a = scale ? scale[i] : 1.f;
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = bias ? fmaf(a, v[k], bias[j + k]) : a * v[k];
    put<V>(m + i * ld + j, v);
  }
};

template <class S, class D>
CAPGNN_FN void move(i64 rows, i64 cols, D* dst, i64 ldd, const S* src, i64 lds, const int* list) {
  elementwise(rows, cols, aligned<4>(dst, ldd) && aligned<4>(src, lds), Move<S, D>{dst, src, list, ldd, lds});
}

template <class S> CAPGNN_FN void add_scaled(i64 rows, i64 cols, float* dst, i64 ldd, const S* src, i64 lds, const float* s) {
  elementwise(rows, cols, aligned<4>(dst, ldd) && aligned<4>(src, lds), AddScaled<S>{dst, src, s, ldd, lds});
}

}  // namespace

extern "C" __global__ void capgnn_fill(i64 rows, i64 cols, float* m, i64 ld, float v) {
  elementwise(rows, cols, aligned<4>(m, ld), Fill{m, ld, v});
}

#define MOVE(name, S, D) \
  extern "C" __global__ void name(i64 rows, i64 cols, D* dst, i64 ldd, const S* src, i64 lds, const int* list) { \
    move(rows, cols, dst, ldd, src, lds, list); \
  } \
  CAPGNN_KERNEL(name)

MOVE(capgnn_move_ff, float, float)
MOVE(capgnn_move_fb, float, bf16)
MOVE(capgnn_move_bf, bf16, float)
MOVE(capgnn_move_bb, bf16, bf16)

extern "C" __global__ void capgnn_axpby(i64 rows, i64 cols, float* dst, i64 ldd, const float* src, i64 lds, float a, float b) {
  elementwise(rows, cols, aligned<4>(dst, ldd) && aligned<4>(src, lds), Axpby{dst, src, ldd, lds, a, b});
}

extern "C" __global__ void capgnn_scale_rows(i64 rows, i64 cols, float* dst, i64 ldd, const float* src, i64 lds,
                                             const float* scale) {
  elementwise(rows, cols, aligned<4>(dst, ldd) && aligned<4>(src, lds), ScaleRows{dst, src, scale, ldd, lds});
}

extern "C" __global__ void capgnn_scale_bias(i64 rows, i64 cols, float* m, i64 ld, const float* scale, const float* bias) {
  elementwise(rows, cols, aligned<4>(m, ld), ScaleBias{m, scale, bias, ld});
}

extern "C" __global__ void capgnn_add_scaled(i64 rows, i64 cols, float* dst, i64 ldd, const float* src, i64 lds,
                                             const float* s) {
  add_scaled(rows, cols, dst, ldd, src, lds, s);
}

extern "C" __global__ void capgnn_add_scaled_b(i64 rows, i64 cols, float* dst, i64 ldd, const bf16* src, i64 lds,
                                               const float* s) {
  add_scaled(rows, cols, dst, ldd, src, lds, s);
}

// Tiles of 32×32 go through shared memory, so that reads and writes are of whole lines; the 33rd column keeps the lanes of a
// warp on different banks.
extern "C" __global__ void capgnn_transpose(i64 rows, i64 cols, float* dst, i64 ldd, const float* src, i64 lds) {
  CAPGNN_SHARED(float, tile, 32 * 33);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const i64 across = (cols + 31) / 32, tiles = (rows + 31) / 32 * across;
  for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
    const i64 i0 = t / across * 32, j0 = t % across * 32;
    for (int i = warp; i < 32; i += CAPGNN_WARPS)
      if (i0 + i < rows && j0 + lane < cols) tile[i * 33 + lane] = src[(i0 + i) * lds + j0 + lane];
    __syncthreads();
    for (int j = warp; j < 32; j += CAPGNN_WARPS)
      if (i0 + lane < rows && j0 + j < cols) dst[(j0 + j) * ldd + i0 + lane] = tile[lane * 33 + j];
    __syncthreads();
  }
}

// A warp owns the rows of dst whose number has its remainder: it looks through the whole list, 32 entries at a time, and adds
// what is its own in the order of the list. No two warps touch one row, and a row's sum has the order of k whatever the grid.
extern "C" __global__ void capgnn_scatter_add(i64 n, int cols, float* dst, i64 ldd, const float* src, i64 lds,
                                              const int* rows) {
  const int lane = threadIdx.x % 32;
  const u32 owner = (u32)(thread_id() / 32), owners = (u32)(thread_count() / 32);
  for (i64 k0 = 0; k0 < n; k0 += 32) {
    const int row = k0 + lane < n ? rows[k0 + lane] : -1;
    u32 mine = __ballot_sync(CAPGNN_FULL, row >= 0 && (u32)row % owners == owner);
    for (; mine; mine &= mine - 1) {
      const int at = __ffs(mine) - 1;
      float* y = dst + (i64)__shfl_sync(CAPGNN_FULL, row, at) * ldd;
      const float* x = src + (k0 + at) * lds;
      for (int j = lane; j < cols; j += 32) y[j] += x[j];
    }
  }
}

CAPGNN_KERNEL(capgnn_fill)
CAPGNN_KERNEL(capgnn_axpby)
CAPGNN_KERNEL(capgnn_scale_rows)
CAPGNN_KERNEL(capgnn_scale_bias)
CAPGNN_KERNEL(capgnn_add_scaled)
CAPGNN_KERNEL(capgnn_add_scaled_b)
CAPGNN_KERNEL(capgnn_transpose)
CAPGNN_KERNEL(capgnn_scatter_add)
