// Attention: gradients (gpu.GATGradDst, gpu.GATGradSrc).
//
//   row v, over entries u:   q_u = m_u·Σ_c do[v][hC+c]·t[u][hC+c];  g[v][h] = Σ_c do[v][hC+c]·(o[v][hC+c] - bias[hC+c]) = Σ_u α_u·q_u
//     dd[v][h] = Σ_u α_u·(q_u - g[v][h])·leaky'(s[u][h] + d[v][h])
//   row u, over entries v:   dt[u][hC+c] = Σ_v m_v·α_v·do[v][hC+c];  ds[u][h] = Σ_v α_v·(q_v - g[v][h])·leaky'(s[u][h] + d[v][h])
//
// α = exp(leaky(s[u][h] + d[v][h]) - lse[v][h]); m = 1, or in the _drop kernels what dropout says. The entries are those of the inner block and then of the halo block. No entry needs a dot product q, as leaky' has
// two values only:
//
//   Σ_u α_u·(q_u - g) = 0, so dd = (1 - slope)·Σ α_u·(q_u - g) over the entries with positive scores, or -(1 - slope) times the sum over the others: over those that
//     are fewer. gat_dst_rows counts them and makes g; gat_dst reads only their rows: with p = Σ m_u·α_u·t[u], the sum is Σ_c do[v][c]·p[c] - g·Σ α_u.
//     Where all scores of a row have one sign, dd is 0 without a rounding.
//   ds = Σ_c t[u][c]·(slope·dt[u][c] + (1 - slope)·b[c]) - Σ_v α_v·leaky'·g[v], where b is dt over the entries with positive scores.
//
// A warp does one row and one tile of a head's columns, as in gat_sum. Of heads that are wider than a tile, each piece makes a share of dd and ds; the first has the
// part with g. Rows of more than CAPGNN_HUB entries get a block.
#include "gat.cuh"

namespace {

// dst_rows makes g, and for every row and head the sign of the scores of which there are fewer.
CAPGNN_FN void dst_rows(float* g, int ldg, float* signs, const float* d_o, const float* o, u64 ld_o, const float* bias, const Sparse& inner, const Rows& inner_rows,
                        const Sparse& halo, const Rows& halo_rows, const float* d, int ldd, i64 rows, u64 shape, u32 hub_blocks) {
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const int all_heads = low(shape), channels = high(shape), lane = threadIdx.x % 32;
  const int head0 = blockIdx.y * 32, heads = all_heads - head0 < 32 ? all_heads - head0 : 32;
  int lanes = 1;
  while (lanes < heads) lanes *= 2;
  const int own = lane % lanes;
  const bool valid = own < heads;
  const int head = head0 + (valid ? own : 0);
  const auto length = [&](i64 r) { return inner.length(r) + halo.length(r); };
  each_row(0, rows, hub_blocks, found, length, [&](i64 v, bool hub) {
    const Edges a = edges(inner, v, hub), b = edges(halo, v, hub);
    const float shift = d[v * ldd + head];
    float positive = 0.f;  // more than the others
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
      const Edges e = pick(side, a, b);
      const Rows r = pick(side, inner_rows, halo_rows);
      if (!valid) continue;
      for (i64 k = e.from + lane / lanes; k < e.to; k += 32 / lanes)
        positive += r.narrow[(i64)e.indices[k] * r.ld_narrow + head] + shift > 0.f ? 1.f : -1.f;
    }
    for (int k = lanes; k < 32; k *= 2) positive += __shfl_xor_sync(CAPGNN_FULL, positive, k);
    if (hub) positive = add_warps(positive, shared);
    if (hub && threadIdx.x >= 32) return;
    if (lane < heads) signs[v * all_heads + head] = positive > 0.f ? -1.f : 1.f;
    for (int h = head0; h < head0 + heads; h++) {
      float sum = 0.f;
      for (int j = h * channels + lane; j < (h + 1) * channels; j += 32) {
        const float out = o[v * high(ld_o) + j];
        sum = fmaf(d_o[v * low(ld_o) + j], bias ? out - bias[j] : out, sum);
      }
      sum = warp_sum(sum);
      if (lane == 0) g[v * ldg + h] = sum;
    }
  });
}

// Waiting is the entries of a warp that were taken and not added yet, fewer than 64.
struct Waiting {
  int* indices;  // 64 of each, of the warp's own
  float* weights;
  int n;

  // take appends the entries of the lanes that have one.
  __device__ void take(bool has, int index, float weight) {
    const u32 all = __ballot_sync(CAPGNN_FULL, has), lane = threadIdx.x % 32;
    if (has) {
      const int at = n + __popc(all & ((1u << lane) - 1));
      indices[at] = index;
      weights[at] = weight;
    }
    n += __popc(all);
    __syncwarp();
  }

  // drop leaves out the first 32, or all.
  __device__ void drop() {
    const int lane = threadIdx.x % 32;
    n = n < 32 ? 0 : n - 32;
    const bool has = lane < n;
    const int index = has ? indices[32 + lane] : 0;
    const float weight = has ? weights[32 + lane] : 0.f;
    __syncwarp();
    if (has) indices[lane] = index, weights[lane] = weight;
    __syncwarp();
  }
};

