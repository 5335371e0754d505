//go:build race

package hostmem

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// The race detector, which passes TestGenerationsNeverMix, does see a writer without a barrier.
func TestRaceDetectorSeesABrokenWriter(t *testing.T) {
	const role = "CAPGNN_HOSTMEM_RACE"
	if os.Getenv(role) != "" {
		b := blockOf(t, 4000, LockOptions{Heap: true})
		refresh(t, b, 0)
		var wg sync.WaitGroup
		wg.Go(func() {
			for epoch := 1; epoch < 2000; epoch++ {
				refresh(t, b, epoch)
			}
		})
		for range 2000 {
			if epochs := b.Epochs(); len(epochs) > 0 {
				_ = readAt(b, epochs[0]) // torn or not: the detector is asked
			}
		}
		wg.Wait()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestRaceDetectorSeesABrokenWriter$")
	cmd.Env = append(os.Environ(), role+"=1", "GORACE=halt_on_error=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "DATA RACE") {
		t.Errorf("the child ended with %v and reported no race:\n%.2000s", err, out)
	}
}
