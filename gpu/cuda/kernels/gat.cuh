// Attention over the edges of a row: what forward and backward kernels share.
#pragma once
#include "rows.cuh"

CAPGNN_FN int low(u64 pair) { return (int)pair; }
CAPGNN_FN int high(u64 pair) { return (int)(pair >> 32); }

// EdgeDrop says which weights of attention are dropped (gpu.EdgeDropout), and the slope of scores; capgnn_edge_drop writes it.
struct EdgeDrop {
  const int *rows, *inner, *halo;  // original ids
  u64 key;
  u32 stream, epoch, threshold;  // stream is that of head 0
  float scale, slope;
  int by_source;  // rows are the sources of edges, columns their targets
};

// Scoring is what kernels are told of scores: the slope, or, in the _drop kernels, what says which weights are dropped, too. factor is what the weight of the entry
// (row, column) of a block is multiplied by.
#ifdef CAPGNN_DROP
#define CAPGNN_DROPS true
#define CAPGNN_WEIGHING(name) name##_drop
typedef const EdgeDrop* Scoring;
CAPGNN_FN float slope_of(Scoring s) { return s->slope; }
CAPGNN_FN float factor(Scoring s, bool halo, i64 row, i64 column, int head) {
  const u32 own = s->rows[row], other = (halo ? s->halo : s->inner)[column];
  const uint4 w = philox(s->by_source ? own : other, s->by_source ? other : own, s->stream | head >> 2, s->epoch, (u32)s->key, (u32)(s->key >> 32));
  const u32 word = (head & 2) ? ((head & 1) ? w.w : w.z) : ((head & 1) ? w.y : w.x);
  return word >= s->threshold ? s->scale : 0.f;
}
#else
#define CAPGNN_DROPS false
#define CAPGNN_WEIGHING(name) name
typedef float Scoring;
CAPGNN_FN float slope_of(Scoring s) { return s; }
CAPGNN_FN float factor(Scoring, bool, i64, i64, int) { return 1.f; }
#endif

// Rows is what the columns of a block of entries index: a matrix of heads·channels columns and one of heads columns.
struct Rows {
  const float *wide, *narrow;
  int ld_wide, ld_narrow;
};

CAPGNN_FN Rows pick(bool second, const Rows& a, const Rows& b) {
  return {second ? b.wide : a.wide, second ? b.narrow : a.narrow, second ? b.ld_wide : a.ld_wide,
          second ? b.ld_narrow : a.ld_narrow};
}

// Edges is one warp's share of a row's entries in a block.
struct Edges {
  const int* indices;
  i64 from, to;
};

// edges returns a warp's share of row r's entries: all, or one of CAPGNN_WARPS for a hub.
CAPGNN_FN Edges edges(const Sparse& a, i64 r, bool hub) {
  const i64 k = a.stored > 0 ? a.find(r) : -1;
  Range all = {a.from(k), a.to(k)};
  if (hub) all = share(all, threadIdx.x / 32);
  return {a.indices, all.from, all.to};
}

// pick returns a or b without taking the address of either.
CAPGNN_FN Edges pick(bool second, const Edges& a, const Edges& b) {
  return {second ? b.indices : a.indices, second ? b.from : a.from, second ? b.to : a.to};
}

// Piece is the columns of one tile, blockIdx.y: up to G·C·V columns of one head. A lane holds column(c) + i for c < C, i < V; the 32/G groups of a warp hold the
// same columns.
template <int G, int C, int V> struct Piece {
  static const int WIDTH = G * C * V;
  int head, first, limit;
  bool leading;  // holds the first columns of its head
  u32 number;    // among the head's pieces

  __device__ explicit Piece(int channels) {
    const u32 pieces = (channels + WIDTH - 1) / WIDTH;
    number = blockIdx.y % pieces;
    head = blockIdx.y / pieces;
    first = head * channels + number * WIDTH + threadIdx.x % G * V;
    limit = head * channels + (number + 1 < pieces ? (int)(number + 1) * WIDTH : channels);
    leading = number == 0;
  }

  __device__ int column(int c) const { return first + c * G * V; }
  __device__ bool inside(int c) const { return column(c) < limit; }
  // readable is a column that exists in every row: column(c), or beyond the tile's end the column of the tile's last load.
  __device__ int readable(int c) const { return inside(c) ? column(c) : (limit - 1) / V * V; }

  // dot adds up the products with a row over the tile's columns; all lanes get the sum. v is what each group of lanes holds.
  __device__ float dot(const float (*v)[V], const float* row) const {
    float s = 0.f;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++)
        if (column(c) + i < limit) s = fmaf(v[c][i], row[column(c) + i], s);
    return warp_sum<G>(s);
  }
};