template <int G, int C, int V>
CAPGNN_FN void dst(float* dd, int ld_dd, i64 ahead, const float* g, const float* signs, const float* d_o, const float* lse, const float* d, u64 ld_do_g, u64 ld_lse_d,
                   const Sparse& inner, const Rows& inner_rows, const Sparse& halo, const Rows& halo_rows, Scoring scoring, i64 rows, u64 shape, u32 hub_blocks) {
  const float slope = slope_of(scoring);
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  CAPGNN_SHARED(int, indices, 2 * CAPGNN_BLOCK);
  CAPGNN_SHARED(float, weights, 2 * CAPGNN_BLOCK);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Piece<G, C, V> piece(high(shape));
  const auto length = [&](i64 r) { return inner.length(r) + halo.length(r); };
  each_row(0, rows, hub_blocks, found, length, [&](i64 v, bool hub) {
    const Edges a = edges(inner, v, hub), b = edges(halo, v, hub);
    const float shift = d[v * high(ld_lse_d) + piece.head], total = lse[v * low(ld_lse_d) + piece.head], sign = signs[v * low(shape) + piece.head];
    Sums<G, C, V, 1> sums(piece);
    float mass = 0.f;
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
      const Edges e = pick(side, a, b);
      const Rows r = pick(side, inner_rows, halo_rows);
      Waiting wait = {indices + 64 * warp, weights + 64 * warp, 0};
      const int* list = e.indices + e.from;
      const int n = (int)(e.to - e.from);
      int next = lane < n ? __ldcs(list + lane) : 0;
#pragma unroll 1
      for (int k = 0; k < n; k += 32) {
        const int index = next;
        bool has = k + lane < n;
        float alpha = 0.f;
        if (has) {
          const float x = r.narrow[(i64)index * r.ld_narrow + piece.head] + shift;
          has = (x > 0.f) == (sign > 0.f);
          if (has) mass += alpha = expf(leaky(x, slope) - total);
          if (CAPGNN_DROPS && has) alpha *= factor(scoring, side, v, index, piece.head);
        }
        next = k + 32 + lane < n ? __ldcs(list + k + 32 + lane) : 0;
        wait.take(has, index, alpha);
        while (wait.n >= 32 || (k + 32 >= n && wait.n > 0)) {
          const float weight = lane < wait.n ? wait.weights[lane] : 0.f;
          sums.add(r.wide, r.ld_wide, lane < wait.n ? wait.indices[lane] : 0, weight, wait.n < 32 ? wait.n : 32);
          wait.drop();
        }
      }
    }
    sums.finish(hub, shared);
    mass = warp_sum(mass);
    if (hub) mass = add_warps(mass, shared);
    if (hub && threadIdx.x >= 32) return;
    float sum = piece.dot(sums.v[0], d_o + v * low(ld_do_g));
    if (piece.leading) sum -= g[v * high(ld_do_g) + piece.head] * mass;
    if (lane == 0) dd[piece.number * ahead + v * ld_dd + piece.head] = (sign > 0.f ? 1.f - slope : slope - 1.f) * sum;
  });
}

// Targets is what the columns of a block of out-edges index.
struct Targets {
  const float *d_o, *d, *lse, *g;
  int ld_do, ld_d, ld_lse, ld_g;
};

CAPGNN_FN Targets pick(bool second, const Targets& a, const Targets& b) {
  return {second ? b.d_o : a.d_o,     second ? b.d : a.d,       second ? b.lse : a.lse,     second ? b.g : a.g,
          second ? b.ld_do : a.ld_do, second ? b.ld_d : a.ld_d, second ? b.ld_lse : a.ld_lse, second ? b.ld_g : a.ld_g};
}

template <int G, int C, int V>
CAPGNN_FN void src(float* dt, int ld_dt, float* ds, int ld_ds, i64 ahead, const float* t, const float* s, u64 ld_in, const Sparse& inner, const Targets& inner_rows,
                   const Sparse& halo, const Targets& halo_rows, Scoring scoring, i64 rows, int channels, u32 hub_blocks) {
  const float slope = slope_of(scoring);
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const Piece<G, C, V> piece(channels);
  const auto length = [&](i64 r) { return inner.length(r) + halo.length(r); };
  each_row(0, rows, hub_blocks, found, length, [&](i64 u, bool hub) {
    const Edges a = edges(inner, u, hub), b = edges(halo, u, hub);
    const float own = s[u * high(ld_in) + piece.head];
    Sums<G, C, V, 2> sums(piece);
    float taken = 0.f;  // Σ α·leaky'·g
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
      const Targets r = pick(side, inner_rows, halo_rows);
      sums.gather(pick(side, a, b), r.d_o, r.ld_do, [&](i64 v) {  // α, negative where the score is not positive
        const float x = own + r.d[v * r.ld_d + piece.head];
        const float alpha = expf(leaky(x, slope) - r.lse[v * r.ld_lse + piece.head]);
        taken = fmaf(x > 0.f ? alpha : alpha * slope, r.g[v * r.ld_g + piece.head], taken);
        return (x > 0.f ? alpha : -alpha) * factor(scoring, side, u, v, piece.head);
      });
    }
    sums.finish(hub, shared);
    taken = warp_sum(taken);
    if (hub) taken = add_warps(taken, shared);
    if (hub && threadIdx.x >= 32) return;
    sums.store(dt + u * ld_dt, 0);
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) sums.v[1][c][i] = fmaf(slope, sums.v[0][c][i], (1.f - slope) * sums.v[1][c][i]);
    float sum = piece.dot(sums.v[1], t + u * low(ld_in));
    if (piece.leading) sum -= taken;
    if (threadIdx.x % 32 == 0) ds[piece.number * ahead + u * ld_ds + piece.head] = sum;
  });
}

}  // namespace

