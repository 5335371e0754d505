// Attention whose scores are of sums of rows (gpu.GATv2Args, gpu.GATv2GradDst, gpu.GATv2GradSrc).
//
//   e_uv = Σ_c att[hC+c]·leaky(t[u][hC+c] + r[v][hC+c]);  α_uv = exp(e_uv - lse[v][h]), lse[v][h] = log Σ_u exp(e_uv)
//   o[v] = Σ_u α_uv·t[u];  g[v][h] = Σ_c do[v][hC+c]·o[v][hC+c];  de_uv = α_uv·(Σ_c do[v][hC+c]·t[u][hC+c] - g[v][h])
//   dr[v] = att·Σ_u de_uv·leaky'(t[u] + r[v]);  da[v] = Σ_u de_uv·leaky(t[u] + r[v]);  dt[u] = Σ_v α_uv·do[v] + att·de_uv·leaky'(t[u] + r[v])
//
// over the entries of a row in the inner block and then in the halo block. A warp does one row and one tile of a head's columns; groups of G lanes take entries in
// turn. A score needs all columns of the head: lanes of a group add up its terms, which lie in the L1 cache when the tile's columns are read. Tiles of a head that
// is wider than one make its scores each for itself. The forward pass goes through the entries once, with the maximum so far.
//
// As Σ_u de_uv = 0, dr is (1 - slope)·att times the sum of de over the entries with t + r > 0, or minus that of the others, whichever is smaller: 0 without a
// rounding where all have one sign.
#include "gat.cuh"

namespace {

// Tile is the columns of one head, blockIdx.y: column first + i·G of a lane, i < V, below limit.
template <int G, int V> struct Tile {
  int head, from, to;  // all columns of the head
  int first, limit;

  __device__ explicit Tile(int channels) {
    const int pieces = (channels + G * V - 1) / (G * V), piece = blockIdx.y % pieces;
    head = blockIdx.y / pieces;
    from = head * channels;
    to = from + channels;
    first = from + piece * G * V + threadIdx.x % G;
    limit = piece + 1 < pieces ? from + (piece + 1) * G * V : to;
  }
  __device__ int column(int i) const { return first + i * G; }
  __device__ bool inside(int i) const { return column(i) < limit; }

  // score is e of rows t and r; every lane of a group gets it. All lanes of a warp call; a group without rows says so.
  __device__ float score(const float* t, const float* r, const float* att, float slope, bool has) const {
    float s = 0.f;
    if (has)
      for (int c = from + threadIdx.x % G; c < to; c += G) s = fmaf(att[c], leaky(t[c] + r[c], slope), s);
    return warp_sum<G>(s);
  }

  // dot is the product of two rows.
  __device__ float dot(const float* a, const float* b, bool has) const {
    float s = 0.f;
    if (has)
      for (int c = from + threadIdx.x % G; c < to; c += G) s = fmaf(a[c], b[c], s);
    return warp_sum<G>(s);
  }
};

// warp_row is the row of a warp, from lo on.
CAPGNN_FN i64 warp_row(i64 lo) { return lo + (i64)blockIdx.x * CAPGNN_WARPS + threadIdx.x / 32; }

// each calls f(u, has) for a row's entries in one block, 32/G at a time: for all lanes, the last time also for groups that have none.
template <int G, class F> CAPGNN_FN void each(const Edges& e, F f) {
  const int part = threadIdx.x % 32 / G;
#pragma unroll 1
  for (i64 k = e.from; k < e.to; k += 32 / G) {
    const bool has = k + part < e.to;
    f((i64)(has ? e.indices[k + part] : 0), has);
  }
}

template <int G, int V>
CAPGNN_FN void sum(float* o, int ldo, float* lse, int ld_lse, const Sparse& inner, const Sparse& halo, const float* t, int ldt, const float* t2, int ldt2,
                   const float* r, int ldr, const float* att, float slope, i64 lo, i64 hi, int channels) {
  const i64 v = warp_row(lo);
  if (v >= hi) return;
  const Tile<G, V> tile(channels);
  const Edges a = edges(inner, v, false), b = edges(halo, v, false);
  float top = -INFINITY, total = 0.f, acc[V];
#pragma unroll
  for (int i = 0; i < V; i++) acc[i] = 0.f;
#pragma unroll 1
  for (int side = 0; side < 2; side++) {
    const float* rows = side ? t2 : t;
    const int ld = side ? ldt2 : ldt;
    each<G>(pick(side, a, b), [&](i64 u, bool has) {
      const float* row = rows + u * ld;
      const float e = tile.score(row, r + v * ldr, att, slope, has);
      if (!has) return;
      float w = 1.f;
      if (e <= top) {
        w = expf(e - top);
        total += w;
      } else {  // larger, or NaN
        const float f = expf(top - e);
        total = total * f + 1.f;
#pragma unroll
        for (int i = 0; i < V; i++) acc[i] *= f;
        top = e;
      }
#pragma unroll
      for (int i = 0; i < V; i++)
        if (tile.inside(i)) acc[i] = fmaf(w, row[tile.column(i)], acc[i]);
    });
  }
#pragma unroll
  for (int s = 16; s >= G; s >>= 1) {
    const float other = __shfl_xor_sync(CAPGNN_FULL, top, s), both = fmaxf(top, other);
    const float more = __shfl_xor_sync(CAPGNN_FULL, total, s);
    const float f = total == 0.f ? 0.f : expf(top - both), g = more == 0.f ? 0.f : expf(other - both);
    total = total * f + more * g;
    top = both;
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float x = __shfl_xor_sync(CAPGNN_FULL, acc[i], s);
      acc[i] = acc[i] * f + x * g;
    }
  }
  if (threadIdx.x % 32 >= G) return;
#pragma unroll
  for (int i = 0; i < V; i++)
    if (tile.inside(i)) o[v * ldo + tile.column(i)] = total == 0.f ? 0.f : acc[i] / total;
  if (tile.first == tile.from) lse[v * ld_lse + tile.head] = total == 0.f ? 0.f : top + logf(total);
}

