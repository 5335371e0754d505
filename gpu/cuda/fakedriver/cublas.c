// The fake cuBLAS: the calls that capgnn makes, in the order of the stream, on the fake driver. It refuses what the library refuses,
// and counts what makes it slow.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	void *stream;
	int math, major; // mode of cublasSetMathMode; compute capability of the device
} handle;

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 7, ARCH_MISMATCH = 8, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };
enum { REAL_32F = 0, REAL_16BF = 14, COMPUTE_32F = 68, ANY_ALGORITHM = -1, WHOLE_SUMS = 16, CAPABILITY_MAJOR = 75 };

static int (*host_func)(void *, void (*)(void *), void *);
static int (*holds)(unsigned long long, size_t);
static void (*written)(unsigned long long, size_t);
static struct { long products, bf16, unaligned; } counts;

int cublasCreate_v2(handle **h) {
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (!driver) return NOT_INITIALIZED;
	host_func = (int (*)(void *, void (*)(void *), void *))dlsym(driver, "cuLaunchHostFunc");
	holds = (int (*)(unsigned long long, size_t))dlsym(driver, "fakecuda_holds");
	written = (void (*)(unsigned long long, size_t))dlsym(driver, "fakecuda_written");
	int (*current)(int *) = (int (*)(int *))dlsym(driver, "cuCtxGetDevice");
	int (*attribute)(int *, int, int) = (int (*)(int *, int, int))dlsym(driver, "cuDeviceGetAttribute");
	int device, major;
	if (!host_func || !holds || !written || !current || !attribute || current(&device) || attribute(&major, CAPABILITY_MAJOR, device)) return NOT_INITIALIZED;
	*h = calloc(1, sizeof **h);
	(*h)->major = major;
	return 0;
}

int cublasDestroy_v2(handle *h) { return free(h), 0; }
int cublasSetStream_v2(handle *h, void *stream) { return h->stream = stream, 0; }
int cublasSetMathMode(handle *h, int mode) { return h->math = mode, 0; }
int cublasGetProperty(int which, int *value) { return *value = which == 0 ? 13 : 0, 0; }

// fakecublas_count returns what it has been asked for: "products", those of "bf16", and of these the "unaligned": with an operand whose
// columns do not begin at multiples of 16 bytes, as tensor cores want them.
long fakecublas_count(const char *what) {
	if (!strcmp(what, "products")) return __atomic_load_n(&counts.products, __ATOMIC_RELAXED);
	if (!strcmp(what, "bf16")) return __atomic_load_n(&counts.bf16, __ATOMIC_RELAXED);
	if (!strcmp(what, "unaligned")) return __atomic_load_n(&counts.unaligned, __ATOMIC_RELAXED);
	return -1;
}

// Operand is a matrix of columns, ld elements apart.
typedef struct {
	const void *p;
	int type, ld;
} operand;

static size_t size(operand x) { return x.type == REAL_16BF ? 2 : 4; }

static float get(operand x, long i) {
	if (x.type == REAL_32F) return ((const float *)x.p)[i];
	uint32_t bits = (uint32_t)((const uint16_t *)x.p)[i] << 16;
	float v;
	return memcpy(&v, &bits, 4), v;
}

// put rounds to the nearest, ties to even.
static void put(operand x, long i, float v) {
	if (x.type == REAL_32F) {
		((float *)x.p)[i] = v;
		return;
	}
	uint32_t bits;
	memcpy(&bits, &v, 4);
	int nan = (bits & 0x7fffffff) > 0x7f800000;
	((uint16_t *)x.p)[i] = nan ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

typedef struct {
	int ta, tb, m, n, k;
	float alpha, beta;
	operand a, b, c;
} product;

// C = alpha·op(A)·op(B) + beta·C, columns first. Sums are float32.
static void run(void *data) {
	product *p = data;
	for (int j = 0; j < p->n; j++) {
		long column = (long)j * p->c.ld;
		for (int i = 0; i < p->m; i++) {
			float sum = 0;
			for (int l = 0; l < p->k; l++)
				sum += get(p->a, p->ta ? (long)i * p->a.ld + l : (long)l * p->a.ld + i) * get(p->b, p->tb ? (long)l * p->b.ld + j : (long)j * p->b.ld + l);
			put(p->c, column + i, p->alpha * sum + (p->beta != 0 ? p->beta * get(p->c, column + i) : 0));
		}
		written((unsigned long long)p->c.p + column * size(p->c), size(p->c) * p->m);
	}
	free(p);
}

// columns reports whether a matrix of cols columns of rows elements lies in one block.
static int columns(operand x, int rows, int cols) {
	return holds((unsigned long long)x.p, size(x) * ((size_t)(cols - 1) * x.ld + rows));
}

static int aligned(operand x) { return (((uintptr_t)x.p | (size_t)x.ld * size(x)) & 15) == 0; }

static int enqueue(handle *h, product q) {
	if (q.m < 1 || q.n < 1 || q.k < 1 || q.a.ld < (q.ta ? q.k : q.m) || q.b.ld < (q.tb ? q.n : q.k) || q.c.ld < q.m) return INVALID_VALUE;
	if (!columns(q.a, q.ta ? q.k : q.m, q.ta ? q.m : q.k) || !columns(q.b, q.tb ? q.n : q.k, q.tb ? q.k : q.n) || !columns(q.c, q.m, q.n)) {
		fprintf(stderr, "fake cuBLAS: an operand of a product of %d×%d×%d is not in one block\n", q.m, q.n, q.k);
		return EXECUTION_FAILED;
	}
	product *p = malloc(sizeof *p);
	*p = q;
	__atomic_add_fetch(&counts.products, 1, __ATOMIC_RELAXED);
	return host_func(h->stream, run, p) ? EXECUTION_FAILED : 0;
}

int cublasSgemm_v2(handle *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc) {
	return enqueue(h, (product){ta, tb, m, n, k, *alpha, *beta, {a, REAL_32F, lda}, {b, REAL_32F, ldb}, {c, REAL_32F, ldc}});
}

// cublasGemmEx takes two operands of bf16. Where the result is bf16 too, sums of pieces must be told to be float32.
int cublasGemmEx(handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algorithm) {
	if (type_a != REAL_16BF || type_b != REAL_16BF || (type_c != REAL_16BF && type_c != REAL_32F) || compute != COMPUTE_32F || algorithm != ANY_ALGORITHM) {
		fprintf(stderr, "fake cuBLAS: no product of types %d and %d into %d, computed as %d\n", type_a, type_b, type_c, compute);
		return NOT_SUPPORTED;
	}
	if (h->major < 8) return ARCH_MISMATCH;
	if (type_c == REAL_16BF && !(h->math & WHOLE_SUMS)) {
		fprintf(stderr, "fake cuBLAS: sums of pieces may be rounded to bf16\n");
		return NOT_SUPPORTED;
	}
	if (((uintptr_t)a | (uintptr_t)b) & 1 || (uintptr_t)c & (type_c == REAL_16BF ? 1 : 3)) return INVALID_VALUE;
	product p = {ta, tb, m, n, k, *(const float *)alpha, *(const float *)beta, {a, type_a, lda}, {b, type_b, ldb}, {c, type_c, ldc}};
	__atomic_add_fetch(&counts.bf16, 1, __ATOMIC_RELAXED);
	if (!aligned(p.a) || !aligned(p.b) || !aligned(p.c)) __atomic_add_fetch(&counts.unaligned, 1, __ATOMIC_RELAXED);
	return enqueue(h, p);
}
