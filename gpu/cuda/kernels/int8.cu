// Rows as int8 with a scale each (gpu.PackArgs), a warp per row. A packed row is 1 + ⌈cols/4⌉ words: the scale, then four
// elements to a word.
//
//   pack_int8    i = rows ? rows[k] : k;  m = max_j |x[i][j]|;  scale = m/127; 0 if that is below 2⁻¹²⁶; NaN if an element is
//                NaN or infinite;  q[j] = ⌊x[i][j]/scale + u[j]⌋ within ±127, u[j] from half ⌊j/16⌋ mod 2 of word j mod 4 of the
//                counter (4·⌊j/32⌋ + ⌊j/4⌋ mod 4, ids[i], stream, epoch);  q = 0 where scale is 0 or NaN
//   unpack_int8  dst[k][j] = scale·q[j]
//
// Every operation is rounded by itself: the words are equal on every backend. when holds the stream, and the epoch in its upper
// half.
#include "device.cuh"

namespace {

CAPGNN_FN bool finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }

// rounded is ⌊x/scale + u⌋ within ±127, as a byte; u is made of 16 random bits.
CAPGNN_FN u32 rounded(float x, float scale, u32 draw) {
  const float u = (float)(2 * draw + 1) * 7.62939453125e-06f;  // 2⁻¹⁷
  float q = floorf(__fadd_rn(x / scale, u));
  q = q < -127.f ? -127.f : q > 127.f ? 127.f : q;
  return (u32)(int)q & 255;
}

// rounded_four packs elements j to j + 3 of a row; those from cols on are 0. Their draws are the halves of w that begin at bit half.
template <class T> CAPGNN_FN u32 rounded_four(const T* x, int j, int cols, bool vector, float scale, uint4 w, int half) {
  float v[4];
  load_four(v, x + j, cols - j, vector);
  const u32 random[4] = {w.x, w.y, w.z, w.w};
  u32 word = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (j + i < cols) word |= rounded(v[i], scale, random[i] >> half & 0xffffu) << 8 * i;
  return word;
}

// pack_row: a lane has a counter, whose four words are for four elements and for the four that are 16 further on. vector: four
// elements of the row may be loaded at once.
template <class T>
CAPGNN_FN void pack_row(const T* x, int cols, bool vector, u32* to, u32 id, u64 key, u64 when) {
  const int lane = threadIdx.x % 32;
  float top = 0.f;
  bool all = true;
  for (int j = 4 * lane; j < cols; j += 128) {
    float v[4];
    load_four(v, x + j, cols - j, vector);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      all = all && finite(v[i]);
      top = fmaxf(top, fabsf(v[i]));
    }
  }
  top = warp_max(top);
  all = __ballot_sync(CAPGNN_FULL, !all) == 0;
  float scale = top / 127.f;
  if (scale < 1.17549435e-38f) scale = 0.f;  // 2⁻¹²⁶
  const bool any = all && scale > 0.f;
  if (lane == 0) to[0] = all ? __float_as_uint(scale) : 0x7fc00000u;
  for (int g = lane;; g += 32) {
    const int j = g / 4 * 32 + g % 4 * 4;
    if (j >= cols) break;
    u32 low = 0, high = 0;
    if (any) {
      const uint4 w = philox(g, id, (u32)when, (u32)(when >> 32), (u32)key, (u32)(key >> 32));
      low = rounded_four(x, j, cols, vector, scale, w, 0);
      if (j + 16 < cols) high = rounded_four(x, j + 16, cols, vector, scale, w, 16);
    }
    to[1 + j / 4] = low;
    if (j + 16 < cols) to[5 + j / 4] = high;
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
    const bool vector = aligned<4>(src, lds); \
    for (i64 k = thread_id() / 32; k < n; k += thread_count() / 32) { \
      const i64 i = rows ? rows[k] : k; \
      pack_row(src + i * lds, cols, vector, dst + k * ldd, (u32)ids[i], key, when); \
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
