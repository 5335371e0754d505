package fetch

import (
	"errors"
	"fmt"
	"path/filepath"

	"capgnn/internal/lockfile"
)

// lockFolder makes sure that no other process downloads into dir until unlock is called; the lock ends with the process. Where
// there are no locks, checksums tell when two downloads get mixed.
func lockFolder(dir string) (unlock func(), err error) {
	lock, err := lockfile.Take(filepath.Join(dir, "lock"))
	var held *lockfile.Held
	switch {
	case errors.As(err, &held):
		return nil, fmt.Errorf("%v is downloading into %s; wait for it", held.By, dir)
	case err != nil && !errors.Is(err, lockfile.ErrUnsupported):
		return nil, err
	}
	return lock.Release, nil
}
