// Driver calls that gorgonia.org/cu lacks, or makes in a way that costs more. Handles travel as integers.
#include <cuda.h>
#include <stdint.h>

CUresult capgnn_launch(uintptr_t function, uintptr_t stream, uint32_t gx, uint32_t gy, uint32_t block, uint32_t shared, const uint64_t *args, int n);
CUresult capgnn_module(uintptr_t *module, const void *image, char *log, unsigned size);
CUresult capgnn_unload(uintptr_t module);
CUresult capgnn_function(uintptr_t *function, uintptr_t module, const char *name);
CUresult capgnn_allow_shared(uintptr_t function, int bytes);
CUresult capgnn_event_new(uintptr_t *event, unsigned flags);
CUresult capgnn_event_free(uintptr_t event);
CUresult capgnn_event_record(uintptr_t event, uintptr_t stream);
CUresult capgnn_event_query(uintptr_t event);
CUresult capgnn_event_await(uintptr_t context, uintptr_t event);
CUresult capgnn_event_elapsed(float *ms, uintptr_t from, uintptr_t to);
CUresult capgnn_stream_wait(uintptr_t stream, uintptr_t event);
CUresult capgnn_register(uintptr_t context, void *memory, size_t n);
CUresult capgnn_unregister(uintptr_t context, uintptr_t memory);
CUresult capgnn_release_primary(int device);
CUresult capgnn_peer_piece(uint64_t dst, uintptr_t dst_context, uint64_t src, uintptr_t src_context, size_t n, uintptr_t stream);
CUresult capgnn_peer_rows(uint64_t dst, uintptr_t dst_context, size_t dst_pitch, uint64_t src, uintptr_t src_context, size_t src_pitch, size_t width, size_t rows, uintptr_t stream);
CUresult capgnn_explain(const char **name, const char **text, int code);
