//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package lockfile

import "os"

func tryLock(*os.File) (free bool, err error) { return false, ErrUnsupported }
