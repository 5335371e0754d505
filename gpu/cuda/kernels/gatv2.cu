// Attention whose scores are of sums of rows (gpu.GATv2Args, gpu.GATv2GradDst, gpu.GATv2GradSrc).
//
//   e_uv = Σ_c att[hC+c]·leaky(t[u][hC+c] + r[v][hC+c]);  α_uv = exp(e_uv - lse[v][h]), lse[v][h] = log Σ_u exp(e_uv)
//   o[v] = Σ_u m_uv·α_uv·t[u];  g[v][h] = Σ_c do[v][hC+c]·o[v][hC+c];  de_uv = α_uv·(m_uv·Σ_c do[v][hC+c]·t[u][hC+c] - g[v][h])
//   dr[v] = att·Σ_u de_uv·leaky'(t[u] + r[v]);  da[v] = Σ_u de_uv·leaky(t[u] + r[v]);  dt[u] = Σ_v m_uv·α_uv·do[v] + att·de_uv·leaky'(t[u] + r[v])
//
// m = 1, or in the _drop kernels what dropout says; over the entries of a row in the inner block and then in the halo block. A warp does one row and one tile of a head's columns; its groups of G lanes take every
// 32/G-th entry each, some at a time: their rows are read together, the lanes of a group add up the score of each, and the rows are added. The forward pass goes
// through the entries once, with the maximum so far. Tiles of a head that is wider than one make its scores each for itself. Rows of more than CAPGNN_HUB entries get
// a block.
//
// As Σ_u de_uv = 0, dr is (1 - slope)·att times the sum of de over the entries with t + r > 0, or minus that of the others, whichever is smaller: 0 without a
// rounding where all have one sign.
#include "gat.cuh"

namespace {

// Tile is a piece of a head's columns, and how scores come about. Lanes of V > 1 columns hold all of them or none. Unless WIDE, it holds a whole head.
template <int G, int C, int V, bool WIDE> struct Tile {
  const Piece<G, C, V> piece;
  const float* weights;  // att
  const int from, to;    // the columns of the head
  const int begin;       // the first column of the tile
  const float slope;
  float att[C][V];

  __device__ Tile(int channels, const float* att_, float slope_)
      : piece(channels), weights(att_), from(piece.head * channels), to(from + channels), begin(from + (int)piece.number * piece.WIDTH), slope(slope_) {
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) att[c][i] = piece.inside(c) ? weights[piece.column(c) + i] : 0.f;
  }

  // load reads the tile's columns of a row; 0 where there is none.
  __device__ __forceinline__ void load(Stored<float, V>* x, const float* row, bool has) const {
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (has && piece.inside(c)) {
        x[c].load(row + piece.column(c));
      } else {
        x[c].clear();
      }
    }
  }

  // elsewhere adds up f(column) over the head's columns outside of the tile, a lane's share.
  template <class F> __device__ __forceinline__ float elsewhere(bool has, F f) const {
    float s = 0.f;
    if (WIDE && has)
      for (int c = from + threadIdx.x % G; c < to; c += G)
        if (c < begin || c >= piece.limit) s += f(c);
    return s;
  }

  // score is e of two rows, whose columns x and y lanes hold. All lanes of a group get it.
  __device__ __forceinline__ float score(const Stored<float, V>* x, const Stored<float, V>* y, const float* row_x, const float* row_y, bool has) const {
    float s = elsewhere(has, [&](int c) { return weights[c] * leaky(row_x[c] + row_y[c], slope); });
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) s = fmaf(att[c][i], leaky(x[c].element(i) + y[c].element(i), slope), s);
    return warp_sum<G>(s);
  }

  // dot is the product of two rows, as score.
  __device__ __forceinline__ float dot(const Stored<float, V>* x, const Stored<float, V>* y, const float* row_x, const float* row_y, bool has) const {
    float s = elsewhere(has, [&](int c) { return row_x[c] * row_y[c]; });
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) s = fmaf(x[c].element(i), y[c].element(i), s);
    return warp_sum<G>(s);
  }

  // store writes the tile's columns of a row, by the first group.
  __device__ __forceinline__ void store(float* row, const float (*v)[V]) const {
    if (threadIdx.x % 32 >= G) return;
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (!piece.inside(c)) continue;
      if (V == 4) {
        stream4(row + piece.column(c), v[c]);
      } else {
        row[piece.column(c)] = v[c][0];
      }
    }
  }
};

