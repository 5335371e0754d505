// LayerNorm, ReLU and dropout on their own, a warp per row, and the gradient through them.
//
// The activation is ReLU or none; kernels with _curved have one of the others in place of it.
//
//   epilogue: z[j] += bias[j] if it is given
//             mu = Σ_j z[j]/n;  var = Σ_j (z[j]-mu)²/n;  rstd = 1/√(var + eps);  z[j] = (z[j]-mu)·rstd     (norm)
//             h[j] = dropout(relu(gamma[j]·z[j] + beta[j])), each part if its flag is set
//
//   epilogue_backward, with x = the normalised row (or z, or h) and y before the ReLU recomputed from it:
//             g = keep ? dh[j]·scale : 0;  g = y > 0 ? g : 0, or f'·g of a curved activation, whose f' is made of the output
//             dgamma[j] += g·x;  dbeta[j] += g;  g' = g·gamma[j]
//             g = rstd·(g' - Σ g'/n - x·Σ g'x/n)                                                          (norm)
//             dz[j] = g;  dbias[j] += g;  h[j] = what the epilogue wrote                                  (if h is given)
//
// Warp w of n gets rows w, w + n, …. A lane owns the same columns of every row, so sums over rows need no exchange: they lie
// in shared memory, one set per warp, four columns of a lane together, and are added over the warps of a block in order.
// part[block] holds dgamma, dbeta and dbias, which add_parts adds over the blocks; the host chooses the grid by shape.
#include "epilogue.cuh"

