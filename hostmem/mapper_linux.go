package hostmem

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pageMemory is private memory of this process, in small pages: it is copied in order, see Block.Streamed.
var pageMemory = mapper{"pages", func(n int) ([]byte, func() error, error) {
	mem, unmap, err := widePages.open(n)
	if err == nil {
		smallPages(mem)
	}
	return mem, unmap, err
}}

// widePages is private memory of this process, in huge pages where there are any: it is written here and there.
var widePages = mapper{"wide pages", func(n int) ([]byte, func() error, error) {
	mem, err := mapAnonymous(n)
	if err != nil {
		return nil, nil, err
	}
	return mem, func() error { return syscall.Munmap(mem) }, nil
}}

// memoryFile returns an empty file that lies in memory and has no name.
func memoryFile() (*os.File, func() error, error) {
	fd, err := unix.MemfdCreate("capgnn-shared", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "memfd"), func() error { return nil }, nil
}

// reserve makes f n bytes long, all of them allocated.
func reserve(f *os.File, n int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, n)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return writeZeros(f, n)
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}

// temporaryDir is a folder in memory if there is one, else the usual one.
func temporaryDir() string {
	const dir = "/dev/shm"
	if unix.Access(dir, unix.W_OK|unix.X_OK) == nil {
		return dir
	}
	return os.TempDir()
}
