//go:build cuda

package cuda

import (
	"fmt"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/gputest"
)

// TestConformance holds every operation to its loop, on the fake driver, with the threads of a block in each order. One GPU
// of 64 MiB, opened as two devices where the suite wants two.
func TestConformance(t *testing.T) {
	for _, order := range []string{"forward", "reverse", "random:1"} {
		t.Run(order, func(t *testing.T) {
			configure(t, "n=2;mem=64;p2p=01/10;order="+order)
			next := 0
			gputest.Run(t, func(t *testing.T) gpu.Device {
				dev, err := driver.Open(Spec{Name: fmt.Sprintf("cuda:%d", next%2), Ordinal: next % 2})
				if err != nil {
					t.Fatal(err)
				}
				next++
				return dev
			})
		})
		if testing.Short() {
			return
		}
	}
}