#ifndef CAPGNN_DROP
// ld_* hold two strides, the first in the lower half; shape holds heads and channels.
extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 4) capgnn_gat_dst_rows(
    float* g, int ldg, float* signs, const float* d_o, const float* o, u64 ld_o, const float* bias, const i64* begin, const i64* end, const int* indices,
    const int* list, i64 stored, const float* s, int lds, const i64* begin2, const i64* end2, const int* indices2, const int* list2, i64 stored2, const float* s2,
    int lds2, const float* d, int ldd, i64 rows, u64 shape, int hub_blocks) {
  dst_rows(g, ldg, signs, d_o, o, ld_o, bias, {begin, end, indices, list, stored}, Rows{0, s, 0, lds}, {begin2, end2, indices2, list2, stored2}, Rows{0, s2, 0, lds2},
           d, ldd, rows, shape, hub_blocks);
}
CAPGNN_KERNEL(capgnn_gat_dst_rows)
#endif

// Pieces of a head write dd and ds `ahead` elements apart.
#define GAT_DST(name, G, C, V) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 3) name( \
      float* dd, int ld_dd, i64 ahead, const float* g, const float* signs, const float* d_o, const float* lse, const float* d, u64 ld_do_g, u64 ld_lse_d, \
      const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, const float* t, const float* s, u64 ld_in, const i64* begin2, \
      const i64* end2, const int* indices2, const int* list2, i64 stored2, const float* t2, const float* s2, u64 ld_in2, Scoring slope, i64 rows, u64 shape, \
      int hub_blocks) { \
    dst<G, C, V>(dd, ld_dd, ahead, g, signs, d_o, lse, d, ld_do_g, ld_lse_d, {begin, end, indices, list, stored}, Rows{t, s, low(ld_in), high(ld_in)}, \
                 {begin2, end2, indices2, list2, stored2}, Rows{t2, s2, low(ld_in2), high(ld_in2)}, slope, rows, shape, hub_blocks); \
  } \
  CAPGNN_KERNEL(name)

#define GAT_SRC(name, G, C, V) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 3) name( \
      float* dt, float* ds, u64 ld_out, i64 ahead, const float* t, const float* s, u64 ld_in, const i64* begin, const i64* end, const int* indices, \
      const int* list, i64 stored, const float* d_o, const float* d, const float* lse, const float* g, u64 ld_do, u64 ld_lse, const i64* begin2, const i64* end2, \
      const int* indices2, const int* list2, i64 stored2, const float* d_o2, const float* d2, const float* lse2, const float* g2, u64 ld_do2, u64 ld_lse2, \
      Scoring slope, i64 rows, u64 channels_hubs) { \
    src<G, C, V>(dt, low(ld_out), ds, high(ld_out), ahead, t, s, ld_in, {begin, end, indices, list, stored}, \
                 Targets{d_o, d, lse, g, low(ld_do), high(ld_do), low(ld_lse), high(ld_lse)}, {begin2, end2, indices2, list2, stored2}, \
                 Targets{d_o2, d2, lse2, g2, low(ld_do2), high(ld_do2), low(ld_lse2), high(ld_lse2)}, slope, rows, low(channels_hubs), high(channels_hubs)); \
  } \
  CAPGNN_KERNEL(name)

GAT_DST(CAPGNN_WEIGHING(capgnn_gat_dst_16), 4, 1, 4)
GAT_DST(CAPGNN_WEIGHING(capgnn_gat_dst_32), 8, 1, 4)
GAT_DST(CAPGNN_WEIGHING(capgnn_gat_dst_64), 16, 1, 4)
GAT_DST(CAPGNN_WEIGHING(capgnn_gat_dst_s8), 8, 1, 1)
GAT_DST(CAPGNN_WEIGHING(capgnn_gat_dst_s64), 32, 2, 1)
GAT_SRC(CAPGNN_WEIGHING(capgnn_gat_src_16), 4, 1, 4)
GAT_SRC(CAPGNN_WEIGHING(capgnn_gat_src_32), 8, 1, 4)
GAT_SRC(CAPGNN_WEIGHING(capgnn_gat_src_64), 16, 1, 4)
GAT_SRC(CAPGNN_WEIGHING(capgnn_gat_src_s8), 8, 1, 1)
GAT_SRC(CAPGNN_WEIGHING(capgnn_gat_src_s64), 32, 2, 1)
