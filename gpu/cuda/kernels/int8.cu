// Rows as int8 with a scale each (gpu.PackArgs), a warp per row. A packed row is 1 + ⌈cols/4⌉ words: the scale, then four
// elements to a word.
//
//   pack_int8    i = rows ? rows[k] : k;  m = max_j |x[i][j]|;  scale = m/127; 0 if that is below 2⁻¹²⁶; NaN if an element is
//                NaN or infinite;  q[j] = ⌊x[i][j]/scale + u[j]⌋ within ±127, u[j] from word j mod 4 of the counter
//                (j/4, ids[i], stream, epoch);  q = 0 where scale is 0 or NaN
//   unpack_int8  dst[k][j] = scale·q[j]
//
// Every operation is rounded by itself: the words are equal on every backend. when holds the stream, and the epoch in its upper
// half.
#include "device.cuh"

namespace {

CAPGNN_FN bool finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }

// rounded is ⌊x/scale + u⌋ within ±127, as a byte; u is made of a random word.
CAPGNN_FN u32 rounded(float x, float scale, u32 word) {
  const float u = (float)(2 * (word >> 16) + 1) * 7.62939453125e-06f;  // 2⁻¹⁷
  float q = floorf(__fadd_rn(x / scale, u));
  q = q < -127.f ? -127.f : q > 127.f ? 127.f : q;
  return (u32)(int)q & 255;
}

template <class T>
CAPGNN_FN void pack_row(const T* x, int cols, u32* to, u32 id, u64 key, u64 when) {
  const int lane = threadIdx.x % 32;
  float top = 0.f;
  bool all = true;
  for (int j = lane; j < cols; j += 32) {
    const float v = load1(x + j);
    all = all && finite(v);
    top = fmaxf(top, fabsf(v));
  }
  top = warp_max(top);
  all = __ballot_sync(CAPGNN_FULL, !all) == 0;
  float scale = top / 127.f;
  if (scale < 1.17549435e-38f) scale = 0.f;  // 2⁻¹²⁶
  const bool any = all && scale > 0.f;
  if (lane == 0) to[0] = all ? __float_as_uint(scale) : 0x7fc00000u;
  for (int g = lane; 4 * g < cols; g += 32) {
    u32 word = 0;
    if (any) {
      const uint4 w = philox(g, id, (u32)when, (u32)(when >> 32), (u32)key, (u32)(key >> 32));
      float v[4];
      load_four(v, x + 4 * g, cols - 4 * g, false);
      const u32 random[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (4 * g + i < cols) word |= rounded(v[i], scale, random[i]) << 8 * i;
    }
    to[1 + g] = word;
  }
}

template <class T> CAPGNN_FN void unpack_row(T* to, const u32* from, int cols) {
  const float scale = __uint_as_float(from[0]);
  for (int j = threadIdx.x % 32; j < cols; j += 32)
    store1(to + j, scale * (float)(signed char)(from[1 + j / 4] >> j % 4 * 8 & 255));
}

}  // namespace

#define PACK(name, T) \
  extern "C" __global__ void name(i64 n, int cols, u32* dst, i64 ldd, const T* src, i64 lds, const int* rows, const int* ids, \
                                  u64 key, u64 when) { \
    for (i64 k = thread_id() / 32; k < n; k += thread_count() / 32) { \
      const i64 i = rows ? rows[k] : k; \
      pack_row(src + i * lds, cols, dst + k * ldd, (u32)ids[i], key, when); \
    } \
  } \
  CAPGNN_KERNEL(name)

#define UNPACK(name, T) \
  extern "C" __global__ void name(i64 n, int cols, T* dst, i64 ldd, const u32* packed, i64 ldp) { \
    for (i64 k = thread_id() / 32; k < n; k += thread_count() / 32) unpack_row(dst + k * ldd, packed + k * ldp, cols); \
  } \
  CAPGNN_KERNEL(name)

PACK(capgnn_pack_int8_f, float)
PACK(capgnn_pack_int8_b, bf16)
UNPACK(capgnn_unpack_int8_f, float)
UNPACK(capgnn_unpack_int8_b, bf16)
