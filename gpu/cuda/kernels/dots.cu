// Attention whose scores are products of rows (gpu.DotArgs, gpu.DotGradDst, gpu.DotGradSrc).
//
// A warp makes a head of a row, 64 of its columns at a time. Its four groups of eight lanes take every fourth entry each; a lane holds every
// eighth column. Entries with a value of 0 are left out.
#define CAPGNN_DROP
#include "gat.cuh"

namespace {

const int LANES = 8, GROUPS = 32 / LANES, HELD = 8, WIDTH = LANES * HELD;

// Block is a block of entries, and the rows that its columns index: one in a score, and one beside.
struct Block {
  Sparse a;
  const float *val, *first, *second;
  i64 ld_first, ld_second;
  bool halo;

  // each calls f(live, column) for the entries of a row, a group of lanes for every fourth one; all lanes call it as often.
  template <class F> __device__ void each(i64 row, F f) const {
    const i64 k = a.stored > 0 ? a.find(row) : -1, from = a.from(k), to = a.to(k);
    const i64 group = threadIdx.x % 32 / LANES;
    for (i64 e = from; e < to; e += GROUPS) {
      const i64 i = e + group;
      const bool live = i < to && (!val || val[i] != 0.f);
      f(live, live ? (i64)a.indices[i] : 0);
    }
  }
};

// product returns Σ_c x[c]·y[c], to all lanes of a group; 0 where there are no entries.
CAPGNN_FN float product(bool live, const float* x, const float* y, int channels) {
  float s = 0.f;
  if (live)
    for (int c = threadIdx.x % LANES; c < channels; c += LANES) s = fmaf(x[c], y[c], s);
  return warp_sum<LANES>(s);
}

// Held is a lane's share of columns first to first + WIDTH of a head.
struct Held {
  float v[HELD];

  __device__ Held() {
#pragma unroll
    for (int i = 0; i < HELD; i++) v[i] = 0.f;
  }

  __device__ void add(float w, const float* row, int first, int channels) {
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      const int c = first + threadIdx.x % LANES + LANES * i;
      if (c < channels) v[i] = fmaf(w, row[c], v[i]);
    }
  }

  __device__ void scale(float w) {
#pragma unroll
    for (int i = 0; i < HELD; i++) v[i] *= w;
  }

  // store writes what the groups hold together.
  __device__ void store(float* row, int first, int channels) {
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      const int c = first + threadIdx.x % LANES + LANES * i;
      const float s = warp_sum_across<LANES>(v[i]);
      if (threadIdx.x % 32 < LANES && c < channels) row[c] = s;
    }
  }
};

CAPGNN_FN float kept(Scoring drop, bool live, bool halo, i64 row, i64 column, int head) { return drop && live ? factor(drop, halo, row, column, head) : 1.f; }

}  // namespace

extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 2) capgnn_dot_sum(
    float* o, i64 ldo, float* lse, i64 ld_lse, const float* q, i64 ldq, const i64* begin, const i64* end, const int* indices, const int* list,
    i64 stored, const float* val, const float* k, i64 ldk, const float* v, i64 ldv, const i64* begin2, const i64* end2, const int* indices2,
    const int* list2, i64 stored2, const float* val2, const float* k2, i64 ldk2, const float* v2, i64 ldv2, const EdgeDrop* drop, i64 rows, u64 shape) {
  const Block inner = {{begin, end, indices, list, stored}, val, k, v, ldk, ldv, false};
  const Block halo = {{begin2, end2, indices2, list2, stored2}, val2, k2, v2, ldk2, ldv2, true};
  const int heads = low(shape), channels = high(shape);
  for (i64 unit = thread_id() / 32; unit < rows * heads; unit += thread_count() / 32) {
    const i64 row = unit / heads;
    const int head = unit % heads, at = head * channels;
    float norm = 0.f;
    for (int first = 0; first < channels; first += WIDTH) {
      Held sum;
      float top = -INFINITY, total = 0.f;
      auto block = [&](const Block& b) {
        b.each(row, [&](bool live, i64 u) {
          const float s = product(live, q + row * ldq + at, b.first + u * b.ld_first + at, channels);
          if (!live) return;
          float w;
          if (first == 0) { // the sums so far are of differences from the largest so far
            const float most = fmaxf(top, s), old = expf(top - most);
            w = expf(s - most);
            total = fmaf(total, old, w);
            sum.scale(old);
            top = most;
          } else {
            w = expf(s - norm);
          }
          sum.add(w * kept(drop, live, b.halo, row, u, head), b.second + u * b.ld_second + at, first, channels);
        });
      };
      block(inner);
      block(halo);
      if (first == 0) {
        const float most = warp_max(top);
        const bool none = most == -INFINITY;
        const float own = none ? 0.f : expf(top - most), all = warp_sum_across<LANES>(total * own);
        sum.scale(none ? 0.f : own / all);
        norm = none ? 0.f : most + logf(all);
        if (threadIdx.x % 32 == 0) lse[row * ld_lse + head] = norm;
      }
      sum.store(o + row * ldo + at, first, channels);
    }
  }
}
CAPGNN_KERNEL(capgnn_dot_sum)

