//go:build cuda

package cuda

// #include <stdlib.h>
// #include "blas.h"
import "C"

import (
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"

	"gorgonia.org/cu"

	"capgnn/gpu"
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

// Modes of cublasSetMathMode. mathWhole: what is cut along k is added up in float32, also where the result is BF16.
const (
	mathDefault = 0
	mathTF32    = 3
	mathWhole   = 16
)

// multiplier returns the queue's handle, made at the first call.
func (q *queue) multiplier() (*blasHandle, error) {
	if q.blas != nil {
		return q.blas, nil
	}
	mode := C.int(mathDefault | mathWhole)
	if q.dev.tf32 {
		mode = mathTF32 | mathWhole
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

// blasProduct enqueues C = op(A)·op(B) + beta·C by cuBLAS; C and the inner dimension are not empty. A and B are both FP32, and so is C,
// or both BF16. q.begin names the operation. cuBLAS counts columns first, so it is handed Cᵀ = op(B)ᵀ·op(A)ᵀ.
func (q *queue) blasProduct(transA, transB bool, a, b gpu.Matrix, beta float32, c gpu.Matrix) {
	k := a.Cols
	if transA {
		k = a.Rows
	}
	call := "cublasSgemm"
	if a.Type == gpu.BF16 {
		call = "cublasGemmEx"
	}
	ta, tb, m, n, inner := flag(transB), flag(transA), C.int(c.Cols), C.int(c.Rows), C.int(k)
	pa, pb, pc := C.uint64_t(matPtr(b)), C.uint64_t(matPtr(a)), C.uint64_t(matPtr(c))
	lda, ldb, ldc := stride(b), stride(a), stride(c)
	q.enqueue(command{op: q.op + ": " + call, phase: q.phase, timed: true, run: func() error {
		handle, err := q.multiplier()
		if err != nil {
			return err
		}
		var r C.int
		if a.Type == gpu.BF16 {
			r = C.capgnn_blas_gemm16(handle.h, ta, tb, m, n, inner, pa, lda, pb, ldb, C.float(beta), pc, ldc, flag(c.Type == gpu.BF16))
		} else {
			r = C.capgnn_blas_sgemm(handle.h, ta, tb, m, n, inner, pa, lda, pb, ldb, C.float(beta), pc, ldc)
		}
		if r == 0 {
			return nil
		}
		// cuBLAS says that it failed, the driver why: a device may be lost.
		if err := named("cuCtxSynchronize", cu.Synchronize()); err != nil {
			return fmt.Errorf("%s: status %d: %w", call, int(r), err)
		}
		return fmt.Errorf("%s: status %d", call, int(r))
	}})
}

// stride is the elements from one row to the next, as cuBLAS wants them of a single row too.
func stride(m gpu.Matrix) C.int { return C.int(max(m.LD, m.Cols)) }

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
