//go:build cuda

package cudalink_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/gpu/cuda/cudalink"
	"capgnn/gpu/cuda/fakedriver/fake"
)

// What is no driver is one line that names it, and stops the search if it is a library; the first driver is loaded, for good.
func TestOpen(t *testing.T) {
	libs, err := fake.Build()
	if errors.Is(err, fake.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if fake.Real() {
		t.Skipf("%v: libraries that are no driver", fake.ErrReal)
	}
	text := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(text, []byte("not a library\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		libraries []string
		want      string
		code      int
	}{
		{[]string{"/nowhere/libcuda.so.1"}, "load /nowhere/libcuda.so.1: /nowhere/libcuda.so.1: cannot open", 100},
		{[]string{"/nowhere/libcuda.so.1", "/neither"}, "load /nowhere/libcuda.so.1: /nowhere/libcuda.so.1: cannot open", 100},
		{[]string{t.TempDir()}, "load " + os.TempDir(), 100},
		{[]string{text}, "load " + text + ": " + text + ": ", 100},
		{[]string{"/nowhere/libcuda.so.1", libs.NVML, libs.Driver}, "load " + libs.NVML + ": not a CUDA driver: it has no cuInit", 500},
	} {
		_, err := cudalink.Open(c.libraries...)
		var e *cudalink.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s, code %d", c.libraries, err, c.want, c.code)
		}
	}
	for _, libraries := range [][]string{{"/nowhere/libcuda.so.1", libs.Driver, libs.NVML}, {"/nowhere/libcuda.so.1"}} {
		path, err := cudalink.Open(libraries...)
		if err != nil || path != libs.Driver {
			t.Errorf("%q: loaded %q, want %q, %v", libraries, path, libs.Driver, err)
		}
	}
}
