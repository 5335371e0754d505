//go:build cuda

package cuda

// #include <stdlib.h>
// #include "blas.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"unsafe"
)

// blasNames are the libraries that are looked for, newest first.
var blasNames = []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}

// blasFolders are where toolkits put them; the dynamic loader often does not look there.
var blasFolders = []string{"/usr/local/cuda/lib64", "/opt/cuda/lib64"}

// BLASOff as Options.BLAS does without cuBLAS.
const BLASOff = "none"

// blasLibrary is cuBLAS, loaded.
type blasLibrary struct{ path string }

// BLAS returns the path of the cuBLAS in use and its version, or why there is none.
func (d *Driver) BLAS() (path, version string, err error) {
	lib, err := d.blasLibrary()
	if err != nil {
		return "", "", err
	}
	return lib.path, lib.version(), nil
}

// blasLibrary loads cuBLAS at its first call.
func (d *Driver) blasLibrary() (*blasLibrary, error) {
	d.blasOnce.Do(func() { d.blas, d.blasErr = openBLAS(d.options) })
	return d.blas, d.blasErr
}

func openBLAS(o Options) (*blasLibrary, error) {
	var errs []error
	for _, path := range blasPaths(o) {
		if err := tryBLAS(path); err != nil {
			errs = append(errs, err)
			continue
		}
		return &blasLibrary{path}, nil
	}
	if len(errs) == 0 {
		return nil, errors.New("cuBLAS is not wanted")
	}
	return nil, errs[0] // the others say the same of other places
}

// blasPaths are the places to look at, in order.
func blasPaths(o Options) []string {
	switch o.BLAS {
	case BLASOff:
		return nil
	case "":
	default:
		return []string{o.BLAS}
	}
	paths := append([]string(nil), blasNames...)
	for _, folder := range append(append([]string(nil), o.BLASFolders...), blasFolders...) {
		for _, name := range blasNames {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	return paths
}

func tryBLAS(path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	const size = 512
	why := (*C.char)(C.calloc(1, size))
	defer C.free(unsafe.Pointer(why))
	if C.capgnn_blas_open(text, why, size) != 0 {
		return errors.New(C.GoString(why))
	}
	return nil
}

// version is the library's, as 12.4.5.
func (*blasLibrary) version() string {
	var v [3]C.int
	for i := range v { // MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL
		if C.capgnn_blas_property(C.int(i), &v[i]) != 0 {
			return "of unknown version"
		}
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}

// blasHandle is cuBLAS's state for one queue. It belongs to the device's thread.
type blasHandle struct{ h C.uintptr_t }

// Modes of cublasSetMathMode.
const (
	mathDefault = 0
	mathTF32    = 3
)

// multiplier returns the queue's handle, made at the first call.
func (q *queue) multiplier() (*blasHandle, error) {
	if q.blas != nil {
		return q.blas, nil
	}
	mode := C.int(mathDefault)
	if q.dev.tf32 {
		mode = mathTF32
	}
	b := &blasHandle{}
	if r := C.capgnn_blas_create(&b.h, raw(q.stream), mode); r != 0 {
		return nil, fmt.Errorf("cublasCreate: status %d", int(r))
	}
	q.blas = b
	return b, nil
}

func (b *blasHandle) close() {
	if b != nil {
		C.capgnn_blas_destroy(b.h)
	}
}

// dense is the first element of a row-major FP32 matrix on the device and the elements from one row to the next.
type dense struct {
	ptr word
	ld  int
}

// sgemm enqueues C = op(A)·op(B) + beta·C by cuBLAS, with C m×n and k the inner dimension, none of them 0. It reports false,
// and does nothing, if there is no cuBLAS or the sizes are beyond it: the caller then launches its own kernel. q.begin names
// the operation. cuBLAS counts columns first, so it is handed Cᵀ = op(B)ᵀ·op(A)ᵀ.
func (q *queue) sgemm(transA, transB bool, m, n, k int, a, b dense, beta float32, c dense) bool {
	if _, err := q.dev.driver.blasLibrary(); err != nil {
		return false
	}
	if max(m, n, k, a.ld, b.ld, c.ld) > math.MaxInt32 {
		return false
	}
	q.enqueue(command{op: q.op + ": cublasSgemm", phase: q.phase, timed: true, run: func() error {
		handle, err := q.multiplier()
		if err != nil {
			return err
		}
		r := C.capgnn_blas_sgemm(handle.h, flag(transB), flag(transA), C.int(n), C.int(m), C.int(k), C.uint64_t(b.ptr), C.int(b.ld),
			C.uint64_t(a.ptr), C.int(a.ld), C.float(beta), C.uint64_t(c.ptr), C.int(c.ld))
		if r != 0 {
			return fmt.Errorf("cublasSgemm: status %d", int(r))
		}
		return nil
	}})
	return true
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
