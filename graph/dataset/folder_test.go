package dataset

import (
	"fmt"
	"path/filepath"
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
