// Attention: the sum over in-edges (gpu.GATArgs).
//
//   e_u = leaky(s[u][h] + d[v][h]);  top = max e_u;  sum = Σ exp(e_u - top);  α_u = exp(e_u - top)/sum
//   lse[v][h] = top + log(sum);  o[v][hC+c] = Σ_u m_u·α_u·t[u][hC+c] + bias[hC+c], m = 1, or in the _drop kernels (gat_drop.cu) what dropout says
//   rows without entries: lse = 0, o = bias
//
// over the entries of row v in the inner block and then in the halo block. gat_softmax makes lse, and top and 1/sum for what follows: a warp does one row and up
// to 32 heads, lanes being heads × entries. gat_sum makes o as SpMM makes sums over neighbours: a warp does one row and one tile of a head's columns; of 32 entries
// at a time each lane makes the weight of one, and groups of lanes add the rows. Where the rows of t do not fit in the L2 cache, a tile of their columns may.
// Rows of more than CAPGNN_HUB entries get a block. α is taken against the maximum, not against lse: exp(e - lse) would carry lse's rounding.
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

// Tops are top and 1/sum of every row from lo on and head.
CAPGNN_FN void softmax_rows(float* lse, int ld_lse, float2* tops, const Sparse& inner, const Rows& inner_rows, const Sparse& halo, const Rows& halo_rows,
                            const float* d, int ldd, float slope, i64 lo, i64 hi, int all_heads, u32 hub_blocks) {
  CAPGNN_SHARED(float, shared, 2 * CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const int lane = threadIdx.x % 32, head0 = blockIdx.y * 32, heads = all_heads - head0 < 32 ? all_heads - head0 : 32;
  int lanes = 1;
  while (lanes < heads) lanes *= 2;
  const int own = lane % lanes;
  const bool valid = own < heads;
  const int head = head0 + (valid ? own : 0);
  const auto length = [&](i64 r) { return inner.length(r) + halo.length(r); };
  each_row(lo, hi, hub_blocks, found, length, [&](i64 v, bool hub) {
    Softmax s = softmax(edges(inner, v, hub), edges(halo, v, hub), inner_rows, halo_rows, d[v * ldd + head], head, valid, lanes, slope);
    if (hub) s = merge_warps(s, shared);
    if ((hub && threadIdx.x >= 32) || lane >= heads) return;
    lse[v * ld_lse + head] = s.sum == 0.f ? 0.f : s.top + logf(s.sum);
    tops[(v - lo) * all_heads + head] = make_float2(s.top, s.sum == 0.f ? 0.f : 1.f / s.sum);
  });
}

template <int G, int C, int V>
CAPGNN_FN void sum_rows(float* o, int ldo, const float2* tops, const Sparse& inner, const Rows& inner_rows, const Sparse& halo, const Rows& halo_rows,
                        const float* d, int ldd, const float* bias, Scoring scoring, i64 lo, i64 hi, u64 shape, u32 hub_blocks) {
  const float slope = slope_of(scoring);
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const int heads = low(shape);
  const Piece<G, C, V> piece(high(shape));
  const auto length = [&](i64 r) { return inner.length(r) + halo.length(r); };
  each_row(lo, hi, hub_blocks, found, length, [&](i64 v, bool hub) {
    const Edges a = edges(inner, v, hub), b = edges(halo, v, hub);
    const float2 top = tops[(v - lo) * heads + piece.head];
    const float shift = d[v * ldd + piece.head];
    Sums<G, C, V, 1> sums(piece);
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
      const Rows r = pick(side, inner_rows, halo_rows);
      sums.gather(pick(side, a, b), r.wide, r.ld_wide, [&](i64 u) {
        return expf(leaky(r.narrow[u * r.ld_narrow + piece.head] + shift, slope) - top.x) * top.y * factor(scoring, side, v, u, piece.head);
      });
    }
    sums.finish(hub, shared);
    if (bias)
#pragma unroll
      for (int c = 0; c < C; c++)
#pragma unroll
        for (int i = 0; i < V; i++)
          if (piece.column(c) + i < piece.limit) sums.v[0][c][i] += bias[piece.column(c) + i];
    if (hub && threadIdx.x >= 32) return;
    sums.store(o + v * ldo, 0);
  });
}

}  // namespace

#ifndef CAPGNN_DROP
extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 4) capgnn_gat_softmax(
    float* lse, int ld_lse, float2* tops, const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, const float* s, int lds,
    const i64* begin2, const i64* end2, const int* indices2, const int* list2, i64 stored2, const float* s2, int lds2, const float* d, int ldd, float slope,
    i64 lo, i64 hi, int heads, int hub_blocks) {
  softmax_rows(lse, ld_lse, tops, {begin, end, indices, list, stored}, Rows{0, s, 0, lds}, {begin2, end2, indices2, list2, stored2}, Rows{0, s2, 0, lds2}, d,
               ldd, slope, lo, hi, heads, hub_blocks);
}
CAPGNN_KERNEL(capgnn_gat_softmax)
#endif

// ld_in hold two strides, the first in the lower half; shape holds heads and channels.
#define GAT_SUM(name, G, C, V) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 3) name( \
      float* o, int ldo, const float2* tops, const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, const float* t, \
      const float* s, u64 ld_in, const i64* begin2, const i64* end2, const int* indices2, const int* list2, i64 stored2, const float* t2, const float* s2, \
      u64 ld_in2, const float* d, int ldd, const float* bias, Scoring slope, i64 lo, i64 hi, u64 shape, int hub_blocks) { \
    sum_rows<G, C, V>(o, ldo, tops, {begin, end, indices, list, stored}, Rows{t, s, low(ld_in), high(ld_in)}, {begin2, end2, indices2, list2, stored2}, \
                      Rows{t2, s2, low(ld_in2), high(ld_in2)}, d, ldd, bias, slope, lo, hi, shape, hub_blocks); \
  } \
  CAPGNN_KERNEL(name)

GAT_SUM(CAPGNN_WEIGHING(capgnn_gat_sum_16), 4, 1, 4)
GAT_SUM(CAPGNN_WEIGHING(capgnn_gat_sum_32), 8, 1, 4)
GAT_SUM(CAPGNN_WEIGHING(capgnn_gat_sum_64), 16, 1, 4)
GAT_SUM(CAPGNN_WEIGHING(capgnn_gat_sum_s8), 8, 1, 1)
GAT_SUM(CAPGNN_WEIGHING(capgnn_gat_sum_s64), 32, 2, 1)