// Sums are sums of weighted rows over the columns of a tile: with K = 1 of w·row, with K = 2 of |w|·row and of max(w, 0)·row. The groups of a warp take every
// 32/G-th entry each.
template <int G, int C, int V, int K> struct Sums {
  static const int PARTS = 32 / G;
  static const int AHEAD = 4;  // entries of a group whose loads are under way (docs/adr/0051)
  const Piece<G, C, V>& piece;
  float v[K][C][V];

  __device__ explicit Sums(const Piece<G, C, V>& p) : piece(p) {
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
      for (int c = 0; c < C; c++)
#pragma unroll
        for (int i = 0; i < V; i++) v[k][c][i] = 0.f;
  }

  // add adds the rows of n ≤ 32 entries, whose indices and weights the lanes hold; the other lanes' weights are 0.
  __device__ __forceinline__ void add(const float* wide, int ld, int index, float weight, int n) {
    const int part = threadIdx.x % 32 / G;
#pragma unroll 1
    for (int k0 = 0; k0 < n; k0 += AHEAD * PARTS) {
      Stored<float, V> x[AHEAD][C];
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const int k = k0 + u * PARTS + part;
        const float* row = wide + (i64)__shfl_sync(CAPGNN_FULL, index, k & 31) * ld;
#pragma unroll
        for (int c = 0; c < C; c++) {
          if (k < n && (V > 1 || piece.inside(c))) {
            x[u][c].load(row + piece.readable(c));
          } else {
            x[u][c].clear();
          }
        }
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const float w = __shfl_sync(CAPGNN_FULL, weight, (k0 + u * PARTS + part) & 31);
#pragma unroll
        for (int m = 0; m < K; m++)
#pragma unroll
          for (int c = 0; c < C; c++)
#pragma unroll
            for (int i = 0; i < V; i++) v[m][c][i] = fmaf(K == 1 ? w : m == 0 ? fabsf(w) : fmaxf(w, 0.f), x[u][c].element(i), v[m][c][i]);
      }
    }
  }

  // gather adds a warp's entries, 32 at a time; the indices of the next 32 are on their way meanwhile. weigh(index) makes the weight of an entry.
  template <class W> __device__ void gather(const Edges& e, const float* wide, int ld, W weigh) {
    const int* indices = e.indices + e.from;
    const int n = (int)(e.to - e.from), lane = threadIdx.x % 32;
    int next = lane < n ? __ldcs(indices + lane) : 0;
#pragma unroll 1
    for (int k = 0; k < n; k += 32) {
      const int index = next;
      const float w = k + lane < n ? weigh(index) : 0.f;
      next = k + 32 + lane < n ? __ldcs(indices + k + 32 + lane) : 0;
      add(wide, ld, index, w, n - k < 32 ? n - k : 32);
    }
  }

  // finish adds up what the groups hold, and for a hub what the warps of the block hold: warp 0 gets the sums.
  __device__ void finish(bool hub, float* shared);

  // store writes sum k of the tile's columns.
  __device__ void store(float* row, int k) const {
    if (threadIdx.x % 32 >= G) return;
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (V == 4 && piece.column(c) + 4 <= piece.limit) {
        stream4(row + piece.column(c), v[k][c]);
        continue;
      }
#pragma unroll
      for (int i = 0; i < V; i++)
        if (piece.column(c) + i < piece.limit) row[piece.column(c) + i] = v[k][c][i];
    }
  }
};

// add_warps adds v over the warps of a block, in their order, for every lane; warp 0 gets the sum. sums holds CAPGNN_BLOCK
// numbers. All threads call it.
CAPGNN_FN float add_warps(float v, float* sums) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();
  sums[threadIdx.x] = v;
  __syncthreads();
  if (warp == 0)
    for (int w = 1; w < CAPGNN_WARPS; w++) v += sums[32 * w + lane];
  return v;
}

template <int G, int C, int V, int K> __device__ __forceinline__ void Sums<G, C, V, K>::finish(bool hub, float* shared) {
#pragma unroll
  for (int k = 0; k < K; k++)
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) {
        v[k][c][i] = warp_sum_across<G>(v[k][c][i]);
        if (hub) v[k][c][i] = add_warps(v[k][c][i], shared);
      }
}

// each_row calls f(row, hub) for the rows lo ≤ row < hi that this warp does: with hub, for all warps of the block together.
template <class L, class F> CAPGNN_FN void each_row(i64 lo, i64 hi, u32 hub_blocks, u32* found, L length, F f) {
  const bool hub = blockIdx.x < hub_blocks;
  Hubs hubs(found, hi - lo, blockIdx.x, hub_blocks);
  do {
    i64 row = (i64)(blockIdx.x - hub_blocks) * CAPGNN_WARPS + threadIdx.x / 32;
    if (hub) {
      row = hubs.next([&](i64 i) { return length(lo + i); });
      if (row < 0) return;
    } else if (row >= hi - lo || (hub_blocks > 0 && length(lo + row) > CAPGNN_HUB)) {
      return;
    }
    f(lo + row, hub);
  } while (hub);
}
