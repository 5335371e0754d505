//go:build !linux && !darwin

package diskcache

// diskFree cannot tell.
func diskFree(string) (free int64, ok bool) { return 0, false }
