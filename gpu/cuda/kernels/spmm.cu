// Sparse times dense: gpu.Ops.Aggregate and SpMM.
//
//   for every stored row k with matrix row r:  t[j] = Σ_e val[e]·cs[idx[e]]·x[idx[e]][j]
//   y[r][j] = rs[r]·t[j] + beta·y[r][j] + bias[j]       (t = 0 for rows that are not stored; with beta = 0, y is not read)
//   then the epilogue on the row, if it is on
//
// A warp does one row and one tile of columns. A group of G lanes holds the tile, C·V columns a lane; the 32/G groups of the
// warp take every 32/G-th entry each, and are added in a fixed order at the end. Rows of more than CAPGNN_HUB entries are
// left to the first `hubs` blocks, which share out such a row's entries among their warps. Where the rows of x do not fit in
// the L2 cache but a tile of their columns does, the host makes several tiles: blockIdx.y is the tile, so the tiles run one
// after another.
//
// Memory: 4 bytes of index and C·V·G elements of x per entry and tile, gathered with loads of 16 bytes a lane (V = 4 floats
// or 8 bf16) where rows are aligned so, of one element otherwise (V = 1; the epilogue is then not fused). The last load of a row
// may reach beyond its columns, into the gap before the next row: what it finds there is never stored. Up to 8 loads are under
// way per lane.
#include "epilogue.cuh"
#include "rows.cuh"

namespace {

enum { SPMM_HALF_Y = 1, SPMM_BY_ROW = 2 };

template <class T> struct Product {
  void* y;
  const T* x;
  int ldy, ldx, cols, tile, flags;
  Sparse a;
  const float *val, *row_scale, *col_scale, *bias;
  float beta;
  Epilogue e;
};

// Tile is what a lane holds of a row: column(c) + i for c < C, i < V.
template <class T, int G, int C, int V> struct Tile {
  static const int PARTS = 32 / G;
  static const int WIDTH = G * C * V;
  // Entries whose loads are under way (docs/adr/0051).
  static const int AHEAD = V == 1 ? (C == 8 ? 8 / (int)sizeof(T) : 8) : PARTS > 4 ? 32 / PARTS : C == 2 ? 2 : 4;

  const Product<T>& p;
  float v[C][V];
  int first, limit;

  __device__ explicit Tile(const Product<T>& p_) : p(p_) {
    first = blockIdx.y * p.tile + threadIdx.x % G * V;
    limit = (int)(blockIdx.y + 1) * p.tile < p.cols ? (int)(blockIdx.y + 1) * p.tile : p.cols;
    clear();
  }

  __device__ void clear() {
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) v[c][i] = 0.f;
  }

  __device__ int column(int c) const { return first + c * G * V; }
  __device__ bool inside(int c) const { return column(c) < limit; }
  // readable is a column that exists in every row: column(c), or beyond the tile's end the column of the tile's last load.
  __device__ int readable(int c) const { return inside(c) ? column(c) : (limit - 1) / V * V; }

  // add adds the rows of n entries, whose indices and weights the lanes hold; WHOLE: of 32. Elements stay as they were stored until
  // they are added, so that nothing waits for one load before the next is on its way.
  template <bool WHOLE> __device__ void add(int index, float weight, int n) {
    const int part = threadIdx.x % 32 / G;
#pragma unroll 1
    for (int k0 = 0; k0 < n; k0 += AHEAD * PARTS) {
      Stored<T, V> x[AHEAD][C];
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const int k = k0 + u * PARTS + part;
        const T* row = p.x + (i64)__shfl_sync(CAPGNN_FULL, index, k & 31) * p.ldx;
#pragma unroll
        for (int c = 0; c < C; c++) {
          if ((WHOLE || k < n) && (V > 1 || inside(c))) {
            x[u][c].load(row + readable(c));
          } else {
            x[u][c].clear();
          }
        }
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const float w = __shfl_sync(CAPGNN_FULL, weight, (k0 + u * PARTS + part) & 31);
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
          for (int i = 0; i < V; i++) v[c][i] = fmaf(w, x[u][c].element(i), v[c][i]);
      }
    }
  }

  // neighbour returns this lane's index of the 32 entries from e on; 0 beyond the last.
  __device__ int neighbour(const int* indices, int e, int n) const {
    e += threadIdx.x % 32;
    return e < n ? __ldcs(indices + e) : 0;
  }

  // gather adds the entries from ≤ e < to, 32 at a time; the indices of the next 32 are on their way meanwhile.
  __device__ void gather(i64 from, i64 to) {
    const int* indices = p.a.indices + from;
    const int n = (int)(to - from), lane = threadIdx.x % 32;
    int next = neighbour(indices, 0, n);
#pragma unroll 1
    for (int e = 0; e < n; e += 32) {
      const int index = next;
      float weight = 1.f;
      if (e + lane < n) {
        if (p.val) weight = __ldcs(p.val + from + e + lane);
        if (p.col_scale) weight *= p.col_scale[index];
      }
      next = neighbour(indices, e + 32, n);
      if (n - e >= 32) {
        add<true>(index, weight, 32);
      } else {
        add<false>(index, weight, n - e);
      }
    }
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) v[c][i] = warp_sum_across<G>(v[c][i]);
  }

  // combine adds what the warps of the block hold, in their order; afterwards warp 0 holds the sum.
  __device__ void combine(float* sums) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane < G)
