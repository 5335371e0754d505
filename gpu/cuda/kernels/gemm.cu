// Dense products, for machines with only a driver: gpu.Ops.Gemm and Linear.
//
//   C[i][j] = row_scale[i]·Σ_k op(A)[i][k]·op(B)[k][j] + Σ_k A2[i][k]·B2[j][k] + beta·C[i][j] + bias[j]
//
//   nn  A is m×k, B k×n        nt  A is m×k, B n×k (and A2 m×k2, B2 n×k2)        tn  A is k×m, B k×n
//
// With beta = 0, C is not read. A, A2, C and, in tn, B may be bf16. A block makes a tile of C: panels of A and B, BK deep,
// go through two buffers of shared memory, so that the next panel is on its way while this one is multiplied; a thread holds
// TM×TN elements of the tile in registers. k runs upwards for every element, so the tile size changes no bit of it.
//
// split > 0 (tn: k is the number of vertices, m and n are widths): block y adds k from y·split on, split of them, and writes
// its own m×n part; add_parts then adds the parts in order.
#include "device.cuh"

namespace {

enum { GEMM_HALF_A = 1, GEMM_HALF_B = 2, GEMM_HALF_C = 4, GEMM_HALF_A2 = 8 };

// Matrix is a row-major operand of either type.
struct Matrix {
  const void* p;
  int ld;
  bool half, four;  // four: rows are aligned for loads of four elements

  __device__ Matrix(const void* p_, int ld_, bool half_) : p(p_), ld(ld_), half(half_) {
    four = half ? aligned<4>(static_cast<const bf16*>(p), ld) : aligned<4>(static_cast<const float*>(p), ld);
  }

  template <class T> __device__ void fetch(float* v, const T* row, int j, int cols) const {
    load_four(v, row + j, cols - j, four);
  }

  // fetch reads elements j to j + 4 of row i, 0 for those outside of rows×cols.
  __device__ void fetch(float* v, int i, int j, int rows, int cols) const {
    if (i >= rows) {
      v[0] = v[1] = v[2] = v[3] = 0.f;
    } else if (half) {
      fetch(v, static_cast<const bf16*>(p) + (i64)i * ld, j, cols);
    } else {
      fetch(v, static_cast<const float*>(p) + (i64)i * ld, j, cols);
    }
  }
};

// Panel loads BX×BK elements of an operand, four per thread, and lays them out [k][x]. ALONG_K: the operand's rows run along
// k, so the four neighbours in memory are four k; otherwise they are four x.
template <int BX, int BK, bool ALONG_K> struct Panel {
  static const int STRIDE = BX + 4;
  static const int SIZE = BK * STRIDE;
  float v[4];

  __device__ static int x() { return ALONG_K ? threadIdx.x / (BK / 4) : threadIdx.x % (BX / 4) * 4; }
  __device__ static int k() { return ALONG_K ? threadIdx.x % (BK / 4) * 4 : threadIdx.x / (BX / 4); }

  __device__ void fetch(const Matrix& m, int x0, int k0, int xs, int ks) {
    if (ALONG_K) {
      m.fetch(v, x0 + x(), k0 + k(), xs, ks);
    } else {
      m.fetch(v, k0 + k(), x0 + x(), ks, xs);
    }
  }

  __device__ void store(float* to) const {
    if (ALONG_K) {
#pragma unroll
      for (int i = 0; i < 4; i++) to[(k() + i) * STRIDE + x()] = v[i];
    } else {
      store4(to + k() * STRIDE + x(), v);
    }
  }
};

// Block is the tile of C that a block of threads makes. A thread's rows are groups of four, BM/(TM/4) apart, and so are its
// columns: neighbouring threads read neighbouring words of shared memory.
template <int BM, int BN, int TM, int TN, int BK, bool TRANS_A, bool TRANS_B> struct Block {
  typedef Panel<BM, BK, !TRANS_A> A;
  typedef Panel<BN, BK, TRANS_B> B;
  static const int ACROSS = BN / TN;

  float c[TM][TN];
  int m0, n0;

  __device__ static int row(int i) { return threadIdx.x / ACROSS * 4 + i / 4 * (BM / (TM / 4)) + i % 4; }
  __device__ static int column(int j) { return threadIdx.x % ACROSS * 4 + j / 4 * (BN / (TN / 4)) + j % 4; }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) c[i][j] = 0.f;
  }

  __device__ void multiply(const float* a, const float* b) {
#pragma unroll
    for (int k = 0; k < BK; k++) {
      float x[TM], y[4];
#pragma unroll
      for (int i = 0; i < TM; i += 4) Vector<4>::load(x + i, a + k * A::STRIDE + row(i));
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        Vector<4>::load(y, b + k * B::STRIDE + column(j));
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int n = 0; n < 4; n++) c[i][j + n] = fmaf(x[i], y[n], c[i][j + n]);
      }
    }
  }

  // add adds the product over k0 ≤ k < k1. shared holds two panels of each operand. The first round only fetches.
  __device__ void add(const Matrix& ma, const Matrix& mb, int m, int n, int k0, int k1, float* shared) {
    float *now = shared, *next = shared + A::SIZE + B::SIZE;
    A a;
    B b;
    for (int k = k0 - BK; k < k1; k += BK) {
      const bool more = k + BK < k1;
      if (more) {
        a.fetch(ma, m0, k + BK, m, k1);
        b.fetch(mb, n0, k + BK, n, k1);
      }
      if (k >= k0) multiply(now, now + A::SIZE);
      if (more) {
        a.store(next);
        b.store(next + A::SIZE);
      }
      __syncthreads();
      float* const swap = now;
      now = next;
      next = swap;
    }
  }

  __device__ void scale(const float* by, int m) {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const float s = m0 + row(i) < m ? by[m0 + row(i)] : 0.f;
#pragma unroll
      for (int j = 0; j < TN; j++) c[i][j] *= s;
    }
  }

  // store writes the tile to an m×n matrix.
  __device__ void store(void* to, int ld, bool half, int m, int n, float beta, const float* bias) const {
    const bool four = half ? aligned<4>(static_cast<bf16*>(to), ld) : aligned<4>(static_cast<float*>(to), ld);
#pragma unroll
    for (int i = 0; i < TM; i++) {
      if (m0 + row(i) >= m) continue;
      const i64 line = (i64)(m0 + row(i)) * ld;
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const int at = n0 + column(j);
        float v[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
          v[k] = c[i][j + k];
          if (at + k >= n) continue;
          if (beta != 0.f) v[k] = fmaf(beta, static_cast<const float*>(to)[line + at + k], v[k]);
          if (bias) v[k] += bias[at + k];
        }
        if (half) {
          store_some(static_cast<bf16*>(to) + line + at, v, n - at, four);
        } else {
          store_some(static_cast<float*>(to) + line + at, v, n - at, four);
        }
      }
    }
  }
};

