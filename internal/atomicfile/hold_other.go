//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package atomicfile

import "os"

// hold makes a temporary file or folder. It is not held: an open file could not be renamed here.
func hold(create func() (name string, err error)) (string, *os.File, error) {
	name, err := create()
	return name, nil, err // closing a nil file gives an error, which nobody reads
}

// removeAbandoned leaves everything: nothing here tells a dead writer's file from a living one's.
func removeAbandoned(string) {}
