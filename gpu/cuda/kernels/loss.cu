// Losses with their gradients, a warp per row.
//
//   softmax  rows with labels[i] ≥ 0: top = max_j x[i][j], e_j = exp(x[i][j] - top), others = Σ_{j ≠ label} e_j
//            loss += log(e_label + others) + top - x[i][label]                                   (float64)
//            grad[i][j] = e_j/sum·scale;  grad[i][label] = -others/sum·scale: a difference from 1 that does not cancel
//            other rows: grad[i][j] = 0
//   bce      rows with mask[i] ≠ 0 (all without mask), t = targets[i·cols + j], z = t ? -x : x, e = exp(-|x|)
//            loss += max(z, 0) + log(1 + e)                                                      (float64 between rows)
//            grad[i][j] = (t ? -1 : 1)·σ(z)·scale;  masked rows give 0
//
// part[b] is the sum of block b's rows: warp w of n gets rows w, w + n, …. grad may be x, or null. A label that is no column
// makes the loss NaN.
#include "device.cuh"

namespace {

CAPGNN_FN void give(void* grad, bool half, i64 at, float v) {
  if (half) {
    store1(static_cast<bf16*>(grad) + at, v);
  } else {
    static_cast<float*>(grad)[at] = v;
  }
}

CAPGNN_FN void clear(void* grad, bool half, i64 at, int cols) {
  if (grad)
    for (int j = threadIdx.x % 32; j < cols; j += 32) give(grad, half, at + j, 0.f);
}

// softmax_row returns the loss of a row, on all lanes.
CAPGNN_FN double softmax_row(const float* x, int cols, int label, void* grad, bool half, i64 at, float scale) {
  const int lane = threadIdx.x % 32;
  float top = -INFINITY;
  for (int j = lane; j < cols; j += 32) top = fmaxf(top, x[j]);
  top = warp_max(top);
  float others = 0.f;
  for (int j = lane; j < cols; j += 32)
    if (j != label) others += expf(x[j] - top);
  others = warp_sum(others);
  const float given = label < cols ? x[label] : NAN;
  const float own = expf(given - top), f = scale / (own + others);
  __syncwarp();  // grad may be x: all lanes have read the label's logit before it is overwritten
  if (grad)
    for (int j = lane; j < cols; j += 32) give(grad, half, at + j, j == label ? -others * f : expf(x[j] - top) * f);
  return log((double)own + (double)others) + ((double)top - (double)given);
}

// bce_row returns what this lane's elements add to the loss.
CAPGNN_FN double bce_row(const float* x, int cols, const u8* targets, void* grad, bool half, i64 at, float scale) {
  float sum = 0.f;
  for (int j = threadIdx.x % 32; j < cols; j += 32) {
    const bool t = targets[j] & 1;
    const float z = t ? -x[j] : x[j], e = expf(-fabsf(z));
    const float sigma = z < 0.f ? e / (1.f + e) : 1.f / (1.f + e);
    sum += (z > 0.f ? z : 0.f) + log1pf(e);
    if (grad) give(grad, half, at + j, t ? -sigma * scale : sigma * scale);
  }
  return sum;
}

}  // namespace

extern "C" __global__ void capgnn_softmax_loss(i64 rows, int cols, const float* x, i64 ldx, void* grad, i64 ldg, int half,
                                               const int* labels, float scale, double* part) {
  double sum = 0;
  for (i64 i = thread_id() / 32; i < rows; i += thread_count() / 32) {
    if (labels[i] < 0) {
      clear(grad, half, i * ldg, cols);
    } else {
      sum += softmax_row(x + i * ldx, cols, labels[i], grad, half, i * ldg, scale);
    }
  }
  sum = block_sum(threadIdx.x % 32 == 0 ? sum : 0.);
  if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

extern "C" __global__ void capgnn_bce_loss(i64 rows, int cols, const float* x, i64 ldx, void* grad, i64 ldg, int half,
                                           const u8* targets, const u8* mask, float scale, double* part) {
  double sum = 0;
  for (i64 i = thread_id() / 32; i < rows; i += thread_count() / 32) {
    if (mask && mask[i] == 0) {
      clear(grad, half, i * ldg, cols);
    } else {
      sum += bce_row(x + i * ldx, cols, targets + i * cols, grad, half, i * ldg, scale);
    }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

CAPGNN_KERNEL(capgnn_softmax_loss)
CAPGNN_KERNEL(capgnn_bce_loss)
