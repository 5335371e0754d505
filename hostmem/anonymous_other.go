//go:build !linux

package hostmem

// mapAnonymous returns n zero bytes of the Go heap.
func mapAnonymous(n int) ([]byte, error) { return aligned(n), nil }

// smallPages has no effect here.
func smallPages([]byte) {}

// restPages has no effect here.
func restPages([]byte) {}

// adviseOrder has no effect here.
func adviseOrder([]byte, bool) {}

// unmap leaves the memory to the collector.
func unmap([]byte) {}
