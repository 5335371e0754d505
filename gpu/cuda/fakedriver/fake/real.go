//go:build cuda

package fake

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// ErrReal: the tests run on a real driver, which cannot be made to do this.
var ErrReal = errors.New("needs the fake driver")

// only are what a configuration can say that no real driver does on request. The others (memory, schedules, orders of threads,
// peers) are of no meaning there: a GPU has its own.
var only = []string{"cc", "dropwait", "dropsync", "lost", "nopin", "outlive"}

// Real reports whether the tests are to run on the driver and the GPUs that this machine has: CAPGNN_CUDA_DRIVER=real.
func Real() bool { return os.Getenv("CAPGNN_CUDA_DRIVER") == "real" }

// realLibraries are those that capgnn would load: the system's, where the environment does not name others.
func realLibraries() Libraries {
	return Libraries{Driver: os.Getenv("CAPGNN_CUDA"), BLAS: os.Getenv("CAPGNN_CUBLAS"), NVML: os.Getenv("CAPGNN_NVML")}
}

// configureReal refuses what only the fake driver does.
func configureReal(text string) error {
	for item := range strings.SplitSeq(text, ";") {
		key, _, _ := strings.Cut(item, "=")
		if slices.Contains(only, key) {
			return fmt.Errorf("%w: %s", ErrReal, item)
		}
	}
	return nil
}
