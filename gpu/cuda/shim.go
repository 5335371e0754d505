//go:build cuda

package cuda

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"gorgonia.org/cu"
)

// Handles of the driver, as integers.
type (
	eventHandle    uintptr
	functionHandle uintptr
	moduleHandle   uintptr
	contextHandle  uintptr
)

// raw returns the handle in a stream. cu.Stream hands it out.
func raw(s cu.Stream) C.uintptr_t { return C.uintptr_t(uintptr(unsafe.Pointer(s.C()))) }

// handleOf returns the handle in a context. cu.CUContext is one pointer and has no method that hands it out (cu v0.9.6).
func handleOf(c cu.CUContext) contextHandle { return *(*contextHandle)(unsafe.Pointer(&c)) }

// checked turns the driver's answer to a call into an error.
func checked(call string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return newError(call, int(r))
}

// explain returns the driver's name and explanation of an answer; "" where it has none.
func explain(code int) (name, text string) {
	var n, t *C.char
	if C.capgnn_explain(&n, &t, C.int(code)) != C.CUDA_SUCCESS || n == nil || t == nil {
		return "", ""
	}
	return C.GoString(n), C.GoString(t)
}

func launchKernel(f functionHandle, s cu.Stream, grid dim, block, shared uint32, args []word) error {
	var first *C.uint64_t
	if len(args) > 0 {
		first = (*C.uint64_t)(unsafe.Pointer(&args[0]))
	}
	r := C.capgnn_launch(C.uintptr_t(f), raw(s), C.uint32_t(grid.x), C.uint32_t(grid.y), C.uint32_t(block), C.uint32_t(shared), first, C.int(len(args)))
	return checked("cuLaunchKernel", r)
}

// loadModule hands an image, PTX or a fatbin, to the driver. The error says what the driver's compiler said.
func loadModule(image string) (moduleHandle, error) {
	text := C.CString(image) // zero-terminated, as PTX must be; a fatbin knows its length
	defer C.free(unsafe.Pointer(text))
	const logSize = 8 << 10
	log := (*C.char)(C.malloc(logSize))
	defer C.free(unsafe.Pointer(log))
	var m C.uintptr_t
	err := checked("cuModuleLoadDataEx", C.capgnn_module(&m, unsafe.Pointer(text), log, logSize))
	if said := strings.TrimSpace(C.GoString(log)); err != nil && said != "" {
		err = fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(said), " "))
	}
	return moduleHandle(m), err
}

// unloadModules unloads all of them. An error is that of earlier work.
func unloadModules(modules []moduleHandle) {
	for _, m := range modules {
		C.capgnn_unload(C.uintptr_t(m))
	}
}

func moduleFunction(m moduleHandle, name string) (functionHandle, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var f C.uintptr_t
	err := checked("cuModuleGetFunction", C.capgnn_function(&f, C.uintptr_t(m), text))
	return functionHandle(f), err
}

func allowShared(f functionHandle, bytes uint32) error {
	return checked("cuFuncSetAttribute", C.capgnn_allow_shared(C.uintptr_t(f), C.int(bytes)))
}

// newEvent makes an event; waiting for one that takes no time blocks the thread instead of spinning.
func newEvent(timed bool) (eventHandle, error) {
	flags := C.uint(C.CU_EVENT_DISABLE_TIMING | C.CU_EVENT_BLOCKING_SYNC)
	if timed {
		flags = C.CU_EVENT_DEFAULT
	}
	var e C.uintptr_t
	err := checked("cuEventCreate", C.capgnn_event_new(&e, flags))
	return eventHandle(e), err
}

func freeEvent(e eventHandle) error {
	return checked("cuEventDestroy", C.capgnn_event_free(C.uintptr_t(e)))
}

func recordEvent(e eventHandle, s cu.Stream) error {
	return checked("cuEventRecord", C.capgnn_event_record(C.uintptr_t(e), raw(s)))
}

// eventFired reports whether there is nothing to wait for; an error is nothing to wait for either.
func eventFired(e eventHandle) bool {
	return C.capgnn_event_query(C.uintptr_t(e)) != C.CUDA_ERROR_NOT_READY
}

// awaitEvent blocks the calling thread, which may be any.
func awaitEvent(c contextHandle, e eventHandle) error {
	return checked("cuEventSynchronize", C.capgnn_event_await(C.uintptr_t(c), C.uintptr_t(e)))
}

// elapsed returns the seconds between two fired events.
func elapsed(from, to eventHandle) (float64, error) {
	var ms C.float
	err := checked("cuEventElapsedTime", C.capgnn_event_elapsed(&ms, C.uintptr_t(from), C.uintptr_t(to)))
	return float64(ms) / 1000, err
}

func waitEvent(s cu.Stream, e eventHandle) error {
	return checked("cuStreamWaitEvent", C.capgnn_stream_wait(raw(s), C.uintptr_t(e)))
}

func registerMemory(c contextHandle, mem []byte) error {
	return checked("cuMemHostRegister", C.capgnn_register(C.uintptr_t(c), unsafe.Pointer(unsafe.SliceData(mem)), C.size_t(len(mem))))
}

func unregisterMemory(c contextHandle, address uintptr) error {
	return checked("cuMemHostUnregister", C.capgnn_unregister(C.uintptr_t(c), C.uintptr_t(address)))
}

func releasePrimary(ordinal int) error {
	return checked("cuDevicePrimaryCtxRelease", C.capgnn_release_primary(C.int(ordinal)))
}

// area is rows of equal length in the memory of a context.
type area struct {
	ptr     word
	context contextHandle
	pitch   int // bytes from one row to the next
}

// copyPiece copies n bytes from one context's memory to another's.
func copyPiece(dst, src area, n int, s cu.Stream) error {
	return checked("cuMemcpyPeerAsync", C.capgnn_peer_piece(C.uint64_t(dst.ptr), C.uintptr_t(dst.context),
		C.uint64_t(src.ptr), C.uintptr_t(src.context), C.size_t(n), raw(s)))
}

// copyRows copies rows of width bytes from one context's memory to another's.
func copyRows(dst, src area, width, rows int, s cu.Stream) error {
	return checked("cuMemcpy3DPeerAsync", C.capgnn_peer_rows(C.uint64_t(dst.ptr), C.uintptr_t(dst.context), C.size_t(dst.pitch),
		C.uint64_t(src.ptr), C.uintptr_t(src.context), C.size_t(src.pitch), C.size_t(width), C.size_t(rows), raw(s)))
}
