// Rows in B = 8 or 2 bits per element with a scale each (gpu.PackArgs), a warp per row. A packed row is 1 + ⌈cols·B/32⌉ words: the
// scale (in 2 bits scale and offset, a bf16 each), then 32/B elements to a word.
//
//   pack_int8    i = rows ? rows[k] : k;  m = max_j |x[i][j]|;  scale = m/127; 0 if that is below 2⁻¹²⁶; NaN if an element is
//                NaN or infinite;  q[j] = ⌊x[i][j]/scale + u[j]⌋ within ±127, u[j] from half ⌊j/16⌋ mod 2 of word j mod 4 of the
//                counter (4·⌊j/32⌋ + ⌊j/4⌋ mod 4, ids[i], stream, epoch);  q = 0 where scale is 0 or NaN
//   pack_int2    low = min_j x[i][j], rounded down;  scale = (max_j x[i][j] - low)/3, rounded up, and 0 or NaN as above;
//                q[j] = ⌊(x[i][j] - low)/scale + u[j]⌋
//   unpack_int8  dst[k][j] = scale·q[j]
//   unpack_int2  dst[k][j] = low + scale·q[j]
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

// rounded_four packs elements j to j + 3 of a row, less low, in B bits each; those from cols on are 0. Their draws are the halves of w
// that begin at bit half.
template <int B, class T>
CAPGNN_FN u32 rounded_four(const T* x, int j, int cols, bool vector, float low, float scale, uint4 w, int half) {
  float v[4];
  load_four(v, x + j, cols - j, vector);
  const u32 random[4] = {w.x, w.y, w.z, w.w};
  u32 word = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (j + i < cols)
      word |= (rounded(B == 8 ? v[i] : v[i] - low, scale, random[i] >> half & 0xffffu) & ((1 << B) - 1)) << B * i;
  return word;
}

// put_four writes elements j to j + 3 of a packed row.
template <int B> CAPGNN_FN void put_four(u32* to, int j, u32 four) {
  if (B == 8)
    to[1 + j / 4] = four;
  else
    reinterpret_cast<u8*>(to)[4 + j / 4] = (u8)four;
}

// round_down rounds to the next bf16 that is not above; -0 becomes +0.
CAPGNN_FN float round_down(float x) {
  const u32 b = __float_as_uint(x);
  return __uint_as_float((x < 0.f ? b + 0xffffu : b & 0x7fffffffu) & 0xffff0000u);
}

// pack_row: a lane has a counter, whose four words are for four elements and for the four that are 16 further on. vector: four
// elements of the row may be loaded at once.
template <int B, class T>
CAPGNN_FN void pack_row(const T* x, int cols, bool vector, u32* to, u32 id, u64 key, u64 when) {
  const int lane = threadIdx.x % 32;
  float top = B < 8 && cols > 0 ? load1(x) : 0.f, deep = -top, low = 0.f;
  bool all = true;
  for (int j = 4 * lane; j < cols; j += 128) {
    float v[4];
    load_four(v, x + j, cols - j, vector);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      all = all && finite(v[i]);
      if (B == 8) {
        top = fmaxf(top, fabsf(v[i]));
      } else if (j + i < cols) {
        top = fmaxf(top, v[i]);
        deep = fmaxf(deep, -v[i]);
      }
    }
  }
  top = warp_max(top);
  if (B < 8) {
    low = round_down(-warp_max(deep));
    top -= low;
    all = all && finite(top);
  }
  all = __ballot_sync(CAPGNN_FULL, !all) == 0;
  float scale = top / (B == 8 ? 127.f : 3.f);
  if (scale < 1.17549435e-38f) scale = 0.f;  // 2⁻¹²⁶
  if (B < 8) scale = __uint_as_float((__float_as_uint(scale) + 0xffffu) & 0xffff0000u);
  const bool any = all && scale > 0.f;
  const u32 head = B == 8 ? __float_as_uint(scale) : __float_as_uint(scale) | __float_as_uint(low) >> 16;
  if (lane == 0) to[0] = all ? head : 0x7fc00000u;
  const int end = B == 8 ? cols : (cols + 32 / B - 1) / (32 / B) * (32 / B);  // of whole words
  for (int g = lane;; g += 32) {
    const int j = g / 4 * 32 + g % 4 * 4;
    if (j >= end) break;
    u32 first = 0, second = 0;
    if (any) {
      const uint4 w = philox(g, id, (u32)when, (u32)(when >> 32), (u32)key, (u32)(key >> 32));
      first = rounded_four<B>(x, j, cols, vector, low, scale, w, 0);
      if (j + 16 < cols) second = rounded_four<B>(x, j + 16, cols, vector, low, scale, w, 16);
    }
    put_four<B>(to, j, first);
    if (j + 16 < end) put_four<B>(to, j + 16, second);
  }
}

template <int B, class T> CAPGNN_FN void unpack_row(T* to, const u32* from, int cols) {
  const float scale = __uint_as_float(B == 8 ? from[0] : from[0] & 0xffff0000u);
  const float low = B == 8 ? 0.f : __uint_as_float(from[0] << 16);
  for (int j = threadIdx.x % 32; j < cols; j += 32) {
    const u32 q = from[1 + j / (32 / B)] >> j % (32 / B) * B & ((1 << B) - 1);
    store1(to + j, B == 8 ? scale * (float)(signed char)q : low + scale * (float)q);  // in 2 bits the product is exact
  }
}

}  // namespace

#define PACK(name, B, T) \
  extern "C" __global__ void name(i64 n, int cols, u32* dst, i64 ldd, const T* src, i64 lds, const int* rows, const int* ids, \
                                  u64 key, u64 when) { \
    const bool vector = aligned<4>(src, lds); \
    for (i64 k = thread_id() / 32; k < n; k += thread_count() / 32) { \
      const i64 i = rows ? rows[k] : k; \
      pack_row<B>(src + i * lds, cols, vector, dst + k * ldd, (u32)ids[i], key, when); \
    } \
  } \
  CAPGNN_KERNEL(name)

#define UNPACK(name, B, T) \
  extern "C" __global__ void name(i64 n, int cols, T* dst, i64 ldd, const u32* packed, i64 ldp) { \
    for (i64 k = thread_id() / 32; k < n; k += thread_count() / 32) unpack_row<B>(dst + k * ldd, packed + k * ldp, cols); \
  } \
  CAPGNN_KERNEL(name)

PACK(capgnn_pack_int8_f, 8, float)
PACK(capgnn_pack_int8_b, 8, bf16)
PACK(capgnn_pack_int2_f, 2, float)
PACK(capgnn_pack_int2_b, 2, bf16)
UNPACK(capgnn_unpack_int8_f, 8, float)
UNPACK(capgnn_unpack_int8_b, 8, bf16)
UNPACK(capgnn_unpack_int2_f, 2, float)
UNPACK(capgnn_unpack_int2_b, 2, bf16)