namespace {

// Affine is gamma and beta, which a lane reads for four columns at a time.
struct Affine {
  const float *gamma, *beta;
  bool on, four_gamma, four_beta;
  __device__ explicit Affine(const Epilogue& e)
      : gamma(e.gamma), beta(e.beta), on(e.norm()), four_gamma(aligned<4>(gamma, 0)), four_beta(aligned<4>(beta, 0)) {}
  __device__ void scales(float* g, int j, int n) const {
    if (on) load_four(g, gamma + j, n, four_gamma);
  }
  __device__ void shifts(float* b, int j, int n) const {
    if (on) load_four(b, beta + j, n, four_beta);
  }
};

// expm1_below returns e^x - 1 for x ≤ 0: expm1 of gpu/host/kernel/activation_generic.go, operation by operation.
CAPGNN_FN float expm1_below(float x) {
  if (x < -30.f) x = -30.f;
  const float round = 12582912.f;
  const float t = __fadd_rn(__fmul_rn(x, 1.4426950408889634f), round), n = __fadd_rn(t, -round);
  float r = __fadd_rn(x, -__fmul_rn(n, 0.693359375f));
  r = __fadd_rn(r, -__fmul_rn(n, -2.12194440e-4f));
  float q = 1.9875691500e-4f;
  q = __fadd_rn(__fmul_rn(q, r), 1.3981999507e-3f);
  q = __fadd_rn(__fmul_rn(q, r), 8.3334519073e-3f);
  q = __fadd_rn(__fmul_rn(q, r), 4.1665795894e-2f);
  q = __fadd_rn(__fmul_rn(q, r), 1.6666665459e-1f);
  q = __fadd_rn(__fmul_rn(q, r), 0.5f);
  q = __fadd_rn(__fmul_rn(__fmul_rn(r, r), q), r);
  const float power = __uint_as_float((__float_as_uint(t) + 127u) << 23);  // 2^n
  return __fadd_rn(__fmul_rn(q, power), __fadd_rn(power, -1.f));
}

CAPGNN_FN int curve_of(const Epilogue& e) { return e.flags >> EPILOGUE_CURVE & 3; }

// curve is a curved activation, by the bits of CPUs.
CAPGNN_FN float curve(const Epilogue& e, float y) {
  if (curve_of(e) == CURVE_TANH) {
    const float u = expm1_below(-2.f * fabsf(y));
    return __uint_as_float(__float_as_uint(__fadd_rn(0.f, -u) / __fadd_rn(2.f, u)) | (__float_as_uint(y) & 0x80000000u));
  }
  if (y > 0.f) return y;
  return curve_of(e) == CURVE_ELU ? expm1_below(y) : __fmul_rn(y, 0.01f);
}

// slope_at is its derivative where the output is h.
CAPGNN_FN float slope_at(const Epilogue& e, float h) {
  if (e.drop()) h = h / e.scale;
  if (curve_of(e) == CURVE_TANH) return __fadd_rn(1.f, -__fmul_rn(h, h));
  if (h > 0.f) return 1.f;
  return curve_of(e) == CURVE_ELU ? __fadd_rn(h, 1.f) : 0.01f;
}

// output is H's element of a column; kept tells what dropout says.
template <bool CURVED> CAPGNN_FN float output(const Epilogue& e, float g, float b, float x, bool kept) {
  if (!CURVED) return e.output(g, b, x, kept);
  const float y = curve(e, e.activation(g, b, x));
  return e.drop() ? (kept ? __fmul_rn(y, e.scale) : 0.f) : y;
}

// forward is the epilogue on all rows.
template <bool CURVED> CAPGNN_FN void forward(i64 rows, int cols, float* z, i64 ldz, const float* bias, const Epilogue& e) {
  const Affine affine(e);
  const bool four = aligned<4>(z, ldz), four_h = e.four(), four_bias = aligned<4>(bias, 0);
  for (i64 i = thread_id() / 32; i < rows; i += thread_count() / 32) {
    float* row = z + i * ldz;
    const auto load = [&](float* v, int j, int n) {
      load_four(v, row + j, n, four);
      if (!bias) return;
      float b[4];
      load_four(b, bias + j, n, four_bias);
#pragma unroll
      for (int k = 0; k < 4; k++) v[k] += b[k];
    };
    float mu = 0.f, rstd = 1.f;
    if (e.norm()) {
      float sum = 0.f;
      row_columns(cols, [&](int j, int n) {
        float v[4];
        load(v, j, n);
        sum += (v[0] + v[1]) + (v[2] + v[3]);
      });
      mu = warp_sum(sum) / cols;
      float squares = 0.f;
      row_columns(cols, [&](int j, int n) {
        float v[4];
        load(v, j, n);
#pragma unroll
        for (int k = 0; k < 4; k++)
          if (k < n) squares = fmaf(v[k] - mu, v[k] - mu, squares);
      });
      rstd = 1.f / sqrtf(warp_sum(squares) / cols + e.eps);
      if (e.rstd && threadIdx.x % 32 == 0) e.rstd[i] = rstd;
    }
    const u32 id = e.drop() ? (u32)e.ids[i] : 0;
    row_columns(cols, [&](int j, int n) {
      float v[4], y[4], gamma[4] = {1.f, 1.f, 1.f, 1.f}, beta[4] = {0.f, 0.f, 0.f, 0.f};
      load(v, j, n);
      affine.scales(gamma, j, n);
      affine.shifts(beta, j, n);
      const u32 kept = e.drop() ? e.keep4(j / 4, id) : 15;
#pragma unroll
      for (int k = 0; k < 4; k++) {
        if (e.norm()) v[k] = (v[k] - mu) * rstd;
        y[k] = k < n ? output<CURVED>(e, gamma[k], beta[k], v[k], kept >> k & 1) : 0.f;
      }
      if (e.norm() || bias) store_some(row + j, v, n, four);
      if (e.flags & EPILOGUE_HALF) {
        store_some(static_cast<bf16*>(e.h) + i * e.ldh + j, y, n, four_h);
      } else {
        store_some(static_cast<float*>(e.h) + i * e.ldh + j, y, n, four_h);
      }
    });
  }
}

}  // namespace

extern "C" __global__ void capgnn_epilogue(i64 rows, int cols, float* z, i64 ldz, const float* bias, EPILOGUE_PARAMS) {
  forward<false>(rows, cols, z, ldz, bias, EPILOGUE_STRUCT);
}

extern "C" __global__ void capgnn_epilogue_curved(i64 rows, int cols, float* z, i64 ldz, const float* bias, EPILOGUE_PARAMS) {
  forward<true>(rows, cols, z, ldz, bias, EPILOGUE_STRUCT);
}