template <int C, int V> CAPGNN_FN void zero(float (*v)[V]) {
#pragma unroll
  for (int c = 0; c < C; c++)
#pragma unroll
    for (int i = 0; i < V; i++) v[c][i] = 0.f;
}

// total adds up what the groups of a warp hold, and for a hub what the warps of the block hold: warp 0 gets the sums.
template <int G, int C, int V> CAPGNN_FN void total(float (*v)[V], bool hub, float* shared) {
#pragma unroll
  for (int c = 0; c < C; c++)
#pragma unroll
    for (int i = 0; i < V; i++) {
      v[c][i] = warp_sum_across<G>(v[c][i]);
      if (hub) v[c][i] = add_warps(v[c][i], shared);
    }
}

// in_turn calls f(index, m, k, n) until the entries index of lanes k ≤ l < n have all been taken, AHEAD of each group a time. Lane l of a warp holds entry l of 32, and
// the next 32 are on their way meanwhile. m = weigh(index) is what its weight is multiplied by, where some are dropped.
template <int G, int AHEAD, class W, class F> CAPGNN_FN void in_turn(const Edges& e, W weigh, F f) {
  const int* indices = e.indices + e.from;
  const int n = (int)(e.to - e.from), lane = threadIdx.x % 32;
  int next = lane < n ? __ldcs(indices + lane) : 0;
#pragma unroll 1
  for (int k = 0; k < n; k += 32) {
    const int index = next, some = n - k < 32 ? n - k : 32;
    const float m = CAPGNN_DROPS && lane < some ? weigh(index) : 1.f;
    next = k + 32 + lane < n ? __ldcs(indices + k + 32 + lane) : 0;
#pragma unroll 1
    for (int k0 = 0; k0 < some; k0 += AHEAD * (32 / G)) f(index, m, k0, some);
  }
}

// Entry is what a group takes in one turn: the row that it reads, if it has one.
struct Entry {
  bool has;
  i64 row;
  float m;
};

// take is turn u of the entries from k on.
template <int G> CAPGNN_FN Entry take(int index, float m, int k, int u, int n) {
  k += u * (32 / G) + threadIdx.x % 32 / G;
  return {k < n, __shfl_sync(CAPGNN_FULL, index, k & 31), CAPGNN_DROPS ? __shfl_sync(CAPGNN_FULL, m, k & 31) : 1.f};
}

// Wide is a matrix whose rows are read.
struct Wide {
  const float* at;
  int ld;

  __device__ const float* row(i64 i) const { return at + i * ld; }
};

CAPGNN_FN Wide pick(bool second, const Wide& a, const Wide& b) { return {second ? b.at : a.at, second ? b.ld : a.ld}; }

CAPGNN_FN Sparse pick(bool second, const Sparse& a, const Sparse& b) {
  return {second ? b.begin : a.begin, second ? b.end : a.end, second ? b.indices : a.indices, second ? b.list : a.list, second ? b.stored : a.stored};
}

template <int G, int C, int V, int AHEAD, bool WIDE>
CAPGNN_FN void sum(float* o, int ldo, float* lse, int ld_lse, const Sparse& inner, const Wide& t, const Sparse& halo, const Wide& t2, const Wide& r,
                   const float* att, Scoring scoring, i64 lo, i64 hi, int channels, u32 hub_blocks) {
  const float slope = slope_of(scoring);
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const Tile<G, C, V, WIDE> tile(channels, att, slope);
  const auto length = [&](i64 i) { return inner.length(i) + halo.length(i); };
  each_row(lo, hi, hub_blocks, found, length, [&](i64 v, bool hub) {
    Stored<float, V> own[C];
    tile.load(own, r.row(v), true);
    float top = -INFINITY, mass = 0.f, acc[C][V];
    zero<C, V>(acc);
    const auto shrink = [&](float now) { return top == now ? 1.f : expf(top - now); };
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
      const Wide from = pick(side, t, t2);
      const auto weigh = [&](i64 u) { return factor(scoring, side, v, u, tile.piece.head); };
      in_turn<G, AHEAD>(edges(pick(side, inner, halo), v, hub), weigh, [&](int index, float m, int k, int n) {
        Stored<float, V> x[AHEAD][C];
        Entry entry[AHEAD];
        float e[AHEAD], now = top;
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
          entry[u] = take<G>(index, m, k, u, n);
          tile.load(x[u], from.row(entry[u].row), entry[u].has);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
          e[u] = tile.score(x[u], own, from.row(entry[u].row), r.row(v), entry[u].has);
          if (!entry[u].has) e[u] = -INFINITY;
          now = fmaxf(now, e[u]);
        }
        const float f = shrink(now);
        mass *= f;
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
          for (int i = 0; i < V; i++) acc[c][i] *= f;
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
          const float w = entry[u].has ? expf(e[u] - now) : 0.f;
          mass += w;
#pragma unroll
          for (int c = 0; c < C; c++)
#pragma unroll
            for (int i = 0; i < V; i++) acc[c][i] = fmaf(w * entry[u].m, x[u][c].element(i), acc[c][i]);
        }
        top = now;
      });
    }
    float most = top;
