// What all kernels share: element types, loads of several elements, warp sums, random words.
//
// The files compile with nvcc, and with g++ -DCAPGNN_EMU through fakedriver/emu.h. Rules that hold for every kernel here:
//   - symbols are extern "C" and begin with capgnn_; CAPGNN_KERNEL names them for the emulator
//   - no argument is larger than 8 bytes; a kernel has at most 32
//   - no float atomics: a sum is cut by shape and added in a fixed order
//   - shared memory is declared with CAPGNN_SHARED or CAPGNN_DYNAMIC_SHARED, blocks are one-dimensional
//   - loads and stores of several elements go through CAPGNN_ALIGNED, where the emulator looks at the address
//   - what is rounded in a certain way for the sake of equal bits says so with fmaf, __fmul_rn or __fadd_rn
#pragma once
#ifdef CAPGNN_EMU
#include "../fakedriver/emu.h"
#else
#define CAPGNN_KERNEL(name)
#define CAPGNN_ALIGNED(p, bytes) (p)
#define CAPGNN_SHARED(T, name, n) __shared__ __align__(16) T name[n]
#define CAPGNN_DYNAMIC_SHARED(T, name) \
  extern __shared__ __align__(16) unsigned char capgnn_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(capgnn_dynamic_shared)
#endif

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;
typedef unsigned char u8;

// Block size of all kernels that do not say otherwise.
#define CAPGNN_BLOCK 256
#define CAPGNN_WARPS (CAPGNN_BLOCK / 32)
#define CAPGNN_FULL 0xffffffffu

#define CAPGNN_FN static __device__ __forceinline__

// bf16 is the upper half of a float.
struct bf16 {
  unsigned short bits;
};

CAPGNN_FN float widen(u32 half) { return __uint_as_float(half << 16); }

