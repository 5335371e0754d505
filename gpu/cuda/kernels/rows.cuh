// Rows of sparse matrices (gpu.CSR): where their entries are, and which of them are long.
#pragma once
#include "device.cuh"

// Rows with more entries than this get a block of threads instead of a warp.
#define CAPGNN_HUB 1024

// Sparse is a gpu.CSR. list is null where stored row k is matrix row k.
struct Sparse {
  const i64 *begin, *end;
  const int *indices, *list;
  i64 stored;

  __device__ i64 row(i64 k) const { return list ? list[k] : k; }

  // find returns the stored row that is matrix row r, or -1. All lanes of a warp call with the same r: they probe 32 places
  // at once.
  __device__ i64 find(i64 r) const {
    if (!list) return r < stored ? r : -1;
    const i64 lane = threadIdx.x % 32;
    i64 lo = 0, n = stored;
    while (n > 0) {
      const i64 step = (n + 31) / 32;
      const int below = __popc(__ballot_sync(CAPGNN_FULL, lane * step < n && list[lo + lane * step] <= r));
      if (below == 0) return -1;
      lo += (below - 1) * step;
      n = n - (below - 1) * step < step ? n - (below - 1) * step : step;
      if (step == 1) return list[lo] == r ? lo : -1;
    }
    return -1;
  }

  // The entries of stored row k are from(k) ≤ e < to(k); none for k = -1.
  __device__ i64 from(i64 k) const { return k < 0 ? 0 : begin[k]; }
  __device__ i64 to(i64 k) const { return k < 0 ? 0 : end[k]; }

  // length returns the entries of matrix row r, by one thread alone.
  __device__ i64 length(i64 r) const {
    i64 lo = 0, hi = stored;
    if (!list) return r < stored ? end[r] - begin[r] : 0;
    while (lo < hi) {
      const i64 mid = (lo + hi) / 2;
      if (list[mid] < r) {
        lo = mid + 1;
      } else {
        hi = mid;
      }
    }
    return lo < stored && list[lo] == r ? end[lo] - begin[lo] : 0;
  }
};

// Hubs goes through the stored rows k ≡ which mod of whose length is above CAPGNN_HUB, in order. All threads of a block walk
// together. Neighbouring rows go to different blocks: in graphs sorted by degree the long ones lie together.
struct Hubs {
  u32* found;  // CAPGNN_WARPS words of shared memory
  i64 stored;
  u32 which, of;
  i64 base;  // rows are looked at CAPGNN_BLOCK at a time; which + of·(base + thread) is the row of a thread
  int warp;  // whose findings are being given out
  u32 bits;

  __device__ Hubs(u32* found_, i64 stored_, u32 which_, u32 of_)
      : found(found_), stored(stored_), which(which_), of(of_), base(-CAPGNN_BLOCK), warp(CAPGNN_WARPS), bits(0) {}

  // next returns the next row, or -1 at the end. length(k) tells the entries of a row.
  template <class L> __device__ i64 next(L length) {
    while (bits == 0) {
      if (++warp < CAPGNN_WARPS) {
        bits = found[warp];
        continue;
      }
      base += CAPGNN_BLOCK;
      if (base * of + which >= stored) return -1;
      const i64 k = (base + threadIdx.x) * of + which;
      const u32 mine = __ballot_sync(CAPGNN_FULL, k < stored && length(k) > CAPGNN_HUB);
      __syncthreads();
      if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = mine;
      __syncthreads();
      warp = -1;
    }
    const int thread = 32 * warp + __ffs(bits) - 1;
    bits &= bits - 1;
    return (base + thread) * of + which;
  }
};

// Range is the entries from ≤ e < to.
struct Range {
  i64 from, to;
};

// share returns the entries of r that warp w of a block takes: consecutive ones, a multiple of 32 unless they are the last.
CAPGNN_FN Range share(Range r, int w) {
  const i64 from = r.from, to = r.to;
  const i64 step = ((to - from + CAPGNN_WARPS - 1) / CAPGNN_WARPS + 31) / 32 * 32;
  const i64 a = from + w * step, b = a + step;
  return {a < to ? a : to, b < to ? b : to};
}
