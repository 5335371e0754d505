//go:build !cgo

package hostmem

// ofThread is what a thread reserves of the address space: stacks, which lie in the heap of the runtime.
const ofThread = 1 << 20
