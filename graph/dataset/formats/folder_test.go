package formats

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
)

// folderArchive returns the one .npz of a folder.
func folderArchive(dir string) (string, error) {
	list, err := filepath.Glob(filepath.Join(dir, "*.npz"))
	if err != nil || len(list) != 1 {
		return "", fmt.Errorf("%s: %d .npz files, %v", dir, len(list), err)
	}
	return list[0], nil
}

func noteMerged(n int) string { return fmt.Sprintf("%d repeated edges merged", n) }

func load(path string) (*dataset.Dataset, error) { return Load(path, dataset.Options{}) }

// loadDamaged loads a data set of which a file is damaged.
func loadDamaged(t *testing.T, dir, path string, b []byte, mustFail bool) {
	t.Helper()
	datatest.Damaged(t, load, dir, path, b, mustFail)
}

func nan() float32 { return float32(math.NaN()) }
