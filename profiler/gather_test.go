package profiler_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/long"
	"capgnn/profiler"
)

// ring is a sample in which every row reads k columns from its own on, step apart.
func ring(n, k, step int) profiler.Sample {
	s := profiler.Sample{Indptr: []int64{0}, Cols: n}
	for v := range n {
		for i := range k {
			s.Indices = append(s.Indices, int32((v+i*step)%n))
		}
		s.Indptr = append(s.Indptr, int64(len(s.Indices)))
	}
	return s
}

// Neighbours side by side are read faster than neighbours anywhere, and nothing stays allocated.
func TestCompareGathers(t *testing.T) {
	dev, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: 512 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	const n = 100_000
	near, far := ring(n, 8, 1), ring(n, 8, 1)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range far.Indices {
		far.Indices[i] = int32(r.IntN(n))
	}
	storages := []gpu.DType{gpu.FP32}
	if long.Wanted() {
		storages = append(storages, gpu.BF16)
	}
	for _, storage := range storages {
		speedup, err := profiler.CompareGathers(context.Background(), dev, far, near, 256, storage)
		if err != nil {
			t.Fatal(err)
		}
		if !(speedup > 1) {
			t.Errorf("%v: neighbours side by side are %v times as fast as scattered ones", storage, speedup)
		}
	}
	if used := dev.Memory().Used; used != 0 {
		t.Errorf("%d bytes stay allocated", used)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := profiler.CompareGathers(ended, dev, near, near, 256, gpu.FP32); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	var oom *gpu.OutOfMemory
	if _, err := profiler.CompareGathers(context.Background(), dev, near, near, 4096, gpu.FP32); !errors.As(err, &oom) {
		t.Errorf("too wide: %v, want *gpu.OutOfMemory", err)
	}
	if used := dev.Memory().Used; used != 0 {
		t.Errorf("%d bytes stay allocated after errors", used)
	}
}