// g is that of capgnn_gatv2_dots.
extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 2) capgnn_dot_dst(
    float* dq, i64 ld_dq, const float* g, const float* lse, u64 ld_g_lse, const float* d_o, i64 ld_do, const float* q, i64 ldq, const i64* begin,
    const i64* end, const int* indices, const int* list, i64 stored, const float* val, const float* k, i64 ldk, const float* v, i64 ldv,
    const i64* begin2, const i64* end2, const int* indices2, const int* list2, i64 stored2, const float* val2, const float* k2, const float* v2,
    u64 ld_k2_v2, const EdgeDrop* drop, i64 rows, u64 shape) {
  const Block inner = {{begin, end, indices, list, stored}, val, k, v, ldk, ldv, false};
  const Block halo = {{begin2, end2, indices2, list2, stored2}, val2, k2, v2, low(ld_k2_v2), high(ld_k2_v2), true};
  const int heads = low(shape), channels = high(shape);
  for (i64 unit = thread_id() / 32; unit < rows * heads; unit += thread_count() / 32) {
    const i64 row = unit / heads;
    const int head = unit % heads, at = head * channels;
    const float norm = lse[row * high(ld_g_lse) + head], less = g[row * low(ld_g_lse) + head];
    for (int first = 0; first < channels; first += WIDTH) {
      Held sum;
      auto block = [&](const Block& b) {
        b.each(row, [&](bool live, i64 u) {
          const float s = product(live, q + row * ldq + at, b.first + u * b.ld_first + at, channels);
          const float p = product(live, d_o + row * ld_do + at, b.second + u * b.ld_second + at, channels);
          if (live) sum.add(expf(s - norm) * (kept(drop, live, b.halo, row, u, head) * p - less), b.first + u * b.ld_first + at, first, channels);
        });
      };
      block(inner);
      block(halo);
      sum.store(dq + row * ld_dq + at, first, channels);
    }
  }
}
CAPGNN_KERNEL(capgnn_dot_dst)

// It takes one block of entries; the halo is added to what the inner ones have left.
extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 2) capgnn_dot_src(
    float* dk, i64 ld_dk, float* dv, i64 ld_dv, const float* k, i64 ldk, const float* v, i64 ldv, const i64* begin, const i64* end,
    const int* indices, const int* list, i64 stored, const float* val, const float* q, const float* d_o, u64 ld_q_do, const float* lse, const float* g,
    u64 ld_lse_g, const EdgeDrop* drop, int is_halo, i64 rows, u64 shape) {
  const Block block = {{begin, end, indices, list, stored}, val, q, d_o, low(ld_q_do), high(ld_q_do), is_halo != 0};
  const int heads = low(shape), channels = high(shape);
  for (i64 unit = thread_id() / 32; unit < rows * heads; unit += thread_count() / 32) {
    const i64 row = unit / heads;
    const int head = unit % heads, at = head * channels;
    for (int first = 0; first < channels; first += WIDTH) {
      Held keys, values;
      if (is_halo && threadIdx.x % 32 < LANES) { // one of the groups
        keys.add(1.f, dk + row * ld_dk + at, first, channels);
        values.add(1.f, dv + row * ld_dv + at, first, channels);
      }
      block.each(row, [&](bool live, i64 u) {
        const float *own = block.first + u * block.ld_first + at, *out = block.second + u * block.ld_second + at;
        const float s = product(live, k + row * ldk + at, own, channels);
        const float p = product(live, v + row * ldv + at, out, channels);
        if (!live) return;
        const float alpha = expf(s - lse[u * low(ld_lse_g) + head]), m = kept(drop, live, block.halo, row, u, head);
        values.add(m * alpha, out, first, channels);
        keys.add(alpha * (m * p - g[u * high(ld_lse_g) + head]), own, first, channels);
      });
      keys.store(dk + row * ld_dk + at, first, channels);
      values.store(dv + row * ld_dv + at, first, channels);
    }
  }
}
CAPGNN_KERNEL(capgnn_dot_src)
