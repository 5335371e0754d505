//go:build !race && !noasm

// What the generator writes is the same for all builds, so one tells.

package kernel

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"capgnn/internal/long"
)

// generatedSum is the SHA-256 of the generator's sources and of what it wrote; TestGenerated holds the two to each other.
const generatedSum = "6ab8f4a72573338b97dd194f3179087195d707c6875a66d00f678572d46a4371"

// TestGeneratedSum notices a generator or assembly that was edited since. It compiles nothing.
func TestGeneratedSum(t *testing.T) {
	sum := sha256.New()
	for _, pattern := range []string{"gen/*.go", "gen/go.*", "zz_*"} {
		files := readAll(t, pattern)
		if len(files) == 0 {
			t.Fatalf("no file is %s", pattern)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(sum, "%s %d\n%s", name, len(files[name]), files[name])
		}
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != generatedSum {
		t.Errorf("the sum is %s: run go generate in gpu/host/kernel and TestGenerated with CAPGNN_LONG=1, then set generatedSum to it", got)
	}
}

// TestGenerated runs the generator and compares the assembly in this folder with what it writes. Compiling it takes half a minute of
// a processor in a fresh clone.
func TestGenerated(t *testing.T) {
	if !long.Wanted() {
		t.Skip("compiles the generator: CAPGNN_LONG=1 runs it")
	}
	download := exec.Command("go", "mod", "download")
	download.Dir = "gen"
	if out, err := download.CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("download the generator's modules: %v\n%s", err, out)
		}
		t.Skipf("the generator's modules cannot be downloaded here: %s", out)
	}
	folder := t.TempDir()
	gen := exec.Command("go", "run", ".", folder)
	gen.Dir = "gen"
	if out, err := gen.CombinedOutput(); err != nil {
		t.Fatalf("run the generator: %v\n%s", err, out)
	}
	fresh := readAll(t, filepath.Join(folder, "zz_*"))
	have := readAll(t, "zz_*")
	if len(fresh) == 0 {
		t.Fatal("the generator wrote nothing")
	}
	for name, text := range fresh {
		if !bytes.Equal(have[name], text) {
			t.Errorf("%s is not what the generator writes: run go generate in gpu/host/kernel", name)
		}
	}
	for name := range have {
		if fresh[name] == nil {
			t.Errorf("%s is not written by the generator any more: delete it", name)
		}
	}
}

func readAll(t *testing.T, pattern string) map[string][]byte {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, p := range paths {
		if files[filepath.Base(p)], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
