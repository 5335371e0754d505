//go:build linux || darwin

package diskcache

import "syscall"

// diskFree returns the bytes that this user may still write to the file system of dir; ok is false if it cannot be told.
func diskFree(dir string) (free int64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
