package atomicfile

import (
	"fmt"
	"io"
)

// Replace is Write without waiting for the disk: other processes see the whole file or none, but a failure of power may leave
// a damaged one. For files that carry a checksum and can be made again.
func Replace(path string, write func(io.Writer) error) error {
	if err := replace(path, write, false); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
