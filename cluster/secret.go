package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// Bounds of a secret, in bytes.
const (
	MinSecret = 32
	MaxSecret = 4096
)

// Secret returns the secret that a text holds: all of it but blanks and line ends around it, as editors and shells add those.
// Whoever has it may join a run and reads all that travels.
func Secret(text []byte) ([]byte, error) {
	s := bytes.TrimSpace(text)
	switch {
	case len(s) == 0:
		return nil, errors.New("is empty")
	case len(s) < MinSecret:
		return nil, fmt.Errorf("has %d bytes, a secret has at least %d", len(s), MinSecret)
	case len(s) > MaxSecret:
		return nil, fmt.Errorf("has more than %d bytes", MaxSecret)
	case bytes.IndexByte(s, 0) >= 0 || bytes.IndexByte(s, '\n') >= 0:
		return nil, errors.New("is not one line of text")
	}
	return s, nil
}

// CheckSecretMode reports a file of a secret that others than its owner may read or change.
func CheckSecretMode(mode fs.FileMode) error {
	if open := mode.Perm() & 0o077; open != 0 {
		return fmt.Errorf("is open to others (mode %04o): make it 0600", mode.Perm())
	}
	return nil
}
