// What edges bring to their rows: gpu.Ops.Messages.
//
//   for every row r:  m_e[j] = f(r[r][j] + c[s][j])·x[s][j] over the entries e of row r, of column s, in two blocks
//   y[r][j] = Σ_e val[e]·m_e[j] (+ y[r][j] if add);  largest: max_e m_e[j] over val[e] ≠ 0, and 0 if there is none
//
// A warp makes a row, 32 columns at a time; each lane goes through the row's entries in their order. r may be null: 0; x: 1.
#include "elementwise.cuh"
#include "functions.cuh"
#include "rows.cuh"

namespace {

// Ends are a block of entries and what their columns index.
struct Ends {
  Sparse a;
  const float *val, *c;
  i64 ldc;
  const float* x;
  i64 ldx;
};

struct Messages {
  int f, derivative, largest;
  float a, b;

  // add brings entries from to to of a block to one element. any says whether there was one.
  __device__ void add(const Ends& of, i64 from, i64 to, i64 j, float own, float& y, bool& any) const {
    for (i64 e = from; e < to; e++) {
      const float w = of.val ? of.val[e] : 1.f;
      if (largest && w == 0.f) continue;
      const i64 s = of.a.indices[e];
      const float z = own + of.c[s * of.ldc + j];
      float m = derivative ? slope(f, a, b, z) : value(f, a, b, z);
      if (of.x) m *= of.x[s * of.ldx + j];
      if (!largest) {
        y = fmaf(w, m, y);
      } else if (!any || m > y || m != m) {
        y = m;
      }
      any = true;
    }
  }
};

}  // namespace

extern "C" __global__ void capgnn_messages(i64 rows, i64 cols, float* y, i64 ldy, int add, const float* r, i64 ldr, const i64* begin,
                                           const i64* end, const int* indices, const int* list, i64 stored, const float* val,
                                           const float* c, i64 ldc, const float* x, i64 ldx, const i64* begin2, const i64* end2,
                                           const int* indices2, const int* list2, i64 stored2, const float* val2, const float* c2,
                                           i64 ldc2, const float* x2, i64 ldx2, int f, int derivative, int largest, float a, float b) {
  const Ends inner = {{begin, end, indices, list, stored}, val, c, ldc, x, ldx};
  const Ends halo = {{begin2, end2, indices2, list2, stored2}, val2, c2, ldc2, x2, ldx2};
  const Messages m = {f, derivative, largest, a, b};
  const int lane = threadIdx.x % 32;
  each_unit(rows, cols, [&](i64 i, i64 from, i64 to) {
    const i64 k0 = inner.a.find(i), k1 = halo.a.find(i);
    for (i64 j = from + lane; j < to; j += 32) {
      float* d = y + i * ldy + j;
      float sum = add ? *d : 0.f;
      const float own = r ? r[i * ldr + j] : 0.f;
      bool any = false;
      m.add(inner, inner.a.from(k0), inner.a.to(k0), j, own, sum, any);
      m.add(halo, halo.a.from(k1), halo.a.to(k1), j, own, sum, any);
      *d = sum;
    }
  });
}

CAPGNN_KERNEL(capgnn_messages)
