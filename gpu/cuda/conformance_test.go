//go:build cuda

package cuda

import (
	"fmt"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/gpu/gputest"
)

// orders are the orders of a block's threads, and of a grid's blocks, in which the tests run kernels.
var orders = []string{"forward", "reverse", "random:1"}

// twoGPUs configures GPUs that reach each other and returns a function that opens them in turn.
func twoGPUs(t *testing.T, d *Driver, order string) func(t *testing.T) *device {
	configure(t, "n=2;mem=256;p2p=01/10;order="+order)
	next := 0
	return func(t *testing.T) *device {
		t.Helper()
		dev, err := d.Open(there(t, d, Spec{Ordinal: next % 2, Memory: 192 << 20}))
		if err != nil {
			t.Fatal(err)
		}
		next++
		return dev.(*device)
	}
}

// TestConformance holds every operation to its loop.
func TestConformance(t *testing.T) {
	for _, order := range orders {
		t.Run(order, func(t *testing.T) {
			open := twoGPUs(t, driver, order)
			gputest.Run(t, func(t *testing.T) gpu.Device { return open(t) })
		})
		if testing.Short() || fake.Real() {
			return // a GPU has an order of its own
		}
	}
}

// TestVariants does so for every kernel that an operation can choose. The cache is small, so that products are cut into tiles.
func TestVariants(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under -race")
	}
	for i, cache := range []gpu.Bytes{0, 8 << 10} {
		t.Run(fmt.Sprintf("cache_%d", cache), func(t *testing.T) {
			open := twoGPUs(t, driver, orders[i])
			gputest.RunVariants(t, func(t *testing.T) gpu.Device {
				dev := open(t)
				dev.l2 = cache
				return dev
			})
		})
	}
}

// TestSameBits demands equal bits whatever order threads and blocks run in.
func TestSameBits(t *testing.T) {
	gputest.RunThreads(t, func(t *testing.T, i int) gpu.Device { return twoGPUs(t, driver, orders[i-1])(t) })
}

// TestTiles says which tiles of columns are chosen.
func TestTiles(t *testing.T) {
	for _, c := range []struct {
		name        string
		cols, width int
		entries     int64
		t           gpu.DType
		vector      bool
		cache       gpu.Bytes
		want        int
	}{
		{"X fits in the cache", 1000, 256, 1 << 20, gpu.FP32, true, 50 << 20, 256},
		{"a quarter of X fits", 200_000, 256, 100_000_000, gpu.FP32, true, 100 << 20, 64},
		{"half of X in bf16 fits", 200_000, 256, 100_000_000, gpu.BF16, true, 100 << 20, 128},
		{"no line of every row fits", 2_000_000, 256, 100_000_000, gpu.FP32, true, 50 << 20, 64},
		{"nor in bf16", 2_000_000, 256, 100_000_000, gpu.BF16, true, 50 << 20, 128},
		{"and the epilogue follows", 2_000_000, 256, 100_000_000, gpu.FP32, true, 50 << 20, -256},
		{"rows are hardly read again", 200_000, 256, 400_000, gpu.FP32, true, 100 << 20, 256},
		{"a row is one line", 200_000, 32, 100_000_000, gpu.FP32, true, 10 << 20, 32},
		{"rows are not aligned", 200_000, 41, 100_000_000, gpu.FP32, false, 10 << 20, 64},
		{"narrow", 200_000, 12, 100_000_000, gpu.FP32, true, 1 << 20, 16},
	} {
		var then *gpu.Epilogue
		if c.want < 0 {
			then, c.want = &gpu.Epilogue{}, -c.want
		}
		s := spmmArgs{then: then, y: gpu.Matrix{Cols: c.width}, x: gpu.Matrix{Cols: c.width, Type: c.t}, a: gpu.CSR{Cols: c.cols, Entries: c.entries}}
		if width, tile := s.tiles(c.vector, c.cache); tile != c.want || width != tile {
			t.Errorf("%s: kernel of %d columns in tiles of %d, want %d", c.name, width, tile, c.want)
		}
	}
}
