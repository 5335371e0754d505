package cuda_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestSums compares the sources of kernels and their PTX with the sums that generate.sh wrote when it compiled them: a source
// that was changed since fails here, on a machine without nvcc too.
func TestSums(t *testing.T) {
	want, err := os.ReadFile("kernels/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, pattern := range []string{"*.cu", "*.cuh", "*.ptx", "generate.sh"} {
		files, err := filepath.Glob(filepath.Join("kernels", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no kernels/%s (%v)", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%x  %s\n", sha256.Sum256(data), filepath.Base(file))
		}
	}
	if bytes.Equal(got.Bytes(), want) {
		return
	}
	for _, line := range bytes.Split(got.Bytes(), []byte("\n")) {
		if !bytes.Contains(want, line) {
			t.Errorf("%s is not what kernels/SHA256SUMS has: its PTX was made of another source", bytes.Join(bytes.Fields(line)[1:], nil))
		}
	}
	t.Error("run go generate -tags cuda ./gpu/cuda, which needs nvcc, and commit the PTX and kernels/SHA256SUMS")
}
