// Attention: the sum over in-edges (gpu.GATArgs).
//
//   e_u = leaky(s[u][h] + d[v][h]);  top = max e_u;  sum = Σ exp(e_u - top);  α_u = exp(e_u - top)/sum
//   lse[v][h] = top + log(sum);  o[v][hC+c] = Σ_u α_u·t[u][hC+c] + bias[hC+c]
//   rows without entries: lse = 0, o = bias
//
// over the entries of row v in the inner block and then in the halo block. A warp does one row and one tile of heads: first
// the maximum and the sum, lanes being heads × entries, then the weighted sum, lanes being columns; rows of more than
// CAPGNN_HUB entries get a block. α is taken against the maximum, not against lse: exp(e - lse) would carry lse's rounding.
#include "gat.cuh"

namespace {

// Softmax is the maximum of a head's scores and the sum of exp(score - top) so far.
struct Softmax {
  float top, sum;

  __device__ void add(float x) {
    if (x <= top) {
      sum += expf(x - top);
    } else {  // larger, or NaN
      sum = sum * expf(top - x) + 1.f;
      top = x;
    }
  }
  __device__ void merge(float other_top, float other_sum) {
    const float t = fmaxf(top, other_top);
    if (other_sum == 0.f) return;
    sum = (sum == 0.f ? 0.f : sum * expf(top - t)) + other_sum * expf(other_top - t);
    top = t;
  }
};

// softmax makes the sums of a warp's edges: lane l holds those of the tile's head l mod lanes, the power of two that is at
// least the number of heads.
CAPGNN_FN Softmax softmax(const Edges& a, const Edges& b, const Rows& ra, const Rows& rb, float d, int head, bool valid,
                          int lanes, float slope) {
  Softmax s = {-INFINITY, 0.f};
#pragma unroll 1
  for (int side = 0; side < 2; side++) {
    const Edges e = pick(side, a, b);
    const Rows r = pick(side, ra, rb);
    if (!valid) continue;
    for (i64 k = e.from + threadIdx.x % 32 / lanes; k < e.to; k += 32 / lanes)
      s.add(leaky(r.narrow[(i64)e.indices[k] * r.ld_narrow + head] + d, slope));
  }
  for (int o = lanes; o < 32; o *= 2) {
    const float top = __shfl_xor_sync(CAPGNN_FULL, s.top, o), sum = __shfl_xor_sync(CAPGNN_FULL, s.sum, o);
    s.merge(top, sum);
  }
  return s;
}

// merge_warps merges the sums of the warps of a block, in their order; all warps get them.
CAPGNN_FN Softmax merge_warps(Softmax s, float* shared) {
  const int lane = threadIdx.x % 32;
  __syncthreads();
  shared[threadIdx.x] = s.top;
  shared[CAPGNN_BLOCK + threadIdx.x] = s.sum;
  __syncthreads();
  s = {-INFINITY, 0.f};
  for (int w = 0; w < CAPGNN_WARPS; w++) s.merge(shared[32 * w + lane], shared[CAPGNN_BLOCK + 32 * w + lane]);
  return s;
}

template <int C, int V> struct Forward {
  static const int AHEAD = 4;
  Slice<C, V> slice;
  float o[C][V], top[C], scale[C], d[C];
  int head[C];

  __device__ explicit Forward(const Slice<C, V>& s) : slice(s) {}

  // begin takes the tile's sums, which lane h holds for head h.
  __device__ void begin(const Softmax& s, const float* d_row) {
#pragma unroll
    for (int c = 0; c < C; c++) {
      head[c] = slice.head(c);
      top[c] = __shfl_sync(CAPGNN_FULL, s.top, head[c] - slice.head0);
      const float sum = __shfl_sync(CAPGNN_FULL, s.sum, head[c] - slice.head0);
      scale[c] = sum == 0.f ? 0.f : 1.f / sum;
      d[c] = d_row[head[c]];
#pragma unroll
      for (int i = 0; i < V; i++) o[c][i] = 0.f;
    }
  }

  __device__ void add(const Edges& e, const Rows& r, float slope) {
    const int lane = threadIdx.x % 32;
    for (i64 e0 = e.from; e0 < e.to; e0 += 32) {
      const int n = e.to - e0 < 32 ? (int)(e.to - e0) : 32;
      const int index = lane < n ? __ldcs(e.indices + e0 + lane) : 0;
      for (int k0 = 0; k0 < n; k0 += AHEAD) {
        float t[AHEAD][C][V], w[AHEAD][C];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
          const i64 from = __shfl_sync(CAPGNN_FULL, index, (k0 + u) & 31);
          if (k0 + u < n) {
            slice.load(t[u], r.wide + from * r.ld_wide);
#pragma unroll
            for (int c = 0; c < C; c++) w[u][c] = r.narrow[from * r.ld_narrow + head[c]];
          } else {
#pragma unroll
            for (int c = 0; c < C; c++) {
              w[u][c] = 0.f;
#pragma unroll
              for (int i = 0; i < V; i++) t[u][c][i] = 0.f;
            }
          }
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
#pragma unroll
          for (int c = 0; c < C; c++) {
            const float alpha = k0 + u < n ? expf(leaky(w[u][c] + d[c], slope) - top[c]) * scale[c] : 0.f;
#pragma unroll
            for (int i = 0; i < V; i++) o[c][i] = fmaf(alpha, t[u][c][i], o[c][i]);
          }
      }
    }
  }
};

template <int C, int V>
CAPGNN_FN void gat(float* o, float* lse, u64 ld_out, const Sparse& inner, const Sparse& halo, const Rows& inner_rows,
                   const Rows& halo_rows, const float* d, int ldd,
                   const float* bias, float slope, i64 lo, i64 hi, u64 shape, int tile_heads, u32 hub_blocks) {
  CAPGNN_SHARED(float, shared, 2 * CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const int lane = threadIdx.x % 32;
  const Slice<C, V> slice(low(shape), high(shape), tile_heads);
  int lanes = 1;
  while (lanes < slice.heads) lanes *= 2;
  const int own = lane % lanes;
  const bool valid = own < slice.heads;
  const int head = slice.head0 + (valid ? own : 0);
  const auto length = [&](i64 r) { return inner.length(r) + halo.length(r); };
  each_row(lo, hi, hub_blocks, found, length, [&](i64 v, bool hub) {
    const Edges a = edges(inner, v, hub), b = edges(halo, v, hub);
    Softmax s = softmax(a, b, inner_rows, halo_rows, d[v * ldd + head], head, valid, lanes, slope);
    if (hub) s = merge_warps(s, shared);
    Forward<C, V> f(slice);
    f.begin(s, d + v * ldd);
#pragma unroll 1
    for (int side = 0; side < 2; side++) f.add(pick(side, a, b), pick(side, inner_rows, halo_rows), slope);
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) {
        if (hub) f.o[c][i] = add_warps(f.o[c][i], shared);
        if (bias && slice.inside(c)) f.o[c][i] += bias[slice.column(c) + i];
      }
    if (hub && threadIdx.x >= 32) return;
    slice.store(o + v * low(ld_out), f.o);
    if (slice.leading && lane < slice.heads) lse[v * high(ld_out) + head] = s.sum == 0.f ? 0.f : s.top + logf(s.sum);
  });
}

}  // namespace

// ld_* hold two strides, the first in the lower half; shape holds heads and channels.
#define GAT(name, C, V) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 2) name( \
      float* o, float* lse, u64 ld_out, const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, \
      const float* t, const float* s, u64 ld_in, const i64* begin2, const i64* end2, const int* indices2, const int* list2, \
      i64 stored2, const float* t2, const float* s2, u64 ld_in2, const float* d, int ldd, const float* bias, float slope, \
      i64 lo, i64 hi, u64 shape, int tile_heads, int hub_blocks) { \
    const Sparse inner = {begin, end, indices, list, stored}, halo = {begin2, end2, indices2, list2, stored2}; \
    gat<C, V>(o, lse, ld_out, inner, halo, Rows{t, s, low(ld_in), high(ld_in)}, Rows{t2, s2, low(ld_in2), high(ld_in2)}, d, \
              ldd, bias, slope, lo, hi, shape, tile_heads, hub_blocks); \
  } \
  CAPGNN_KERNEL(name)

GAT(capgnn_gat_4, 2, 4)
GAT(capgnn_gat_1, 4, 1)