template <int G, int V>
CAPGNN_FN void dst(float* dr, int ld_dr, float* da, int ld_da, const float* g, int ldg, const float* d_o, int ld_do, const float* lse, int ld_lse,
                   const Sparse& inner, const Sparse& halo, const float* t, int ldt, const float* t2, int ldt2, const float* r, int ldr, const float* att,
                   float slope, i64 rows, int channels) {
  const i64 v = warp_row(0);
  if (v >= rows) return;
  const Tile<G, V> tile(channels);
  const float norm = lse[v * ld_lse + tile.head], less = g[v * ldg + tile.head];
  const Edges a = edges(inner, v, false), b = edges(halo, v, false);
  float all = 0.f, positive[V], moment[V];
#pragma unroll
  for (int i = 0; i < V; i++) positive[i] = moment[i] = 0.f;
#pragma unroll 1
  for (int side = 0; side < 2; side++) {
    const float* from = side ? t2 : t;
    const int ld = side ? ldt2 : ldt;
    each<G>(pick(side, a, b), [&](i64 u, bool has) {
      const float* row = from + u * ld;
      const float e = tile.score(row, r + v * ldr, att, slope, has), q = tile.dot(row, d_o + v * ld_do, has);
      if (!has) return;
      const float de = expf(e - norm) * (q - less);
      all += de;
#pragma unroll
      for (int i = 0; i < V; i++)
        if (tile.inside(i)) {
          const float x = row[tile.column(i)] + r[v * ldr + tile.column(i)];
          positive[i] += x > 0.f ? de : 0.f;
          moment[i] = fmaf(de, leaky(x, slope), moment[i]);
        }
    });
  }
  all = warp_sum_across<G>(all);
#pragma unroll
  for (int i = 0; i < V; i++) {
    const float p = warp_sum_across<G>(positive[i]), n = p - all, m = warp_sum_across<G>(moment[i]);
    if (threadIdx.x % 32 >= G || !tile.inside(i)) continue;
    dr[v * ld_dr + tile.column(i)] = att[tile.column(i)] * ((1.f - slope) * (fabsf(n) < fabsf(p) ? n : p));
    da[v * ld_da + tile.column(i)] = m;
  }
}