#pragma unroll
    for (int s = 16; s >= G; s >>= 1) most = fmaxf(most, __shfl_xor_sync(CAPGNN_FULL, most, s));
    if (hub) {
      __syncthreads();
      if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = most;
      __syncthreads();
      for (int w = 0; w < CAPGNN_WARPS; w++) most = fmaxf(most, shared[w]);
    }
    const float f = shrink(most);
    mass = warp_sum_across<G>(mass * f);
    if (hub) mass = add_warps(mass, shared);
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) acc[c][i] *= f;
    total<G, C, V>(acc, hub, shared);
    if (hub && threadIdx.x >= 32) return;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) acc[c][i] = mass == 0.f ? 0.f : acc[c][i] / mass;
    tile.store(o + v * ldo, acc);
    if (tile.piece.leading && threadIdx.x % 32 == 0) lse[v * ld_lse + tile.piece.head] = mass == 0.f ? 0.f : most + logf(mass);
  });
}

template <int G, int C, int V, int AHEAD, bool WIDE>
CAPGNN_FN void dst(float* dr, int ld_dr, float* da, int ld_da, const float* g, int ldg, const Wide& d_o, const float* lse, int ld_lse, const Sparse& inner,
                   const Wide& t, const Sparse& halo, const Wide& t2, const Wide& r, const float* att, Scoring scoring, i64 rows, int channels, u32 hub_blocks) {
  const float slope = slope_of(scoring);
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const Tile<G, C, V, WIDE> tile(channels, att, slope);
  const auto length = [&](i64 i) { return inner.length(i) + halo.length(i); };
  each_row(0, rows, hub_blocks, found, length, [&](i64 v, bool hub) {
    const float norm = lse[v * ld_lse + tile.piece.head], less = g[v * ldg + tile.piece.head];
    Stored<float, V> own[C], grad[C];
    tile.load(own, r.row(v), true);
    tile.load(grad, d_o.row(v), true);
    float all = 0.f, positive[C][V], moment[C][V];
    zero<C, V>(positive);
    zero<C, V>(moment);
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
      const Wide from = pick(side, t, t2);
      const auto weigh = [&](i64 u) { return factor(scoring, side, v, u, tile.piece.head); };
      in_turn<G, AHEAD>(edges(pick(side, inner, halo), v, hub), weigh, [&](int index, float m, int k, int n) {
        Stored<float, V> x[AHEAD][C];
        Entry entry[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
          entry[u] = take<G>(index, m, k, u, n);
          tile.load(x[u], from.row(entry[u].row), entry[u].has);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
          const float e = tile.score(x[u], own, from.row(entry[u].row), r.row(v), entry[u].has);
          const float q = tile.dot(x[u], grad, from.row(entry[u].row), d_o.row(v), entry[u].has);
          const float de = entry[u].has ? expf(e - norm) * (entry[u].m * q - less) : 0.f;
          all += de;
#pragma unroll
          for (int c = 0; c < C; c++)
#pragma unroll
            for (int i = 0; i < V; i++) {
              const float y = x[u][c].element(i) + own[c].element(i);
              positive[c][i] += y > 0.f ? de : 0.f;
              moment[c][i] = fmaf(de, leaky(y, slope), moment[c][i]);
            }
        }
      });
    }
    all = warp_sum_across<G>(all);
    if (hub) all = add_warps(all, shared);
    total<G, C, V>(positive, hub, shared);
    total<G, C, V>(moment, hub, shared);
    if (hub && threadIdx.x >= 32) return;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) {
        const float p = positive[c][i], n = p - all;
        positive[c][i] = tile.att[c][i] * ((1.f - slope) * (fabsf(n) < fabsf(p) ? n : p));
      }
    tile.store(dr + v * ld_dr, positive);
    tile.store(da + v * ld_da, moment);
  });
}

