// The device language of the kernels, for g++: what capgnn's .cu files use of CUDA C++, run on the CPU (tests only).
//
// A grid runs block after block on the calling OS thread. Each CUDA thread of a block is a fiber; a fiber runs until it
// waits at a barrier or ends. The order in which fibers get their turn is a setting (emu_set_order): a result that depends
// on it shows a missing barrier.
//
// Found and reported with kernel, block and thread:
//   - an access outside of live device memory, at byte granularity (emu_memory.cc; needs emu_set_memory), and loads and
//     stores of vectors at addresses that are not aligned for them
//   - two threads that touch one word of shared memory, one of them writing, without a barrier between (emu_shared.cc)
//   - __syncthreads that not all threads of a block reach, and threads that wait at different barriers
//   - warp collectives that name an exited lane, leave out the caller, read from a lane outside of their mask, or meet
//     another kind of collective under the same mask
// Shared memory is filled with NaN before each block.
//
// Not emulated: time, several blocks at once, caches, memory order between blocks. A kernel may use neither inline PTX nor
// textures nor cooperative groups; #ifndef CAPGNN_EMU guards what only hardware has.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#define EMU_PLAIN __attribute__((no_sanitize_address))

struct emu_dim3 {
  unsigned x, y, z;
};

// What a thread asks the scheduler (emu.cc).
emu_dim3 emu_thread_index();
emu_dim3 emu_block_index();
emu_dim3 emu_block_dim();
emu_dim3 emu_grid_dim();
unsigned emu_lane();
void emu_sync_block();
void emu_sync_warp(unsigned mask);
uint64_t emu_shuffle(unsigned mask, uint64_t value, unsigned lane);  // the value that the lane gave
unsigned emu_ballot(unsigned mask, bool vote);
void* emu_dynamic_shared();
void* emu_static_shared(const void* site, size_t bytes);  // one block per site, in every block of threads
[[noreturn]] void emu_fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

#define threadIdx (emu_thread_index())
#define blockIdx (emu_block_index())
#define blockDim (emu_block_dim())
#define gridDim (emu_grid_dim())
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

// Shared memory: kernels declare it with these two, never with __shared__, so that it has an address range of its own here.
#define CAPGNN_SHARED(T, name, n) \
  static const char name##_site = 0; \
  T* const name = static_cast<T*>(emu_static_shared(&name##_site, (n) * sizeof(T)))
#define CAPGNN_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(emu_dynamic_shared())

// CAPGNN_ALIGNED returns p, which must be a multiple of bytes: a GPU refuses other addresses of vectors.
template <class T> static inline T* emu_aligned(T* p, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(p) % bytes) emu_fail("a vector of %zu bytes at %p is not aligned", bytes, (const void*)p);
  return p;
}
#define CAPGNN_ALIGNED(p, bytes) emu_aligned(p, bytes)

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };

static inline float2 make_float2(float a, float b) { return {a, b}; }
static inline float4 make_float4(float a, float b, float c, float d) { return {a, b, c, d}; }
static inline uint2 make_uint2(unsigned a, unsigned b) { return {a, b}; }
static inline uint4 make_uint4(unsigned a, unsigned b, unsigned c, unsigned d) { return {a, b, c, d}; }

#define __syncthreads() emu_sync_block()
static inline void __syncwarp(unsigned mask = 0xffffffffu) { emu_sync_warp(mask); }

template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline void __stcs(T* p, T v) { *p = v; }

// emu_exchange gives v to the warp and returns what lane src gave.
template <class T> EMU_PLAIN static inline T emu_exchange(unsigned mask, T v, unsigned src) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  uint64_t word = 0;
  std::memcpy(&word, &v, sizeof(T));
  word = emu_shuffle(mask, word, src);
  std::memcpy(&v, &word, sizeof(T));
  return v;
}

template <class T> static inline T __shfl_sync(unsigned mask, T v, int src, int width = 32) {
  unsigned lane = emu_lane();
  return emu_exchange(mask, v, (lane & ~(width - 1)) | (src & (width - 1)));
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32) {
  unsigned lane = emu_lane(), src = lane ^ x;
  return emu_exchange(mask, v, src / width > lane / width ? lane : src);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned d, int width = 32) {
  unsigned lane = emu_lane();
  return emu_exchange(mask, v, (lane & (width - 1)) + d < (unsigned)width ? lane + d : lane);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned d, int width = 32) {
  unsigned lane = emu_lane();
  return emu_exchange(mask, v, (lane & (width - 1)) >= d ? lane - d : lane);
}
static inline unsigned __ballot_sync(unsigned mask, int p) { return emu_ballot(mask, p != 0); }
static inline int __any_sync(unsigned mask, int p) { return emu_ballot(mask, p != 0) != 0; }

static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
static inline float __uint_as_float(unsigned v) {
  float f;
  std::memcpy(&f, &v, 4);
  return f;
}
static inline unsigned __float_as_uint(float f) {
  unsigned v;
  std::memcpy(&v, &f, 4);
  return v;
}
// emu_rounded returns v, and keeps the compiler from joining what made it with what follows.
static inline float emu_rounded(float v) {
  asm("" : "+x"(v));
  return v;
}
static inline float __fmul_rn(float a, float b) { return emu_rounded(a * b); }
static inline float __fadd_rn(float a, float b) { return emu_rounded(emu_rounded(a) + emu_rounded(b)); }
using std::max;
using std::min;

// EmuKernel is one kernel as the fake driver sees it.
struct EmuKernel {
  const char* name;
  int count;              // of parameters
  const unsigned* sizes;  // of each, in bytes
  void (*call)(void** params);
  EmuKernel* next;
};

template <auto F> struct EmuEntry;
template <class... A, void (*F)(A...)> struct EmuEntry<F> {
  static constexpr unsigned sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
  static constexpr int count = sizeof...(A);
  template <size_t... I> EMU_PLAIN static void go(void** p, std::index_sequence<I...>) {
    F(*static_cast<std::remove_cv_t<A>*>(p[I])...);
  }
  EMU_PLAIN static void call(void** p) { go(p, std::index_sequence_for<A...>{}); }
};
struct EmuRegister {
  explicit EmuRegister(EmuKernel* k);
};
#define CAPGNN_KERNEL(f) EMU_KERNEL(f)  // f may be a macro
#define EMU_KERNEL(f) \
  static EmuKernel emu_kernel_##f = {#f, EmuEntry<&f>::count, EmuEntry<&f>::sizes, &EmuEntry<&f>::call, nullptr}; \
  static EmuRegister emu_register_##f(&emu_kernel_##f);