#pragma unroll
      for (int c = 0; c < C; c++)
#pragma unroll
        for (int i = 0; i < V; i++) sums[warp * WIDTH + (c * V + i) * G + lane] = v[c][i];
    __syncthreads();
    if (warp == 0)
#pragma unroll
      for (int c = 0; c < C; c++)
#pragma unroll
        for (int i = 0; i < V; i++)
          for (int w = 1; w < CAPGNN_WARPS; w++) v[c][i] += sums[w * WIDTH + (c * V + i) * G + lane % G];
    __syncthreads();
  }

  // finish makes row r of y, and of what the epilogue writes. Only the lanes that write y read it: the others hold what nobody
  // looks at.
  __device__ void finish(i64 r, bool stored) {
    const float scale = stored && p.row_scale ? p.row_scale[r] : 1.f;
    const bool added = p.beta != 0.f && threadIdx.x % 32 < G;
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (!inside(c)) continue;
#pragma unroll
      for (int i = 0; i < V; i++) {
        const int j = column(c) + i;
        if (V > 1 && j >= limit) break;
        float y = scale * v[c][i];
        if (added) y = fmaf(p.beta, static_cast<const float*>(p.y)[r * p.ldy + j], y);
        v[c][i] = p.bias ? y + p.bias[j] : y;
      }
    }
    if (V > 1 && (p.e.flags & EPILOGUE_ON)) {
      epilogue(r);
    } else {
      store_y(r);
    }
  }

  // store writes V elements, or the first n if those are fewer; the first G lanes hold what the others hold too.
  template <class D> __device__ void store(D* row, const float* x, int n) const {
    if (threadIdx.x % 32 >= G) return;
#pragma unroll
    for (int i = 0; i < V; i += 4) {
      if (V == 1) {
        store1(row, x[0]);
      } else if (i + 4 <= n) {
        stream4(row + i, x + i);
      } else {
#pragma unroll
        for (int k = i; k < i + 4; k++)
          if (k < n) store1(row + k, x[k]);
      }
    }
  }

  __device__ void store_y(i64 r) const {
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (!inside(c)) continue;
      if (p.flags & SPMM_HALF_Y) {
        store(static_cast<bf16*>(p.y) + r * p.ldy + column(c), v[c], limit - column(c));
      } else {
        store(static_cast<float*>(p.y) + r * p.ldy + column(c), v[c], limit - column(c));
      }
    }
  }

  __device__ float sum() const {
    float s = 0.f;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) s += inside(c) ? v[c][i] : 0.f;
    return warp_sum<G>(s);
  }

  __device__ void normalise(i64 r) {
    const float mu = sum() / p.cols;
    float squares = 0.f;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) {
        const float d = inside(c) ? v[c][i] - mu : 0.f;
        squares = fmaf(d, d, squares);
      }
    const float rstd = 1.f / sqrtf(warp_sum<G>(squares) / p.cols + p.e.eps);
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int i = 0; i < V; i++) v[c][i] = (v[c][i] - mu) * rstd;
    if (p.e.rstd && threadIdx.x % 32 == 0) p.e.rstd[r] = rstd;
  }

  __device__ void epilogue(i64 r) {
    if (p.e.norm()) normalise(r);
    store_y(r);
    const u32 id = p.e.drop() ? (u32)p.e.ids[r] : 0;
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (!inside(c)) continue;
#pragma unroll
      for (int i = 0; i + 3 < V; i += 4) {
        const int j = column(c) + i;
        const u32 kept = p.e.drop() ? p.e.keep4(j / 4, id) : 15;
        float h[4];
#pragma unroll
        for (int k = 0; k < 4; k++) h[k] = p.e.output(j + k, v[c][i + k], kept >> k & 1);
        if (threadIdx.x % 32 < G) p.e.store_four(r, j, h);
      }
    }
  }
};

