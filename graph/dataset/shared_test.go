package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// shared returns a path in the folder of published data sets: $CAPGNN_SHARED, else the folder shared beside the
// repository. The test is skipped only if that folder is absent.
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	root := os.Getenv("CAPGNN_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
			if dir == filepath.Dir(dir) {
				t.Fatal("go.mod was not found above the test")
			}
			dir = filepath.Dir(dir)
		}
		root = filepath.Join(filepath.Dir(dir), "shared")
	}
	if _, err := os.Stat(filepath.Join(root, "data")); err != nil {
		t.Skipf("the published data sets are not there (%v); set CAPGNN_SHARED", err)
	}
	return filepath.Join(append([]string{root, "data"}, parts...)...)
}

// folderArchive returns the one .npz of a folder.
func folderArchive(dir string) (string, error) {
	list, err := filepath.Glob(filepath.Join(dir, "*.npz"))
	if err != nil || len(list) != 1 {
		return "", fmt.Errorf("%s: %d .npz files, %v", dir, len(list), err)
	}
	return list[0], nil
}

func noteMerged(n int) string { return fmt.Sprintf("%d repeated edges merged", n) }
