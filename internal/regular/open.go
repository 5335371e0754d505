package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NotRegular says what a path leads to in place of a file.
type NotRegular struct {
	Path string
	Kind string // with its article, such as "a FIFO"
}

func (e *NotRegular) Error() string {
	return fmt.Sprintf("%s: is not a file but %s: give a regular file", e.Path, e.Kind)
}

// Open opens a regular file to read it, as os.Open does.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for regular files; with os.O_CREATE a file that is not there is made. A file to be written to has
// this name alone: what lies in a folder of others may be a link to a file of ours.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	look, check := os.Stat, check
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		look, check, flag = os.Lstat, checkAlone, flag|withoutLinks
	}
	info, err := look(path)
	if err == nil {
		err = check(path, info) // before it is opened: a device may act on that
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil // opening says it, or makes the file
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag|withoutWaiting, perm)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = check(path, info) // of what was opened, whatever lay there before
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile returns the whole content of a regular file of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: is larger than %d bytes", path, limit)
	}
	return data, nil
}

// LeadsTo reports whether path still is the name of f, and no link.
func LeadsTo(path string, f *os.File) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	mine, err := f.Stat()
	return err == nil && os.SameFile(there, mine)
}

// CheckPlace refuses a path at which no folder can be made, because it, or what is above it, is no folder, or a link to what is not there.
func CheckPlace(path string) error {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is %s, no folder: choose another place", path, Kind(info.Mode()))
		}
		if to, unread := os.Readlink(path); unread == nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP)) {
			return fmt.Errorf("%s is a link to %s, which is not there: make that, or choose another place", path, to)
		}
		if err == nil || path == filepath.Dir(path) {
			return nil
		}
	}
}

// CheckFolder refuses what is no folder but has the name of one, such as a link, which would lead to somebody else's. What is not
// there is no fault.
func CheckFolder(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is %s: put a folder in its place, or remove it", path, Kind(info.Mode()))
	}
	return nil
}

func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &NotRegular{Path: path, Kind: Kind(info.Mode())}
}

// checkAlone is check for a file that has no other name, either.
func checkAlone(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() && names(info) > 1 {
		return &NotRegular{Path: path, Kind: "one of several names of a file (hard links)"}
	}
	return check(path, info)
}

// Kind names what a mode is of, with its article.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO or pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}