namespace {

// Backward is the gradient's operands; Epilogue.h is what the forward pass wrote, null if it is not wanted, and
// EPILOGUE_HALF is of dz.
template <bool CURVED> struct Backward {
  const float *dh, *x;  // x may be null where nothing needs it
  i64 lddh, ldx;
  bool four_dh, four_x;
  Epilogue e;
  Affine affine;

  // gradient makes g and x of columns j to j + n of row i, 0 for those that are missing. kept are the bits of keep4, gamma and beta
  // those of the columns.
  __device__ void gradient(float* g, float* x_, i64 i, int j, int n, u32 kept, const float* gamma, const float* beta) const {
    load_four(g, dh + i * lddh + j, n, four_dh);
    if (x) {
      load_four(x_, x + i * ldx + j, n, four_x);
    } else {
      x_[0] = x_[1] = x_[2] = x_[3] = 0.f;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (k >= n) continue;
      if (e.drop()) g[k] = kept >> k & 1 ? g[k] * e.scale : 0.f;
      if (CURVED) {  // without LayerNorm and h, x is the output
        g[k] *= slope_at(e, e.norm() || e.h ? output<true>(e, gamma[k], beta[k], x_[k], kept >> k & 1) : x_[k]);
      } else if ((e.flags & EPILOGUE_RELU) && !(e.activation(gamma[k], beta[k], x_[k]) > 0.f)) {
        g[k] = 0.f;
      }
    }
  }
};

// Mask holds a lane's dropout bits of a row, 4 for each of its groups of columns; rows of more than 1024 columns do not fit,
// and their bits are made again where they are needed.
struct Mask {
  u32 bits;
  bool fits;
  __device__ u32 get(const Epilogue& e, int j, u32 id) const {
    if (!e.drop()) return 15;
    return fits ? bits >> (j / 128 * 4) & 15 : e.keep4(j / 4, id);
  }
};

CAPGNN_FN Mask draw(const Epilogue& e, int cols, u32 id) {
  Mask m = {0, cols <= 1024};
  if (e.drop() && m.fits) row_columns(cols, [&](int j, int) { m.bits |= e.keep4(j / 4, id) << (j / 128 * 4); });
  return m;
}

// means returns Σ g'/n and Σ g'x/n of row i.
template <bool CURVED> CAPGNN_FN float2 means(const Backward<CURVED>& b, i64 i, int cols, const Mask& mask, u32 id) {
  float2 s = {0.f, 0.f};
  row_columns(cols, [&](int j, int n) {
    float g[4], x[4], gamma[4], beta[4];
    b.affine.scales(gamma, j, n);
    b.affine.shifts(beta, j, n);
    b.gradient(g, x, i, j, n, mask.get(b.e, j, id), gamma, beta);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (k >= n) continue;
      const float scaled = g[k] * gamma[k];
      s.x += scaled;
      s.y = fmaf(scaled, x[k], s.y);
    }
  });
  s.x = warp_sum(s.x) / cols;
  s.y = warp_sum(s.y) / cols;
  return s;
}

// accumulate adds four numbers to four that lie together.
CAPGNN_FN void accumulate(float* to, const float* v) {
  float sum[4];
  Vector<4>::load(sum, to);
#pragma unroll
  for (int k = 0; k < 4; k++) sum[k] += v[k];
  store4(to, sum);
}

