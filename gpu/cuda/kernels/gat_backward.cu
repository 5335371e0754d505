// Attention: gradients (gpu.GATGradDst, gpu.GATGradSrc).
//
//   gat_dst, row v, over entries u:   g[v][h] = Σ_c do[v][hC+c]·(o[v][hC+c] - bias[hC+c])
//     de_u = α_u·(Σ_c do[v][hC+c]·t[u][hC+c] - g[v][h])·leaky'(s[u][h] + d[v][h]);  dd[v][h] = Σ_u de_u
//   gat_src, row u, over entries v:   dt[u][hC+c] = Σ_v α_v·do[v][hC+c];  ds[u][h] = Σ_v de_v, de as above with v's g
//
// α = exp(leaky(s[u][h] + d[v][h]) - lse[v][h]). The entries are those of the inner block and then of the halo block. A warp
// does one row and one tile of heads; rows of more than CAPGNN_HUB entries get a block.
//
// _4: channels is 4 times a power of two and at most 256. A lane holds columns of the row in registers, each entry's row is
// read once with loads of 16 bytes, and a head's dot product is added over the lanes that hold it. _1: any channels; a warp
// does one head (and for dt up to 128 of its columns), and reads the entries' rows as it needs them.
#include "gat.cuh"

namespace {

typedef Slice<2, 4> Wide;
typedef Slice<4, 1> Thin;

// head_sums adds p[c] over the columns of each head: all lanes of a head get its sum.
CAPGNN_FN void head_sums(float* p, int channels) {
  if (channels == Wide::TILE) {
    p[0] = p[1] = warp_sum(p[0] + p[1]);
    return;
  }
  for (int o = channels / 8; o > 0; o /= 2) {
    p[0] += __shfl_xor_sync(CAPGNN_FULL, p[0], o);
    p[1] += __shfl_xor_sync(CAPGNN_FULL, p[1], o);
  }
}

CAPGNN_FN float dot4(const float* a, const float* b) {
  float s = a[0] * b[0];
  s = fmaf(a[1], b[1], s);
  s = fmaf(a[2], b[2], s);
  return fmaf(a[3], b[3], s);
}

// Score is what an entry's weight is made of.
struct Score {
  float x, lse, slope;
  __device__ float alpha() const { return expf(leaky(x, slope) - lse); }
  __device__ float slope_at() const { return x > 0.f ? 1.f : slope; }
};

// dot is Σ_j a[j]·b[j] over the lanes' shares of n columns: not yet added over the warp.
CAPGNN_FN float dot(const float* a, const float* b, int n) {
  float s = 0.f;
  for (int j = threadIdx.x % 32; j < n; j += 32) s = fmaf(a[j], b[j], s);
  return s;
}

struct Dst {
  float *dd, *g;
  const float *d_o, *o, *lse, *d, *bias;
  int ld_dd, ld_g, ld_do, ld_o, ld_lse, ld_d;
  Sparse inner, halo;
  Rows inner_rows, halo_rows;
  float slope;
};

// batches calls load(i, column) for up to AHEAD entries and then add(i) for each of them, in order. i is a constant in every
// call, so what load fills may be an array in registers.
template <int AHEAD, class L, class A> CAPGNN_FN void batches(const Edges& e, L load, A add) {
  const int lane = threadIdx.x % 32;
  for (i64 e0 = e.from; e0 < e.to; e0 += 32) {
    const int n = e.to - e0 < 32 ? (int)(e.to - e0) : 32;
    const int index = lane < n ? __ldcs(e.indices + e0 + lane) : 0;
    for (int k = 0; k < n; k += AHEAD) {
#pragma unroll
      for (int i = 0; i < AHEAD; i++) {
        const int column = __shfl_sync(CAPGNN_FULL, index, (k + i) & 31);
        if (k + i < n) load(i, column);
      }
#pragma unroll
      for (int i = 0; i < AHEAD; i++)
        if (k + i < n) add(i);
    }
  }
}

// dst_wide does the row's heads of one tile.
CAPGNN_FN void dst_wide(const Dst& p, const Wide& slice, i64 v, bool hub, float* shared) {
  float grad[2][4], dd[2] = {0.f, 0.f}, g[2], lse[2], d[2];
  int head[2];
  slice.load(grad, p.d_o + v * p.ld_do);
  float out[2][4];
  slice.load(out, p.o + v * p.ld_o);
#pragma unroll
  for (int c = 0; c < 2; c++) {
    if (p.bias && slice.inside(c))
#pragma unroll
      for (int i = 0; i < 4; i++) out[c][i] -= p.bias[slice.column(c) + i];
    g[c] = dot4(grad[c], out[c]);
    head[c] = slice.head(c);
    lse[c] = p.lse[v * p.ld_lse + head[c]];
    d[c] = p.d[v * p.ld_d + head[c]];
  }
  head_sums(g, slice.channels);
  const Edges inner = edges(p.inner, v, hub), halo = edges(p.halo, v, hub);
#pragma unroll 1
  for (int side = 0; side < 2; side++) {
    const Rows r = pick(side, p.inner_rows, p.halo_rows);
    float t[4][2][4], s[4][2];
    batches<4>(
        pick(side, inner, halo),
        [&](int i, i64 u) {
          slice.load(t[i], r.wide + u * r.ld_wide);
#pragma unroll
          for (int c = 0; c < 2; c++) s[i][c] = r.narrow[u * r.ld_narrow + head[c]];
        },
        [&](int i) {
          float product[2];
#pragma unroll
          for (int c = 0; c < 2; c++) product[c] = dot4(grad[c], t[i][c]);
          head_sums(product, slice.channels);
#pragma unroll
          for (int c = 0; c < 2; c++) {
            const Score score = {s[i][c] + d[c], lse[c], p.slope};
            dd[c] = fmaf(score.alpha() * (product[c] - g[c]), score.slope_at(), dd[c]);
          }
        });
  }
#pragma unroll
  for (int c = 0; c < 2; c++) {
    if (hub) dd[c] = add_warps(dd[c], shared);
    if ((hub && threadIdx.x >= 32) || !slice.inside(c) || slice.column(c) % slice.channels) continue;
    p.dd[v * p.ld_dd + head[c]] = dd[c];
    p.g[v * p.ld_g + head[c]] = g[c];
  }
}

// dst_thin does one head of the row.
CAPGNN_FN void dst_thin(const Dst& p, int head, int channels, i64 v, bool hub, float* shared) {
  const float* grad = p.d_o + v * p.ld_do + head * channels;
  const float* out = p.o + v * p.ld_o + head * channels;
  float g = 0.f, dd = 0.f;
  for (int j = threadIdx.x % 32; j < channels; j += 32)
    g = fmaf(grad[j], p.bias ? out[j] - p.bias[head * channels + j] : out[j], g);
  g = warp_sum(g);
  const float lse = p.lse[v * p.ld_lse + head], d = p.d[v * p.ld_d + head];
  const Edges inner = edges(p.inner, v, hub), halo = edges(p.halo, v, hub);
#pragma unroll 1
  for (int side = 0; side < 2; side++) {
    const Edges e = pick(side, inner, halo);
    const Rows r = pick(side, p.inner_rows, p.halo_rows);
    for (i64 k = e.from; k < e.to; k++) {
      const i64 u = e.indices[k];
      const float s = warp_sum(dot(grad, r.wide + u * r.ld_wide + head * channels, channels));
      const Score score = {r.narrow[u * r.ld_narrow + head] + d, lse, p.slope};
      dd = fmaf(score.alpha() * (s - g), score.slope_at(), dd);
    }
  }
  if (hub) dd = add_warps(dd, shared);
  if (threadIdx.x % 32 || (hub && threadIdx.x)) return;
  p.dd[v * p.ld_dd + head] = dd;
  p.g[v * p.ld_g + head] = g;
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

struct Src {
  float *dt, *ds;
  const float *t, *s;
  int ld_dt, ld_ds, ld_t, ld_s;
  Sparse inner, halo;
  Targets inner_rows, halo_rows;
  float slope;
};

// src_wide does the row's heads of one tile.
CAPGNN_FN void src_wide(const Src& p, const Wide& slice, i64 u, bool hub, float* shared) {
  float t[2][4], dt[2][4], ds[2] = {0.f, 0.f}, s[2];
  int head[2];
  slice.load(t, p.t + u * p.ld_t);
#pragma unroll
  for (int c = 0; c < 2; c++) {
    head[c] = slice.head(c);
    s[c] = p.s[u * p.ld_s + head[c]];
#pragma unroll
    for (int i = 0; i < 4; i++) dt[c][i] = 0.f;
  }
  const Edges inner = edges(p.inner, u, hub), halo = edges(p.halo, u, hub);
#pragma unroll 1
  for (int side = 0; side < 2; side++) {
    const Targets r = pick(side, p.inner_rows, p.halo_rows);
    float grad[3][2][4], d[3][2], lse[3][2], g[3][2];
    batches<3>(
        pick(side, inner, halo),
        [&](int i, i64 v) {
          slice.load(grad[i], r.d_o + v * r.ld_do);
#pragma unroll
          for (int c = 0; c < 2; c++) {
            d[i][c] = r.d[v * r.ld_d + head[c]];
            lse[i][c] = r.lse[v * r.ld_lse + head[c]];
            g[i][c] = r.g[v * r.ld_g + head[c]];
          }
        },
        [&](int i) {
          float product[2];
#pragma unroll
          for (int c = 0; c < 2; c++) product[c] = dot4(grad[i][c], t[c]);
          head_sums(product, slice.channels);
#pragma unroll
          for (int c = 0; c < 2; c++) {
            const Score score = {s[c] + d[i][c], lse[i][c], p.slope};
            const float alpha = score.alpha();
            ds[c] = fmaf(alpha * (product[c] - g[i][c]), score.slope_at(), ds[c]);
#pragma unroll
            for (int k = 0; k < 4; k++) dt[c][k] = fmaf(alpha, grad[i][c][k], dt[c][k]);
          }
        });
  }
#pragma unroll
  for (int c = 0; c < 2; c++) {
    if (!hub) continue;
    ds[c] = add_warps(ds[c], shared);
#pragma unroll
    for (int i = 0; i < 4; i++) dt[c][i] = add_warps(dt[c][i], shared);
  }
  if (hub && threadIdx.x >= 32) return;
  slice.store(p.dt + u * p.ld_dt, dt);
#pragma unroll
  for (int c = 0; c < 2; c++)
    if (slice.inside(c) && slice.column(c) % slice.channels == 0) p.ds[u * p.ld_ds + head[c]] = ds[c];
}

// src_thin does one head of the row, and up to Thin::TILE of its columns.
CAPGNN_FN void src_thin(const Src& p, const Thin& slice, i64 u, bool hub, float* shared) {
  const int head = slice.head0, from = head * slice.channels;
  const float* t = p.t + u * p.ld_t + from;
  const float s = p.s[u * p.ld_s + head];
  float dt[4][1] = {{0.f}, {0.f}, {0.f}, {0.f}}, ds = 0.f;
  const Edges inner = edges(p.inner, u, hub), halo = edges(p.halo, u, hub);
#pragma unroll 1
  for (int side = 0; side < 2; side++) {
    const Edges e = pick(side, inner, halo);
    const Targets r = pick(side, p.inner_rows, p.halo_rows);
    for (i64 k = e.from; k < e.to; k++) {
      const i64 v = e.indices[k];
      float grad[4][1];
      slice.load(grad, r.d_o + v * r.ld_do);
      const float product = warp_sum(dot(r.d_o + v * r.ld_do + from, t, slice.channels));
      const Score score = {s + r.d[v * r.ld_d + head], r.lse[v * r.ld_lse + head], p.slope};
      const float alpha = score.alpha();
      ds = fmaf(alpha * (product - r.g[v * r.ld_g + head]), score.slope_at(), ds);
#pragma unroll
      for (int c = 0; c < 4; c++) dt[c][0] = fmaf(alpha, grad[c][0], dt[c][0]);
    }
  }
  if (hub) {
    ds = add_warps(ds, shared);
#pragma unroll
    for (int c = 0; c < 4; c++) dt[c][0] = add_warps(dt[c][0], shared);
    if (threadIdx.x >= 32) return;
  }
  slice.store(p.dt + u * p.ld_dt, dt);
  if (slice.leading && threadIdx.x % 32 == 0) p.ds[u * p.ld_ds + head] = ds;
}

CAPGNN_FN void dst_rows(const Dst& p, bool wide, i64 rows, u64 shape, int tile_heads, u32 hub_blocks) {
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const Wide slice(low(shape), high(shape), tile_heads);
  each_row(0, rows, hub_blocks, found, [&](i64 r) { return p.inner.length(r) + p.halo.length(r); }, [&](i64 v, bool hub) {
    if (wide) {
      dst_wide(p, slice, v, hub, shared);
    } else {
      dst_thin(p, blockIdx.y, high(shape), v, hub, shared);
    }
  });
}

CAPGNN_FN void src_rows(const Src& p, bool wide, i64 rows, u64 shape, int tile_heads, u32 hub_blocks) {
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  each_row(0, rows, hub_blocks, found, [&](i64 r) { return p.inner.length(r) + p.halo.length(r); }, [&](i64 u, bool hub) {
    if (wide) {
      src_wide(p, Wide(low(shape), high(shape), tile_heads), u, hub, shared);
    } else {
      src_thin(p, Thin(low(shape), high(shape), 1), u, hub, shared);
    }
  });
}

}  // namespace

// ld_* hold two strides, the first in the lower half; shape holds heads and channels.
#define GAT_DST(name, wide) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 2) name( \
      float* dd, float* g, u64 ld_out, const float* d_o, const float* o, u64 ld_o, const float* lse, const float* d, u64 ld_d, \
      const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, const float* t, const float* s, \
      u64 ld_in, const i64* begin2, const i64* end2, const int* indices2, const int* list2, i64 stored2, const float* t2, \
      const float* s2, u64 ld_in2, const float* bias, float slope, i64 rows, u64 shape, int tile_heads, int hub_blocks) { \
    const Dst p = {dd, g, d_o, o, lse, d, bias, low(ld_out), high(ld_out), low(ld_o), high(ld_o), low(ld_d), high(ld_d), \
                   {begin, end, indices, list, stored}, {begin2, end2, indices2, list2, stored2}, \
                   {t, s, low(ld_in), high(ld_in)}, {t2, s2, low(ld_in2), high(ld_in2)}, slope}; \
    dst_rows(p, wide, rows, shape, tile_heads, hub_blocks); \
  } \
  CAPGNN_KERNEL(name)

