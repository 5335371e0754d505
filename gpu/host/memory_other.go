//go:build !linux

package host

import "unsafe"

// mapAnonymous returns n zero bytes of the Go heap, aligned to blockAlign.
func mapAnonymous(n int) ([]byte, error) {
	raw := make([]byte, n+blockAlign)
	shift := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % blockAlign)
	return raw[shift : shift+n : shift+n], nil
}

// unmap leaves the memory to the collector.
func unmap([]byte) {}
