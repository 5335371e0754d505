// What follows a convolution, on one row: LayerNorm, ReLU, dropout (gpu.Epilogue).
#pragma once
#include "device.cuh"

// Bits of Epilogue.flags; gpu/cuda/epilogue.go has the same.
enum { EPILOGUE_NORM = 1, EPILOGUE_RELU = 2, EPILOGUE_DROP = 4, EPILOGUE_HALF = 8, EPILOGUE_ON = 16, EPILOGUE_CURVE = 5 };
// Bits EPILOGUE_CURVE and the next are a number: the activation of kernels of curved ones.
enum { CURVE_LEAKY = 1, CURVE_ELU = 2, CURVE_TANH = 3 };

struct Epilogue {
  int flags;
  void* h;  // float, or bf16 with EPILOGUE_HALF
  i64 ldh;
  const float *gamma, *beta;
  float* rstd;  // may be null
  float eps;
  const int* ids;
  u32 threshold;
  float scale;  // 1/(1-P)
  u64 key;
  u64 when;  // layer, and epoch in the upper half

  __device__ bool norm() const { return flags & EPILOGUE_NORM; }
  __device__ bool drop() const { return flags & EPILOGUE_DROP; }

  // words returns the random words of columns 4q to 4q + 3 of the row with this id.
  __device__ uint4 words(u32 q, u32 id) const {
    return philox(q, id, (u32)when, (u32)(when >> 32), (u32)key, (u32)(key >> 32));
  }

  // keep4 returns a bit for each of columns 4q to 4q + 3: it is kept.
  __device__ u32 keep4(u32 q, u32 id) const {
    const uint4 w = words(q, id);
    return (w.x >= threshold) | (w.y >= threshold) << 1 | (w.z >= threshold) << 2 | (w.w >= threshold) << 3;
  }

  // activation is y before the ReLU; g and b are gamma and beta of the column. fmaf: forward and backward must find the same side
  // of 0.
  __device__ float activation(float g, float b, float x) const { return norm() ? fmaf(g, x, b) : x; }

  // output is H's element of a column; kept tells what dropout says.
  __device__ float output(float g, float b, float x, bool kept) const { return after(activation(g, b, x), kept); }

  // output is H's element of column j.
  __device__ float output(int j, float x, bool kept) const { return after(norm() ? fmaf(gamma[j], x, beta[j]) : x, kept); }

  // after is what ReLU and dropout make of y.
  __device__ float after(float y, bool kept) const {
    if (flags & EPILOGUE_RELU) y = relu(y);
    if (drop()) y = kept ? __fmul_rn(y, scale) : 0.f;
    return y;
  }

  __device__ void store(i64 row, int j, float y) const {
    if (flags & EPILOGUE_HALF) {
      store1(static_cast<bf16*>(h) + row * ldh + j, y);
    } else {
      static_cast<float*>(h)[row * ldh + j] = y;
    }
  }

  // store4 stores four elements from column j on, a multiple of 4.
  __device__ void store_four(i64 row, int j, const float* y) const {
    if (flags & EPILOGUE_HALF) {
      store4(static_cast<bf16*>(h) + row * ldh + j, y);
    } else {
      store4(static_cast<float*>(h) + row * ldh + j, y);
    }
  }

  __device__ bool four() const {
    return flags & EPILOGUE_HALF ? aligned<4>(static_cast<bf16*>(h), ldh) : aligned<4>(static_cast<float*>(h), ldh);
  }
};

// The parameters of a kernel that end in an epilogue, and the struct of them.
#define EPILOGUE_PARAMS \
  int e_flags, void *e_h, i64 e_ldh, const float *e_gamma, const float *e_beta, float *e_rstd, float e_eps, const int *e_ids, \
      u32 e_threshold, float e_scale, u64 e_key, u64 e_when
#define EPILOGUE_STRUCT \
  Epilogue { e_flags, e_h, e_ldh, e_gamma, e_beta, e_rstd, e_eps, e_ids, e_threshold, e_scale, e_key, e_when }

// row_columns calls f(j, n) for the groups of up to four columns j to j + n of a row that this lane owns: every 32nd group.
template <class F> CAPGNN_FN void row_columns(int cols, F f) {
  for (int j = 4 * (threadIdx.x % 32); j < cols; j += 128) f(j, j + 4 < cols ? 4 : cols - j);
}
