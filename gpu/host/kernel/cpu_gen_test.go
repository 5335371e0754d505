//go:build !race && !noasm

// What the generator writes is the same for all builds, so one tells.

package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGenerated runs the generator and compares the assembly in this folder with what it writes.
func TestGenerated(t *testing.T) {
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