template <class T, int G, int C, int V> CAPGNN_FN void product(const Product<T>& p, i64 units, u32 hub_blocks) {
  CAPGNN_SHARED(float, sums, CAPGNN_WARPS * (Tile<T, G, C, V>::WIDTH));
  CAPGNN_SHARED(u32, found, CAPGNN_WARPS);
  const bool hub = blockIdx.x < hub_blocks;
  const int warp = threadIdx.x / 32;
  Tile<T, G, C, V> t(p);
  Hubs hubs(found, p.a.stored, blockIdx.x, hub_blocks);
  do {
    // A gpu.CSR has no more rows than an int holds.
    int row = (int)(blockIdx.x - hub_blocks) * CAPGNN_WARPS + warp, k = row;
    if (hub) {
      k = (int)hubs.next([&](i64 i) { return p.a.end[i] - p.a.begin[i]; });
      if (k < 0) return;
      row = (int)p.a.row(k);
    } else {
      if (row >= units) return;
      if (p.flags & SPMM_BY_ROW) {
        k = (int)p.a.find(row);
      } else {
        row = (int)p.a.row(k);
      }
    }
    if (k >= 0) {
      const Range all = {p.a.begin[k], p.a.end[k]}, mine = hub ? share(all, warp) : all;
      if (!hub && hub_blocks > 0 && all.to - all.from > CAPGNN_HUB) return;
      t.gather(mine.from, mine.to);
    }
    if (hub) t.combine(sums);
    if (!hub || warp == 0) t.finish(row, k >= 0);
    t.clear();
  } while (hub);
}

}  // namespace

// units is the number of matrix rows with SPMM_BY_ROW, else of stored rows. col_scale and row_scale, val, bias and list may
// be null.
#define SPMM(name, T, G, C, V) \
  extern "C" __global__ void __launch_bounds__(CAPGNN_BLOCK, V == 1 ? 3 : 4) name( \
      void* y, int ldy, const T* x, int ldx, int cols, int tile, int flags, const i64* begin, const i64* end, \
      const int* indices, const int* list, i64 stored, const float* val, i64 units, int hubs, const float* row_scale, \
      const float* col_scale, const float* bias, float beta, EPILOGUE_PARAMS) { \
    const Product<T> p = {y, x, ldy, ldx, cols, tile, flags, {begin, end, indices, list, stored}, \
                          val, row_scale, col_scale, bias, beta, EPILOGUE_STRUCT}; \
    product<T, G, C, V>(p, units, hubs); \
  } \
  CAPGNN_KERNEL(name)

// The number is the columns of a tile; s: loads of single elements, for rows that are not aligned.
SPMM(capgnn_spmm_f16, float, 4, 1, 4)
SPMM(capgnn_spmm_f32, float, 8, 1, 4)
SPMM(capgnn_spmm_f64, float, 16, 1, 4)
SPMM(capgnn_spmm_f128, float, 32, 1, 4)
SPMM(capgnn_spmm_f256, float, 32, 2, 4)
SPMM(capgnn_spmm_fs64, float, 32, 2, 1)
SPMM(capgnn_spmm_fs256, float, 32, 8, 1)
SPMM(capgnn_spmm_b32, bf16, 4, 1, 8)
SPMM(capgnn_spmm_b64, bf16, 8, 1, 8)
SPMM(capgnn_spmm_b128, bf16, 16, 1, 8)
SPMM(capgnn_spmm_b256, bf16, 32, 1, 8)
SPMM(capgnn_spmm_bs64, bf16, 32, 2, 1)
SPMM(capgnn_spmm_bs256, bf16, 32, 8, 1)
