//go:build cuda

package fake

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

// call looks a symbol up in the driver that is loaded; 0 if there is none, or another.
static void *call(const char *name) {
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	return driver ? dlsym(driver, name) : 0;
}

static int configure(const char *text) {
	int (*f)(const char *) = (int (*)(const char *))call("fakecuda_configure");
	return f ? f(text) : -1;
}

static void profile(void) {
	void (*f)(void) = (void (*)(void))call("fakecuda_profile");
	if (f) f();
}

// products asks a fake cuBLAS that is loaded.
static long products(const char *library, const char *what) {
	void *blas = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	long (*f)(const char *) = blas ? (long (*)(const char *))dlsym(blas, "fakecublas_count") : 0;
	return f ? f(what) : -1;
}

static long count(const char *what) {
	long (*f)(const char *) = (long (*)(const char *))call("fakecuda_count");
	return f ? f(what) : -1;
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Configure makes the loaded driver another one; driver_config.cc has the grammar. A real driver stays what it is: the error is
// ErrReal if text asks for what only the fake one does.
func Configure(text string) error {
	if Real() {
		return configureReal(text)
	}
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	switch r := C.configure(c); r {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("fake driver: %q is no configuration", text)
	case 2:
		return fmt.Errorf("fake driver: configure %q while a device is open or holds memory", text)
	default:
		return fmt.Errorf("fake driver: not loaded")
	}
}

// Profile writes what kernels have done so far into the folder FAKECUDA_PROFILE, if the environment names one.
func Profile() {
	if !Real() {
		C.profile()
	}
}

// Count returns what the driver has seen since it was configured: "launches", "waits" of streams, "syncs" of the host, and
// the ranges that are "pinned" and the "events" that there are; since the process began: "contexts" that were retained, "modules" that were loaded. It is -1 on a
// real driver.
func Count(what string) int {
	if Real() {
		return -1
	}
	c := C.CString(what)
	defer C.free(unsafe.Pointer(c))
	return int(C.count(c))
}

// Products returns what the fake cuBLAS of a path has multiplied since it was loaded: "products", those of "bf16", and those of them that
// are "unaligned": with rows that do not begin at multiples of 16 bytes. It is -1 of another library, and where none is loaded.
func Products(library, what string) int {
	path, name := C.CString(library), C.CString(what)
	defer C.free(unsafe.Pointer(path))
	defer C.free(unsafe.Pointer(name))
	return int(C.products(path, name))
}
