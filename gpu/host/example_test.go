package host_test

import (
	"fmt"
	"unsafe"

	"capgnn/gpu"
	"capgnn/gpu/host"
)

// A device has memory of its own and runs what its queues are given.
func ExampleOpen() {
	dev, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: 1 << 20})
	if err != nil {
		panic(err)
	}
	defer dev.Close()
	buf, err := dev.Alloc(16, "rows")
	if err != nil {
		panic(err)
	}
	x, y := []float32{1, 2, 3, 4}, make([]float32, 4)
	rows := gpu.Matrix{Buf: buf, Rows: 2, Cols: 2, LD: 2}
	q := dev.NewQueue("compute")
	q.Upload(buf, 0, bytesOf(x))
	q.Axpby(rows, 1, rows, 1) // rows = rows + rows
	q.Download(bytesOf(y), buf, 0)
	if err := q.Sync(); err != nil {
		panic(err)
	}
	fmt.Println(y, dev.Memory().Used) // of 16 bytes: blocks begin at multiples of 64
	// Output: [2 4 6 8] 64
}

func bytesOf(x []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x)) }
