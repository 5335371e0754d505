// Attention over the edges of a row: what forward and backward kernels share.
#pragma once
#include "rows.cuh"

CAPGNN_FN int low(u64 pair) { return (int)pair; }
CAPGNN_FN int high(u64 pair) { return (int)(pair >> 32); }

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

// Slice is the heads and columns of one tile, blockIdx.y: tile_heads whole heads, or with tile_heads = 1 up to TILE
// columns of a head. A lane owns columns first + c·32·V + i for c < C, i < V.
template <int C, int V> struct Slice {
  static const int TILE = 32 * C * V;
  int channels, head0, heads, width, first;
  bool leading;  // holds the first column of its heads, so it writes what there is one of per head

  __device__ Slice(int all_heads, int channels_, int tile_heads) : channels(channels_) {
    const int pieces = (channels + TILE - 1) / TILE;
    const int piece = tile_heads > 1 ? 0 : blockIdx.y % pieces;
    head0 = tile_heads > 1 ? blockIdx.y * tile_heads : blockIdx.y / pieces;
    heads = all_heads - head0 < tile_heads ? all_heads - head0 : tile_heads;
    first = head0 * channels + piece * TILE;
    width = heads * channels - piece * TILE;
    if (width > TILE) width = TILE;
    leading = piece == 0;
  }

  __device__ int offset(int c) const { return (c * 32 + (int)(threadIdx.x % 32)) * V; }
  __device__ bool inside(int c) const { return offset(c) < width; }
  __device__ int column(int c) const { return first + offset(c); }
  __device__ int head(int c) const { return inside(c) ? column(c) / channels : head0; }

  __device__ void load(float (*v)[V], const float* row) const {
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (inside(c)) {
        Vector<V>::load(v[c], row + column(c));
      } else {
#pragma unroll
        for (int i = 0; i < V; i++) v[c][i] = 0.f;
      }
    }
  }

  __device__ void store(float* row, const float (*v)[V]) const {
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (!inside(c)) continue;
      if (V == 4) {
        store4(row + column(c), v[c]);
      } else {
        store1(row + column(c), v[c][0]);
      }
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