// backward is the gradient of all rows; shared, sums and want are those of the kernels.
template <bool CURVED>
CAPGNN_FN void backward(i64 rows, int cols, const float* dh, i64 lddh, const float* x, i64 ldx, void* dz, i64 lddz, const float* rstd,
                        float* h, float* part, float* sums, int want, const Epilogue& e, float* shared) {
  const Backward<CURVED> b = {dh, x, lddh, ldx, aligned<4>(dh, lddh), x && aligned<4>(x, ldx), e, Affine(e)};
  const bool half = e.flags & EPILOGUE_HALF, four_h = aligned<4>(h, e.ldh);
  const bool four_dz = half ? aligned<4>(static_cast<bf16*>(dz), lddz) : aligned<4>(static_cast<float*>(dz), lddz);
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, wide = (cols + 3) / 4 * 4;
  float* own = sums ? sums + thread_id() / 32 * 3 * wide : shared + warp * 3 * wide;
  row_columns(cols, [&](int j, int) {
    const float zero[4] = {0.f, 0.f, 0.f, 0.f};
    for (int s = 0; s < 3; s++) store4(own + s * wide + j, zero);
  });
  for (i64 i = thread_id() / 32; i < rows; i += thread_count() / 32) {
    const u32 id = e.drop() ? (u32)e.ids[i] : 0;
    const Mask mask = draw(e, cols, id);
    const float2 m = e.norm() ? means(b, i, cols, mask, id) : float2{0.f, 0.f};
    const float r = e.norm() ? rstd[i] : 1.f;
    row_columns(cols, [&](int j, int n) {
      float g[4], v[4], out[4] = {0.f, 0.f, 0.f, 0.f}, gamma[4] = {1.f, 1.f, 1.f, 1.f}, beta[4] = {0.f, 0.f, 0.f, 0.f};
      const u32 kept = mask.get(e, j, id);
      b.affine.scales(gamma, j, n);
      b.affine.shifts(beta, j, n);
      b.gradient(g, v, i, j, n, kept, gamma, beta);
#pragma unroll
      for (int k = 0; k < 4; k++)
        if (h && k < n) out[k] = output<CURVED>(e, gamma[k], beta[k], v[k], kept >> k & 1);
      if (e.norm()) {
        float sum[4];
        Vector<4>::load(sum, own + j);
#pragma unroll
        for (int k = 0; k < 4; k++) sum[k] = fmaf(g[k], v[k], sum[k]);
        store4(own + j, sum);
        accumulate(own + wide + j, g);
#pragma unroll
        for (int k = 0; k < 4; k++)
          if (k < n) g[k] = r * (g[k] * gamma[k] - m.x - v[k] * m.y);
      }
      accumulate(own + 2 * wide + j, g);
      if (h) store_some(h + i * e.ldh + j, out, n, four_h);
      if (half) {
        store_some(static_cast<bf16*>(dz) + i * lddz + j, g, n, four_dz);
      } else {
        store_some(static_cast<float*>(dz) + i * lddz + j, g, n, four_dz);
      }
    });
  }
  if (!want) return;
  __syncthreads();
  const float* first = sums ? sums + (i64)blockIdx.x * warps * 3 * wide : shared;
  for (int s = 0; s < 3; s++)
    for (int j = threadIdx.x; j < cols; j += blockDim.x) {
      float sum = first[s * wide + j];
      for (int w = 1; w < warps; w++) sum += first[(w * 3 + s) * wide + j];
      part[((i64)blockIdx.x * 3 + s) * cols + j] = sum;
    }
}

}  // namespace

// sums is null if they lie in dynamic shared memory, 3·wide floats for each warp of a block, where wide is cols rounded up to 4;
// otherwise as much for each warp of the grid.
// want: part is wanted at all.
#define EPILOGUE_BACKWARD(name, CURVED) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 3) \
      name(i64 rows, int cols, const float* dh, i64 lddh, const float* x, i64 ldx, void* dz, i64 lddz, const float* rstd, float* h, \
           float* part, float* sums, int want, int e_flags, i64 e_ldh, const float* e_gamma, const float* e_beta, const int* e_ids, \
           u32 e_threshold, float e_scale, u64 e_key, u64 e_when) { \
    CAPGNN_DYNAMIC_SHARED(float, shared); \
    const Epilogue e = {e_flags, h, e_ldh, e_gamma, e_beta, nullptr, 0.f, e_ids, e_threshold, e_scale, e_key, e_when}; \
    backward<CURVED>(rows, cols, dh, lddh, x, ldx, dz, lddz, rstd, h, part, sums, want, e, shared); \
  }

EPILOGUE_BACKWARD(capgnn_epilogue_backward, false)
EPILOGUE_BACKWARD(capgnn_epilogue_backward_curved, true)

CAPGNN_KERNEL(capgnn_epilogue)
CAPGNN_KERNEL(capgnn_epilogue_curved)
CAPGNN_KERNEL(capgnn_epilogue_backward)
CAPGNN_KERNEL(capgnn_epilogue_backward_curved)