// narrow rounds to nearest even; NaN stays NaN.
CAPGNN_FN unsigned short narrow(float f) {
  u32 b = __float_as_uint(f);
  if ((b & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(b >> 16 | 0x40);
  return (unsigned short)((b + 0x7fffu + (b >> 16 & 1)) >> 16);
}

CAPGNN_FN float load1(const float* p) { return *p; }
CAPGNN_FN float load1(const bf16* p) { return widen(p->bits); }
CAPGNN_FN void store1(float* p, float v) { *p = v; }
CAPGNN_FN void store1(bf16* p, float v) { p->bits = narrow(v); }

// Vector<V>::load reads V consecutive elements with one load of 4·V or 2·V bytes, to which p is aligned. V = 1 needs no more
// than the element's own alignment.
template <int V> struct Vector;
template <> struct Vector<1> {
  static __device__ __forceinline__ void load(float* v, const float* p) { v[0] = load1(p); }
  static __device__ __forceinline__ void load(float* v, const bf16* p) { v[0] = load1(p); }
};
template <> struct Vector<4> {
  static __device__ __forceinline__ void load(float* v, const float* p) {
    float4 q = *reinterpret_cast<const float4*>(CAPGNN_ALIGNED(p, sizeof(float4)));
    v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
  }
  static __device__ __forceinline__ void load(float* v, const bf16* p) {
    uint2 q = *reinterpret_cast<const uint2*>(CAPGNN_ALIGNED(p, sizeof(uint2)));
    v[0] = widen(q.x), v[1] = __uint_as_float(q.x & 0xffff0000u);
    v[2] = widen(q.y), v[3] = __uint_as_float(q.y & 0xffff0000u);
  }
};

// Stored<T, V> is V consecutive elements as they lie in memory, read with one load; p is aligned to its size.
template <class T, int V> struct Stored;
template <> struct Stored<float, 1> {
  float q;
  __device__ __forceinline__ void load(const float* p) { q = *p; }
  __device__ __forceinline__ void clear() { q = 0.f; }
  __device__ __forceinline__ float element(int) const { return q; }
};
template <> struct Stored<bf16, 1> {
  unsigned short q;
  __device__ __forceinline__ void load(const bf16* p) { q = p->bits; }
  __device__ __forceinline__ void clear() { q = 0; }
  __device__ __forceinline__ float element(int) const { return widen(q); }
};
template <> struct Stored<float, 4> {
  float4 q;
  __device__ __forceinline__ void load(const float* p) { q = *reinterpret_cast<const float4*>(CAPGNN_ALIGNED(p, sizeof(float4))); }
  __device__ __forceinline__ void clear() { q = make_float4(0.f, 0.f, 0.f, 0.f); }
  __device__ __forceinline__ float element(int i) const { return i == 0 ? q.x : i == 1 ? q.y : i == 2 ? q.z : q.w; }
};
template <> struct Stored<bf16, 8> {
  uint4 q;
  __device__ __forceinline__ void load(const bf16* p) { q = *reinterpret_cast<const uint4*>(CAPGNN_ALIGNED(p, sizeof(uint4))); }
  __device__ __forceinline__ void clear() { q = make_uint4(0, 0, 0, 0); }
  __device__ __forceinline__ float element(int i) const {
    const u32 w = i < 2 ? q.x : i < 4 ? q.y : i < 6 ? q.z : q.w;
    return i % 2 ? __uint_as_float(w & 0xffff0000u) : widen(w);
  }
};

// store4 writes four consecutive elements with one store, to whose size p is aligned.
CAPGNN_FN void store4(float* p, const float* v) {
  *reinterpret_cast<float4*>(CAPGNN_ALIGNED(p, sizeof(float4))) = make_float4(v[0], v[1], v[2], v[3]);
}
CAPGNN_FN void store4(bf16* p, const float* v) {
  *reinterpret_cast<uint2*>(CAPGNN_ALIGNED(p, sizeof(uint2))) =
      make_uint2(narrow(v[0]) | (u32)narrow(v[1]) << 16, narrow(v[2]) | (u32)narrow(v[3]) << 16);
}

// stream4 is store4 of what nobody reads soon: it leaves the cache first.
CAPGNN_FN void stream4(float* p, const float* v) {
  __stcs(reinterpret_cast<float4*>(CAPGNN_ALIGNED(p, sizeof(float4))), make_float4(v[0], v[1], v[2], v[3]));
}
CAPGNN_FN void stream4(bf16* p, const float* v) { store4(p, v); }

// aligned reports whether every row of a matrix begins at a multiple of V elements.
template <int V, class T> CAPGNN_FN bool aligned(const T* p, i64 ld) {
  return ((reinterpret_cast<u64>(p) | (u64)ld * sizeof(T)) & (V * sizeof(T) - 1)) == 0;
}

// load_four reads n elements of which the first four count, with one load if four is true and there are as many. Missing ones
// are 0.
template <class T> CAPGNN_FN void load_four(float* v, const T* p, int n, bool four) {
  if (four && n >= 4) {
    Vector<4>::load(v, p);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = k < n ? load1(p + k) : 0.f;
}

// store_some writes the first n of four elements.
template <class T> CAPGNN_FN void store_some(T* p, const float* v, int n, bool four) {
  if (four && n >= 4) {
    store4(p, v);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (k < n) store1(p + k, v[k]);
}

// relu: max(y, 0), NaN stays NaN.
CAPGNN_FN float relu(float y) { return y < 0.f ? 0.f : y; }

CAPGNN_FN float leaky(float x, float slope) { return x > 0.f ? x : slope * x; }

// warp_sum adds v over groups of G neighbouring lanes; every lane of a group gets the same bits. All lanes of the warp call.
template <int G = 32, class T> CAPGNN_FN T warp_sum(T v) {
#pragma unroll
  for (int o = G / 2; o > 0; o >>= 1) v += __shfl_xor_sync(CAPGNN_FULL, v, o);
  return v;
}

// warp_sum_across adds v over lanes whose numbers are equal mod G.
template <int G, class T> CAPGNN_FN T warp_sum_across(T v) {
#pragma unroll
  for (int o = 16; o >= G; o >>= 1) v += __shfl_xor_sync(CAPGNN_FULL, v, o);
  return v;
}

template <int G = 32> CAPGNN_FN float warp_max(float v) {
#pragma unroll
  for (int o = G / 2; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(CAPGNN_FULL, v, o));
  return v;
}

// block_sum adds v over the block, warps in order; thread 0 gets the result. One call per kernel.
template <class T> CAPGNN_FN T block_sum(T v) {
  CAPGNN_SHARED(T, part, CAPGNN_WARPS);
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  T sum = 0;
  if (threadIdx.x == 0)
    for (u32 w = 0; w < CAPGNN_WARPS; w++) sum += part[w];
  return sum;
}

// philox returns the four words of Philox4x32-10, as gpu.Philox does.
CAPGNN_FN uint4 philox(u32 c0, u32 c1, u32 c2, u32 c3, u32 k0, u32 k1) {
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
    const u32 h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0;
    c1 = l1;
    c2 = h0 ^ c3 ^ k1;
    c3 = l0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return make_uint4(c0, c1, c2, c3);
}

// Index of a thread among all, and their number.
CAPGNN_FN i64 thread_id() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
CAPGNN_FN i64 thread_count() { return (i64)gridDim.x * blockDim.x; }