// Pair is the two operands of a product.
struct Pair {
  const void *a, *b;
  int lda, ldb, k;
  bool half_a, half_b;
};

template <int BM, int BN, int TM, int TN, int BK, bool TRANS_A, bool TRANS_B>
CAPGNN_FN void gemm(void* c, int ldc, int m, int n, const Pair& first, const Pair& second, const float* row_scale,
                    const float* bias, float beta, bool half, int split) {
  typedef Block<BM, BN, TM, TN, BK, TRANS_A, TRANS_B> Tile;
  CAPGNN_SHARED(float, shared, 2 * (Tile::A::SIZE + Tile::B::SIZE));
  const int across = (n + BN - 1) / BN;
  Tile t;
  t.m0 = blockIdx.x / across * BM;
  t.n0 = blockIdx.x % across * BN;
  t.clear();
  const int from = split > 0 ? blockIdx.y * split : 0;
  const int to = split > 0 && from + split < first.k ? from + split : first.k;
  Matrix a(first.a, first.lda, first.half_a), b(first.b, first.ldb, first.half_b);
#pragma unroll 1
  for (int round = 0;; round++) {
    t.add(a, b, m, n, round ? 0 : from, round ? second.k : to, shared);
    if (round == 0 && row_scale) t.scale(row_scale, m);
    if (!TRANS_B || round == 1 || second.k == 0) break;
    a = Matrix(second.a, second.lda, second.half_a);
    b = Matrix(second.b, second.ldb, second.half_b);
  }
  t.store(static_cast<float*>(c) + (split > 0 ? (i64)blockIdx.y * m * n : 0), ldc, half, m, n, beta, bias);
}

}  // namespace

#define GEMM(name, BM, BN, TM, TN, BK, TA, TB) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, 2) name( \
      void* c, int ldc, int m, int n, int k, const void* a, int lda, const void* b, int ldb, int k2, const void* a2, int lda2, \
      const void* b2, int ldb2, const float* row_scale, const float* bias, float beta, int flags, int split) { \
    const Pair first = {a, b, lda, ldb, k, (flags & GEMM_HALF_A) != 0, (flags & GEMM_HALF_B) != 0}; \
    const Pair second = {a2, b2, lda2, ldb2, k2, (flags & GEMM_HALF_A2) != 0, false}; \
    gemm<BM, BN, TM, TN, BK, TA, TB>(c, ldc, m, n, first, second, row_scale, bias, beta, flags & GEMM_HALF_C, split); \
  } \
  CAPGNN_KERNEL(name)

GEMM(capgnn_gemm_nn128, 128, 128, 8, 8, 8, false, false)
GEMM(capgnn_gemm_nt128, 128, 128, 8, 8, 8, false, true)
GEMM(capgnn_gemm_tn128, 128, 128, 8, 8, 8, true, false)
GEMM(capgnn_gemm_nn64, 64, 64, 4, 4, 16, false, false)
GEMM(capgnn_gemm_nt64, 64, 64, 4, 4, 16, false, true)
GEMM(capgnn_gemm_tn64, 64, 64, 4, 4, 16, true, false)