template <int G, int C, int V, int AHEAD, bool WIDE>
CAPGNN_FN void src(float* dt, int ld_dt, const Wide& t, const Sparse& a, const Wide& d_o, const Wide& r, const float* lse, int ld_lse, const float* g, int ldg,
                   const float* att, Scoring scoring, i64 rows, int channels, u32 hub_blocks) {
  const float slope = slope_of(scoring);
  CAPGNN_SHARED(float, shared, CAPGNN_BLOCK);
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const Tile<G, C, V, WIDE> tile(channels, att, slope);
  const auto length = [&](i64 i) { return a.length(i); };
  each_row(0, rows, hub_blocks, found, length, [&](i64 u, bool hub) {
    Stored<float, V> own[C];
    tile.load(own, t.row(u), true);
    float sum[C][V], slopes[C][V];
    zero<C, V>(sum);
    zero<C, V>(slopes);
    const auto weigh = [&](i64 v) { return factor(scoring, false, u, v, tile.piece.head); };
    in_turn<G, AHEAD>(edges(a, u, hub), weigh, [&](int index, float m, int k, int n) {
      Stored<float, V> x[AHEAD][C], grad[AHEAD][C];
      Entry entry[AHEAD];
      float norm[AHEAD], less[AHEAD];
#pragma unroll
      for (int w = 0; w < AHEAD; w++) {
        const Entry v = entry[w] = take<G>(index, m, k, w, n);
        tile.load(x[w], r.row(v.row), v.has);
        tile.load(grad[w], d_o.row(v.row), v.has);
        norm[w] = v.has ? lse[v.row * ld_lse + tile.piece.head] : 0.f;
        less[w] = v.has ? g[v.row * ldg + tile.piece.head] : 0.f;
      }
#pragma unroll
      for (int w = 0; w < AHEAD; w++) {
        const Entry& v = entry[w];
        const float e = tile.score(own, x[w], t.row(u), r.row(v.row), v.has);
        const float q = tile.dot(own, grad[w], t.row(u), d_o.row(v.row), v.has);
        const float alpha = v.has ? expf(e - norm[w]) : 0.f, de = v.has ? alpha * (v.m * q - less[w]) : 0.f;
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
          for (int i = 0; i < V; i++) {
            sum[c][i] = fmaf(alpha * v.m, grad[w][c].element(i), sum[c][i]);
            slopes[c][i] += own[c].element(i) + x[w][c].element(i) > 0.f ? de : slope * de;
          }
      }
    });
    total<G, C, V>(sum, hub, shared);
    total<G, C, V>(slopes, hub, shared);
    if (hub && threadIdx.x >= 32) return;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) sum[c][i] = fmaf(tile.att[c][i], slopes[c][i], sum[c][i]);
    tile.store(dt + u * ld_dt, sum);
  });
}

}  // namespace

#ifndef CAPGNN_DROP
// g[v][h] = Σ_c do[v][hC+c]·o[v][hC+c]: a warp for every row.
extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK) capgnn_gatv2_dots(float* g, int ldg, const float* d_o, int ld_do, const float* o, int ldo, i64 rows,
                                                                              u64 shape) {
  const i64 v = thread_id() / 32;
  if (v >= rows) return;
  for (int h = 0; h < low(shape); h++) {
    float s = 0.f;
    for (int c = h * high(shape) + threadIdx.x % 32; c < (h + 1) * high(shape); c += 32) s = fmaf(d_o[v * ld_do + c], o[v * ldo + c], s);
    s = warp_sum(s);
    if (threadIdx.x % 32 == 0) g[v * ldg + h] = s;
  }
}
CAPGNN_KERNEL(capgnn_gatv2_dots)
#endif

