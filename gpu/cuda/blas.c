//go:build cuda

// cuBLAS, loaded while the program runs: the few calls that package cuda makes.
#define _GNU_SOURCE
#include "blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct {
	int (*create)(void **);
	int (*destroy)(void *);
	int (*set_stream)(void *, void *);
	int (*set_math)(void *, int);
	int (*version)(void *, int *);
	int (*sgemm)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
	int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int);
	int (*property)(int, int *);
} calls;

static calls blas;

enum { FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

// open_library loads cuBLAS. It needs libcublasLt, which lies beside it; where the dynamic loader does not look there, that is loaded first.
static void *open_library(const char *library, char *why, size_t size) {
	static const char name[] = "/libcublas.so";
	void *so = dlopen(library, FLAGS);
	if (so) return so;
	snprintf(why, size, "%s", dlerror());
	const char *file = strrchr(library, '/');
	char beside[4096];
	if (!file || strncmp(file, name, sizeof name - 1)) return 0;
	int n = snprintf(beside, sizeof beside, "%.*s/libcublasLt.so%s", (int)(file - library), library, file + sizeof name - 1);
	if (n >= (int)sizeof beside || !dlopen(beside, FLAGS)) return 0;
	if (!(so = dlopen(library, FLAGS))) snprintf(why, size, "%s", dlerror());
	return so;
}

// capgnn_blas_open loads a library; why receives the reason if it returns other than 0. It is called once at most with success.
int capgnn_blas_open(const char *library, char *why, size_t size) {
	void *so = open_library(library, why, size);
	if (!so) return 1;
	struct { const char *name; void **call; } wanted[] = {
		{"cublasCreate_v2", (void **)&blas.create}, {"cublasDestroy_v2", (void **)&blas.destroy},
		{"cublasSetStream_v2", (void **)&blas.set_stream}, {"cublasSetMathMode", (void **)&blas.set_math},
		{"cublasGetProperty", (void **)&blas.property}, {"cublasSgemm_v2", (void **)&blas.sgemm},
		{"cublasGemmEx", (void **)&blas.gemm},
	};
	for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		*wanted[i].call = dlsym(so, wanted[i].name);
		if (!*wanted[i].call) return snprintf(why, size, "%s: it has no %s", library, wanted[i].name), 1;
	}
	return 0;
}

int capgnn_blas_property(int which, int *value) { return blas.property(which, value); }

// capgnn_blas_create makes a handle for a stream of the current context.
int capgnn_blas_create(uintptr_t *handle, uintptr_t stream, int math) {
	void *h = 0;
	int r = blas.create(&h);
	if (r) return r;
	if ((r = blas.set_stream(h, (void *)stream)) || (r = blas.set_math(h, math))) {
		blas.destroy(h);
		return r;
	}
	*handle = (uintptr_t)h;
	return 0;
}

int capgnn_blas_destroy(uintptr_t handle) { return blas.destroy((void *)handle); }

int capgnn_blas_sgemm(uintptr_t handle, int ta, int tb, int m, int n, int k, uint64_t a, int lda, uint64_t b, int ldb, float beta, uint64_t c, int ldc) {
	float one = 1;
	return blas.sgemm((void *)handle, ta, tb, m, n, k, &one, (const float *)a, lda, (const float *)b, ldb, &beta, (float *)c, ldc);
}

enum { REAL_32F = 0, REAL_16BF = 14, COMPUTE_32F = 68, ANY_ALGORITHM = -1 }; // of cublasGemmEx

// capgnn_blas_gemm16 multiplies matrices of bf16; sums are float32. c is float32, or bf16 with half.
int capgnn_blas_gemm16(uintptr_t handle, int ta, int tb, int m, int n, int k, uint64_t a, int lda, uint64_t b, int ldb, float beta, uint64_t c, int ldc, int half) {
	float one = 1;
	return blas.gemm((void *)handle, ta, tb, m, n, k, &one, (const void *)a, REAL_16BF, lda, (const void *)b, REAL_16BF, ldb, &beta, (void *)c,
	                 half ? REAL_16BF : REAL_32F, ldc, COMPUTE_32F, ANY_ALGORITHM);
}
