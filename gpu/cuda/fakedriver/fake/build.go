//go:build cuda

package fake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// Libraries are what Build has made, as paths; "" = the system's.
type Libraries struct{ Driver, BLAS, NVML string }

// ErrNoCompiler: g++ or gcc is missing.
var ErrNoCompiler = errors.New("the fake driver needs gcc and g++")

// sources are the files that the libraries are made of, seen from this package's folder.
var sources = []string{"../*.cc", "../*.c", "../*.h", "../build.sh", "../../header/*.h", "../../kernels/*.cu", "../../kernels/*.cuh"}

// Build compiles the libraries, or finds them compiled. Where the tests run on a real driver it returns that one's.
func Build() (Libraries, error) {
	if Real() {
		return realLibraries(), nil
	}
	kernels := os.Getenv("FAKECUDA_KERNELS")
	if !slices.Contains([]string{"", "ptx", "sources", "contracted"}, kernels) {
		return Libraries{}, fmt.Errorf("FAKECUDA_KERNELS=%s is none of ptx, sources and contracted", kernels)
	}
	for _, compiler := range []string{"gcc", "g++"} {
		if _, err := exec.LookPath(compiler); err != nil {
			return Libraries{}, fmt.Errorf("%w: %w", ErrNoCompiler, err)
		}
	}
	_, self, _, _ := runtime.Caller(0)
	here := filepath.Dir(self)
	sum, err := hash(here)
	if err != nil {
		return Libraries{}, err
	}
	if kernels == "contracted" {
		sum += "-" + kernels
	}
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("capgnn-fakedriver-%d-%s", os.Getuid(), sum))
	libs := Libraries{filepath.Join(folder, "libcuda.so.1"), filepath.Join(folder, "libcublas.so"), filepath.Join(folder, "libnvidia-ml.so")}
	if _, err := os.Stat(libs.Driver); err == nil {
		return libs, nil
	}
	fresh, err := os.MkdirTemp(os.TempDir(), "capgnn-fakedriver-")
	if err != nil {
		return Libraries{}, err
	}
	defer os.RemoveAll(fresh)
	cmd := exec.Command(filepath.Join(here, "..", "build.sh"), filepath.Join(fresh, "libcuda.so.1"), kernels)
	if out, err := cmd.CombinedOutput(); err != nil {
		return Libraries{}, fmt.Errorf("build the fake driver: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, folder); err != nil {
		if _, other := os.Stat(libs.Driver); other == nil {
			return libs, nil // another test was faster
		}
		return Libraries{}, err
	}
	return libs, nil
}

// hash is of the names and contents of the sources.
func hash(here string) (string, error) {
	h := sha256.New()
	for _, pattern := range sources {
		names, err := filepath.Glob(filepath.Join(here, pattern))
		if err != nil {
			return "", err
		}
		slices.Sort(names)
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %d\n", filepath.Base(name), len(text))
			h.Write(text)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
