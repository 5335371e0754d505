// The functions of one number that kernels apply to elements; gpu/map.go has the same.
#pragma once
#include "device.cuh"

namespace {

enum { IDENTITY, LEAKY, ELU, TANH, GELU, SIGMOID, SILU, SOFTPLUS, EXP, LOG, SQRT, SQUARE, POWER, CLAMP, RECIPROCAL, ZERO };

// sigmoid is made of e^-|x|.
CAPGNN_FN float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0.f ? e : 1.f) / (1.f + e);
}

// normal is the normal distribution's share below x.
CAPGNN_FN float normal(float x) { return 0.5f * erfcf(-0.70710678118654752f * x); }

CAPGNN_FN float value(int f, float a, float b, float x) {
  switch (f) {
    case LEAKY: return x > 0.f ? x : a * x;
    case ELU: return x > 0.f ? x : a * expm1f(x);
    case TANH: return tanhf(x);
    case GELU: return x * normal(x);
    case SIGMOID: return sigmoid(x);
    case SILU: return x * sigmoid(x);
    case SOFTPLUS: return (x < 0.f ? 0.f : x) + log1pf(expf(-fabsf(x)));
    case EXP: return expf(x);
    case LOG: return logf(x);
    case SQRT: return sqrtf(x);
    case SQUARE: return x * x;
    case POWER: return powf(x, a);
    case CLAMP: return x < a ? a : x > b ? b : x;
    case RECIPROCAL: return 1.f / x;
    case ZERO: return x == 0.f ? 1.f : 0.f * x;
  }
  return x;
}

CAPGNN_FN float slope(int f, float a, float b, float x) {
  switch (f) {
    case LEAKY: return x > 0.f ? 1.f : a;
    case ELU: return x > 0.f ? 1.f : a * expf(x);
    case TANH: {
      const float t = tanhf(x);
      return 1.f - t * t;
    }
    case GELU: return normal(x) + x * expf(-0.5f * x * x) * 0.39894228040143268f;
    case SIGMOID: return sigmoid(x) * sigmoid(-x);
    case SILU: return sigmoid(x) * (1.f + x * sigmoid(-x));
    case SOFTPLUS: return sigmoid(x);
    case EXP: return expf(x);
    case LOG: return 1.f / x;
    case SQRT: return 0.5f / sqrtf(x);
    case SQUARE: return 2.f * x;
    case POWER: return a == 0.f ? 0.f : a * powf(x, a - 1.f);
    case CLAMP: return x < a || x > b ? 0.f : x == x ? 1.f : x;
    case RECIPROCAL: return -1.f / (x * x);
    case ZERO: return 0.f;
  }
  return 1.f;
}

}  // namespace
