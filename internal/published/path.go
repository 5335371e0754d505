package published

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns a path in the folder of published graphs. The test is skipped only if that folder is absent.
func Path(tb testing.TB, parts ...string) string {
	tb.Helper()
	root := os.Getenv("CAPGNN_SHARED")
	if root == "" {
		root = filepath.Join(filepath.Dir(repository(tb)), "shared")
	}
	data := filepath.Join(root, "data")
	if _, err := os.Stat(data); err != nil {
		tb.Skipf("the published data sets are not there (%v); set CAPGNN_SHARED", err)
	}
	return filepath.Join(append([]string{data}, parts...)...)
}

// repository returns the folder of go.mod above the working directory.
func repository(tb testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("go.mod was not found above the test")
		}
		dir = filepath.Dir(dir)
	}
}
