//go:build cgo

package hostmem

// ofThread is what a thread reserves of the address space: a stack of 8 MiB, and a heap of the C library.
const ofThread = 72 << 20