#define GAT_SRC(name, wide) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 2) name( \
      float* dt, float* ds, u64 ld_out, const float* t, const float* s, u64 ld_in, const i64* begin, const i64* end, \
      const int* indices, const int* list, i64 stored, const float* d_o, const float* d, const float* lse, const float* g, \
      u64 ld_do, u64 ld_lse, const i64* begin2, const i64* end2, const int* indices2, const int* list2, i64 stored2, \
      const float* d_o2, const float* d2, const float* lse2, const float* g2, u64 ld_do2, u64 ld_lse2, float slope, u64 shape, \
      i64 rows, u64 tile) { \
    const Src p = {dt, ds, t, s, low(ld_out), high(ld_out), low(ld_in), high(ld_in), \
                   {begin, end, indices, list, stored}, {begin2, end2, indices2, list2, stored2}, \
                   {d_o, d, lse, g, low(ld_do), high(ld_do), low(ld_lse), high(ld_lse)}, \
                   {d_o2, d2, lse2, g2, low(ld_do2), high(ld_do2), low(ld_lse2), high(ld_lse2)}, slope}; \
    src_rows(p, wide, rows, shape, low(tile), high(tile)); \
  } \
  CAPGNN_KERNEL(name)

GAT_DST(capgnn_gat_dst_4, true)
GAT_DST(capgnn_gat_dst_1, false)
GAT_SRC(capgnn_gat_src_4, true)
GAT_SRC(capgnn_gat_src_1, false)
