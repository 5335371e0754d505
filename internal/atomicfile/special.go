package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"capgnn/internal/regular"
)

// Special says that a path leads to something that is not replaced by a file.
type Special struct {
	Path string
	Kind string // with its article, such as "a device"
}

func (e *Special) Error() string {
	return fmt.Sprintf("%s is %s, which is not replaced: name a file, or /dev/stdout", e.Path, e.Kind)
}

// Check returns what Write would say of path itself: a *Special, or an error where its folder is not there or takes no file. For those who would
// work long before they write a file that somebody has named: a link is a *Special there, since Write would replace it and leave
// what it leads to as it is.
func Check(path string) error {
	stream, err := target(path)
	var special *Special
	if stream != nil || errors.As(err, &special) {
		return err
	}
	if to, unread := os.Readlink(path); unread == nil {
		return &Special{path, "a link to " + to}
	}
	dir := filepath.Dir(path)
	if err := regular.CheckPlace(dir); err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s: make it first", dir)
	} else if err != nil {
		return err
	}
	unfinished.Lock() // a process that ends at once leaves no file of this
	defer unfinished.Unlock()
	f, err := os.CreateTemp(dir, filepath.Base(path)+mark()+"*")
	if err != nil {
		return named(path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// IsStream reports whether path is standard output or standard error.
func IsStream(path string) bool {
	stream, err := target(path)
	return err == nil && stream != nil
}

// target returns the open stream that path is a name of, nil: it is that of a file, or free.
func target(path string) (*os.File, error) {
	if f := stream(path); f != nil {
		return f, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &Special{path, regular.Kind(info.Mode())}
	}
	return nil, nil
}

// descriptor matches the names of open files in the systems' folders of them.
var descriptor = regexp.MustCompile(`^/(?:dev/fd|proc/(?:self|thread-self|[0-9]+)/fd)/([0-9]+)$`)

// stream follows links to standard output or standard error; nil: they do not lead there.
func stream(path string) *os.File {
	const mostLinks = 40 // as the kernel follows
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	for range mostLinks {
		if m := descriptor.FindStringSubmatch(path); m != nil && ownProcess(path) {
			return map[string]*os.File{"1": os.Stdout, "2": os.Stderr}[m[1]]
		}
		to, err := os.Readlink(path)
		if err != nil {
			return nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = filepath.Clean(to)
	}
	return nil
}

// ownProcess reports whether a descriptor's name is one of this process.
func ownProcess(path string) bool {
	rest, numbered := strings.CutPrefix(path, "/proc/")
	id, _, _ := strings.Cut(rest, "/")
	return !numbered || id == "self" || id == "thread-self" || id == fmt.Sprint(os.Getpid())
}
