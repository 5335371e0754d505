// Optimiser steps, one thread per parameter.
//
//   adam  p = param[i] - shrink·param[i];  g = grad[i] + decay·p
//         m[i] = b1·m[i] + c1·g;  v[i] = b2·v[i] + c2·g²
//         v = v[i]                       (vmax given: vmax[i] = max(vmax[i], v[i]); v = vmax[i]; NaN stays NaN)
//         param[i] = p - step·m[i] / (√v·root + eps)
//   sgd   param[i] -= lr·(grad[i] + decay·param[i])
//
// The host makes step = LR/(1-b1^t), root = 1/√(1-b2^t), c1 = 1-b1, c2 = 1-b2 in float64; shrink is LR·WeightDecay if it is
// decoupled, else decay is WeightDecay.
#include "device.cuh"

extern "C" __global__ void capgnn_adam(i64 n, float* param, const float* grad, float* m, float* v, float* vmax, float b1,
                                       float b2, float c1, float c2, float step, float root, float eps, float decay,
                                       float shrink) {
  for (i64 i = thread_id(); i < n; i += thread_count()) {
    const float p = param[i] - shrink * param[i];
    const float g = grad[i] + decay * p;
    const float mi = b1 * m[i] + c1 * g;
    float vi = b2 * v[i] + c2 * g * g;
    m[i] = mi;
    v[i] = vi;
    if (vmax) {
      const float top = vmax[i];
      vi = vi <= top ? top : (top != top ? top : vi);
      vmax[i] = vi;
    }
    param[i] = p - step * mi / (sqrtf(vi) * root + eps);
  }
}

extern "C" __global__ void capgnn_sgd(i64 n, float* param, const float* grad, float lr, float decay) {
  for (i64 i = thread_id(); i < n; i += thread_count()) param[i] -= lr * (grad[i] + decay * param[i]);
}

CAPGNN_KERNEL(capgnn_adam)
CAPGNN_KERNEL(capgnn_sgd)
