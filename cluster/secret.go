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

// minTriples is how many different triples of steps from a byte to the next a secret has at least. A random one of MinSecret bytes has
// nearly as many as bytes: hexadecimal digits 27 and more. What repeats a word of n letters has n, what counts has one or a few.
const minTriples = 20

// Secret returns the secret in a text: all of it except blanks and line ends around it, which editors and shells add.
// Whoever has it may join a run and read its traffic.
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
	case triples(s) < minTriples:
		return nil, errors.New("is too easy to guess, as it repeats or counts")
	}
	return s, nil
}

// triples returns how many different triples of steps from a byte to the next a text has.
func triples(s []byte) int {
	seen := map[[3]byte]bool{}
	for i := range len(s) - 3 {
		seen[[3]byte{s[i+1] - s[i], s[i+2] - s[i+1], s[i+3] - s[i+2]}] = true
	}
	return len(seen)
}

// CheckSecretMode reports a file of a secret that others than its owner may read or change.
func CheckSecretMode(mode fs.FileMode) error {
	if open := mode.Perm() & 0o077; open != 0 {
		return fmt.Errorf("is open to others (mode %04o): make it 0600", mode.Perm())
	}
	return nil
}
