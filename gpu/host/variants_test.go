package host

import (
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/gputest"
	"capgnn/gpu/host/internal/levels"
)

func TestVariants(t *testing.T) {
	if levels.Race {
		t.Skip("tells kernels apart, which share nothing that TestConformance does not")
	}
	gputest.RunVariants(t, func(t *testing.T) gpu.Device {
		dev, err := Open(Spec{Name: "cpu:0", Threads: 2, Memory: 256 << 20, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		return dev
	})
}
