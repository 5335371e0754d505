// The fake cuBLAS: the calls that capgnn makes, in the order of the stream, on the fake driver.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	void *stream;
	int math;
} handle;

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

static int (*host_func)(void *, void (*)(void *), void *);
static int (*holds)(unsigned long long, size_t);
static void (*written)(unsigned long long, size_t);
static long products;

int cublasCreate_v2(handle **h) {
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (!driver) return NOT_INITIALIZED;
	host_func = (int (*)(void *, void (*)(void *), void *))dlsym(driver, "cuLaunchHostFunc");
	holds = (int (*)(unsigned long long, size_t))dlsym(driver, "fakecuda_holds");
	written = (void (*)(unsigned long long, size_t))dlsym(driver, "fakecuda_written");
	if (!host_func || !holds || !written) return NOT_INITIALIZED;
	*h = calloc(1, sizeof **h);
	return 0;
}

int cublasDestroy_v2(handle *h) { return free(h), 0; }
int cublasSetStream_v2(handle *h, void *stream) { return h->stream = stream, 0; }
int cublasSetMathMode(handle *h, int mode) { return h->math = mode, 0; }
int cublasGetProperty(int which, int *value) { return *value = which == 0 ? 13 : 0, 0; }
long fakecublas_products(void) { return products; }

typedef struct {
	int ta, tb, m, n, k, lda, ldb, ldc;
	float alpha, beta;
	const float *a, *b;
	float *c;
} product;

// C = alpha·op(A)·op(B) + beta·C, columns first.
static void run(void *data) {
	product *p = data;
	for (int j = 0; j < p->n; j++) {
		for (int i = 0; i < p->m; i++) {
			float sum = 0;
			for (int l = 0; l < p->k; l++)
				sum += p->a[p->ta ? (long)i * p->lda + l : (long)l * p->lda + i] * p->b[p->tb ? (long)l * p->ldb + j : (long)j * p->ldb + l];
			float *c = p->c + (long)j * p->ldc + i;
			*c = p->alpha * sum + (p->beta != 0 ? p->beta * *c : 0);
		}
		written((unsigned long long)(p->c + (long)j * p->ldc), sizeof(float) * p->m);
	}
	free(p);
}

// columns reports whether a matrix of cols columns of rows elements lies in one block.
static int columns(const float *x, int rows, int cols, int ld) {
	return holds((unsigned long long)x, sizeof(float) * ((size_t)(cols - 1) * ld + rows));
}

int cublasSgemm_v2(handle *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc) {
	if (m < 1 || n < 1 || k < 1 || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) return INVALID_VALUE;
	if (!columns(a, ta ? k : m, ta ? m : k, lda) || !columns(b, tb ? n : k, tb ? k : n, ldb) || !columns(c, m, n, ldc)) {
		fprintf(stderr, "fake cuBLAS: an operand of a product of %d×%d×%d is not in one block\n", m, n, k);
		return EXECUTION_FAILED;
	}
	product *p = malloc(sizeof *p);
	*p = (product){ta, tb, m, n, k, lda, ldb, ldc, *alpha, *beta, a, b, c};
	__atomic_add_fetch(&products, 1, __ATOMIC_RELAXED);
	return host_func(h->stream, run, p) ? EXECUTION_FAILED : 0;
}