// shape holds channels and hub_blocks. BLOCKS of a multiprocessor run at a time: more of them hide more than more entries AHEAD do (docs/adr/0061).
#define GATV2_SUM(suffix, G, C, V, AHEAD, BLOCKS, WIDE) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, BLOCKS) CAPGNN_WEIGHING(capgnn_gatv2_sum##suffix)( \
      float* o, int ldo, float* lse, int ld_lse, const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, const float* t, int ldt, \
      const i64* begin2, const i64* end2, const int* indices2, const int* list2, i64 stored2, const float* t2, int ldt2, const float* r, int ldr, \
      const float* att, Scoring slope, i64 lo, i64 hi, u64 shape) { \
    sum<G, C, V, AHEAD, WIDE>(o, ldo, lse, ld_lse, {begin, end, indices, list, stored}, Wide{t, ldt}, {begin2, end2, indices2, list2, stored2}, Wide{t2, ldt2}, \
                              Wide{r, ldr}, att, slope, lo, hi, low(shape), high(shape)); \
  } \
  CAPGNN_KERNEL(CAPGNN_WEIGHING(capgnn_gatv2_sum##suffix))

#define GATV2_DST(suffix, G, C, V, AHEAD, BLOCKS, WIDE) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, BLOCKS) CAPGNN_WEIGHING(capgnn_gatv2_dst##suffix)( \
      float* dr, int ld_dr, float* da, int ld_da, const float* g, int ldg, const float* d_o, int ld_do, const float* lse, int ld_lse, const i64* begin, \
      const i64* end, const int* indices, const int* list, i64 stored, const float* t, int ldt, const i64* begin2, const i64* end2, const int* indices2, \
      const int* list2, i64 stored2, const float* t2, int ldt2, const float* r, int ldr, const float* att, Scoring slope, i64 rows, u64 shape) { \
    dst<G, C, V, AHEAD, WIDE>(dr, ld_dr, da, ld_da, g, ldg, Wide{d_o, ld_do}, lse, ld_lse, {begin, end, indices, list, stored}, Wide{t, ldt}, \
                              {begin2, end2, indices2, list2, stored2}, Wide{t2, ldt2}, Wide{r, ldr}, att, slope, rows, low(shape), high(shape)); \
  } \
  CAPGNN_KERNEL(CAPGNN_WEIGHING(capgnn_gatv2_dst##suffix))

#define GATV2_SRC(suffix, G, C, V, AHEAD, BLOCKS, WIDE) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, BLOCKS) CAPGNN_WEIGHING(capgnn_gatv2_src##suffix)( \
      float* dt, int ld_dt, const float* t, int ldt, const i64* begin, const i64* end, const int* indices, const int* list, i64 stored, const float* d_o, \
      int ld_do, const float* r, int ldr, const float* lse, int ld_lse, const float* g, int ldg, const float* att, Scoring slope, i64 rows, u64 shape) { \
    src<G, C, V, AHEAD, WIDE>(dt, ld_dt, Wide{t, ldt}, {begin, end, indices, list, stored}, Wide{d_o, ld_do}, Wide{r, ldr}, lse, ld_lse, g, ldg, att, slope, rows, \
                              low(shape), high(shape)); \
  } \
  CAPGNN_KERNEL(CAPGNN_WEIGHING(capgnn_gatv2_src##suffix))

GATV2_SUM(_16, 4, 1, 4, 2, 4, false)
GATV2_DST(_16, 4, 1, 4, 2, 3, false)
GATV2_SRC(_16, 4, 1, 4, 1, 4, false)
GATV2_SUM(_64, 16, 1, 4, 2, 4, false)
GATV2_DST(_64, 16, 1, 4, 2, 3, false)
GATV2_SRC(_64, 8, 2, 4, 1, 3, false)
GATV2_SUM(_256, 32, 2, 4, 1, 2, true)
GATV2_DST(_256, 32, 2, 4, 1, 2, true)
GATV2_SRC(_256, 32, 2, 4, 1, 2, true)
GATV2_SUM(_s8, 8, 1, 1, 2, 4, false)
GATV2_DST(_s8, 8, 1, 1, 2, 4, false)
GATV2_SRC(_s8, 8, 1, 1, 2, 4, false)
GATV2_SUM(_s48, 16, 3, 1, 2, 4, false)
GATV2_DST(_s48, 16, 3, 1, 2, 3, false)
GATV2_SRC(_s48, 16, 3, 1, 1, 4, false)
GATV2_SUM(_s128, 32, 4, 1, 1, 3, true)
GATV2_DST(_s128, 32, 4, 1, 1, 2, true)
GATV2_SRC(_s128, 32, 4, 1, 1, 3, true)
