package hostmem

import (
	"fmt"
	"unsafe"
)

// Numeric is what a view or a mapped array may hold. Every bit pattern is a valid value.
type Numeric interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// LittleEndian reports whether this machine stores the low byte first, as .npy files and weights do.
func LittleEndian() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}

// Bytes returns the memory of s as bytes, in this machine's byte order, without copying. Its capacity is its length.
func Bytes[T Numeric](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	n := len(s) * int(unsafe.Sizeof(s[0]))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), n)
}

// Of returns the memory of b as numbers, without copying. It panics if the length of b is not a multiple of the element
// size or b is not aligned for it: both are errors of the calling code, never of a file.
func Of[T Numeric](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(*new(T)))
	if len(b)%size != 0 {
		panic(fmt.Sprintf("hostmem: %d bytes are no whole number of %d-byte elements", len(b), size))
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%unsafe.Alignof(*new(T)) != 0 {
		panic(fmt.Sprintf("hostmem: bytes at %p are not aligned for %d-byte elements", p, size))
	}
	return unsafe.Slice((*T)(p), len(b)/size)
}
