//go:build !linux

package hostmem

// systemLocks knows nothing here: the system's answer to the lock itself counts.
func systemLocks() lockLimits { return lockLimits{soft: -1, hard: -1} }
