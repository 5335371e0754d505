#include <stddef.h>
#include <stdint.h>

int capgnn_blas_open(const char *library, char *why, size_t size);
int capgnn_blas_property(int which, int *value);
int capgnn_blas_create(uintptr_t *handle, uintptr_t stream, int math);
int capgnn_blas_destroy(uintptr_t handle);
int capgnn_blas_sgemm(uintptr_t handle, int ta, int tb, int m, int n, int k, uint64_t a, int lda, uint64_t b, int ldb, float beta, uint64_t c, int ldc);
int capgnn_blas_gemm16(uintptr_t handle, int ta, int tb, int m, int n, int k, uint64_t a, int lda, uint64_t b, int ldb, float beta, uint64_t c, int ldc, int half);