template <int G, int V>
CAPGNN_FN void src(float* dt, int ld_dt, const float* t, int ldt, const Sparse& a, const float* d_o, int ld_do, const float* r, int ldr, const float* lse,
                   int ld_lse, const float* g, int ldg, const float* att, float slope, i64 rows, int channels) {
  const i64 u = warp_row(0);
  if (u >= rows) return;
  const Tile<G, V> tile(channels);
  const float* row = t + u * ldt;
  float sum[V], slopes[V];
#pragma unroll
  for (int i = 0; i < V; i++) sum[i] = slopes[i] = 0.f;
  each<G>(edges(a, u, false), [&](i64 v, bool has) {
    const float e = tile.score(row, r + v * ldr, att, slope, has), q = tile.dot(row, d_o + v * ld_do, has);
    if (!has) return;
    const float alpha = expf(e - lse[v * ld_lse + tile.head]), de = alpha * (q - g[v * ldg + tile.head]);
#pragma unroll
    for (int i = 0; i < V; i++)
      if (tile.inside(i)) {
        sum[i] = fmaf(alpha, d_o[v * ld_do + tile.column(i)], sum[i]);
        slopes[i] += row[tile.column(i)] + r[v * ldr + tile.column(i)] > 0.f ? de : slope * de;
      }
  });
#pragma unroll
  for (int i = 0; i < V; i++) {
    const float s = warp_sum_across<G>(sum[i]), d = warp_sum_across<G>(slopes[i]);
    if (threadIdx.x % 32 < G && tile.inside(i)) dt[u * ld_dt + tile.column(i)] = fmaf(att[tile.column(i)], d, s);
  }
}

}  // namespace

// g[v][h] = Σ_c do[v][hC+c]·o[v][hC+c]: a warp for every row.
extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK) capgnn_gatv2_dots(float* g, int ldg, const float* d_o, int ld_do, const float* o, int ldo, i64 rows,
                                                                              u64 shape) {
  const i64 v = warp_row(0);
  if (v >= rows) return;
  for (int h = 0; h < low(shape); h++) {
    float s = 0.f;
    for (int c = h * high(shape) + threadIdx.x % 32; c < (h + 1) * high(shape); c += 32) s = fmaf(d_o[v * ld_do + c], o[v * ldo + c], s);
    s = warp_sum(s);
    if (threadIdx.x % 32 == 0) g[v * ldg + h] = s;
  }
}
CAPGNN_KERNEL(capgnn_gatv2_dots)

#define GATV2(suffix, G, V) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK) capgnn_gatv2_sum##suffix( \
      float* o, int ldo, float* lse, int ld_lse, const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, const float* t, int ldt, \
      const i64* begin2, const i64* end2, const int* indices2, const int* list2, i64 stored2, const float* t2, int ldt2, const float* r, int ldr, \
      const float* att, float slope, i64 lo, i64 hi, int channels) { \
    sum<G, V>(o, ldo, lse, ld_lse, {begin, end, indices, list, stored}, {begin2, end2, indices2, list2, stored2}, t, ldt, t2, ldt2, r, ldr, att, slope, lo, hi, \
              channels); \
  } \
  CAPGNN_KERNEL(capgnn_gatv2_sum##suffix) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK) capgnn_gatv2_dst##suffix( \
      float* dr, int ld_dr, float* da, int ld_da, const float* g, int ldg, const float* d_o, int ld_do, const float* lse, int ld_lse, const i64* begin, \
      const i64* end, const int* indices, const int* list, i64 stored, const float* t, int ldt, const i64* begin2, const i64* end2, const int* indices2, \
      const int* list2, i64 stored2, const float* t2, int ldt2, const float* r, int ldr, const float* att, float slope, i64 rows, int channels) { \
    dst<G, V>(dr, ld_dr, da, ld_da, g, ldg, d_o, ld_do, lse, ld_lse, {begin, end, indices, list, stored}, {begin2, end2, indices2, list2, stored2}, t, ldt, t2, \
              ldt2, r, ldr, att, slope, rows, channels); \
  } \
  CAPGNN_KERNEL(capgnn_gatv2_dst##suffix) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK) capgnn_gatv2_src##suffix( \
      float* dt, int ld_dt, const float* t, int ldt, const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, const float* d_o, \
      int ld_do, const float* r, int ldr, const float* lse, int ld_lse, const float* g, int ldg, const float* att, float slope, i64 rows, int channels) { \
    src<G, V>(dt, ld_dt, t, ldt, {begin, end, indices, list, stored}, d_o, ld_do, r, ldr, lse, ld_lse, g, ldg, att, slope, rows, channels); \
  } \
  CAPGNN_KERNEL(capgnn_gatv2_src##suffix)

GATV2(_16, 8, 2)
GATV2(_128, 32, 4)
