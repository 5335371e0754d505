//go:build cuda

#include "shim.h"

enum { MAX_ARGS = 48 };

CUresult capgnn_launch(uintptr_t function, uintptr_t stream, uint32_t gx, uint32_t gy, uint32_t block, uint32_t shared, const uint64_t *args, int n) {
	void *params[MAX_ARGS];
	if (n > MAX_ARGS) return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < n; i++) params[i] = (void *)&args[i];
	return cuLaunchKernel((CUfunction)function, gx, gy, 1, block, 1, 1, shared, (CUstream)stream, params, 0);
}

// capgnn_module loads an image; log receives what the driver's compiler says if it refuses.
CUresult capgnn_module(uintptr_t *module, const void *image, char *log, unsigned size) {
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)size};
	log[0] = 0;
	return cuModuleLoadDataEx((CUmodule *)module, image, 2, options, values);
}

CUresult capgnn_unload(uintptr_t module) { return cuModuleUnload((CUmodule)module); }

CUresult capgnn_function(uintptr_t *function, uintptr_t module, const char *name) {
	return cuModuleGetFunction((CUfunction *)function, (CUmodule)module, name);
}

CUresult capgnn_allow_shared(uintptr_t function, int bytes) {
	return cuFuncSetAttribute((CUfunction)function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
}

CUresult capgnn_event_new(uintptr_t *event, unsigned flags) { return cuEventCreate((CUevent *)event, flags); }
CUresult capgnn_event_free(uintptr_t event) { return cuEventDestroy((CUevent)event); }
CUresult capgnn_event_record(uintptr_t event, uintptr_t stream) { return cuEventRecord((CUevent)event, (CUstream)stream); }
CUresult capgnn_event_query(uintptr_t event) { return cuEventQuery((CUevent)event); }

// INSIDE makes call with a context current, on any thread, and puts back what was.
#define INSIDE(context, call)                                 \
	CUcontext inside;                                            \
	CUresult before = cuCtxPushCurrent((CUcontext)context);      \
	if (before) return before;                                   \
	CUresult result = call, after = cuCtxPopCurrent(&inside);    \
	return result ? result : after;

CUresult capgnn_event_await(uintptr_t context, uintptr_t event) { INSIDE(context, cuEventSynchronize((CUevent)event)) }

CUresult capgnn_event_elapsed(float *ms, uintptr_t from, uintptr_t to) { return cuEventElapsedTime(ms, (CUevent)from, (CUevent)to); }

CUresult capgnn_stream_wait(uintptr_t stream, uintptr_t event) { return cuStreamWaitEvent((CUstream)stream, (CUevent)event, 0); }

// capgnn_register page-locks memory for all contexts.
CUresult capgnn_register(uintptr_t context, void *memory, size_t n) {
	INSIDE(context, cuMemHostRegister(memory, n, CU_MEMHOSTREGISTER_PORTABLE))
}

CUresult capgnn_unregister(uintptr_t context, uintptr_t memory) { INSIDE(context, cuMemHostUnregister((void *)memory)) }

CUresult capgnn_release_primary(int device) { return cuDevicePrimaryCtxRelease(device); }

CUresult capgnn_peer_piece(uint64_t dst, uintptr_t dst_context, uint64_t src, uintptr_t src_context, size_t n, uintptr_t stream) {
	return cuMemcpyPeerAsync(dst, (CUcontext)dst_context, src, (CUcontext)src_context, n, (CUstream)stream);
}

// capgnn_peer_rows copies rows of width bytes between memory of two contexts.
CUresult capgnn_peer_rows(uint64_t dst, uintptr_t dst_context, size_t dst_pitch, uint64_t src, uintptr_t src_context, size_t src_pitch, size_t width, size_t rows, uintptr_t stream) {
	CUDA_MEMCPY3D_PEER copy = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = src, .srcContext = (CUcontext)src_context, .srcPitch = src_pitch, .srcHeight = rows,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dst, .dstContext = (CUcontext)dst_context, .dstPitch = dst_pitch, .dstHeight = rows,
		.WidthInBytes = width, .Height = rows, .Depth = 1,
	};
	return cuMemcpy3DPeerAsync(&copy, (CUstream)stream);
}

CUresult capgnn_explain(const char **name, const char **text, int code) {
	CUresult r = cuGetErrorName((CUresult)code, name);
	return r ? r : cuGetErrorString((CUresult)code, text);
}
