package ranks

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// secretVariable holds a secret as text.
const secretVariable = "CAPGNN_SECRET"

// makesSecret is the command that makes one, for errors.
const makesSecret = "`capgnn doctor --cluster` makes one"

// Secret returns the secret of this process: that of the file, if one is given, else of CAPGNN_SECRET, else of the file at
// SecretPath. nil: there is none.
func Secret(file string, env cluster.Lookup) ([]byte, error) {
	if file != "" {
		s, err := readSecret(file)
		return s, term.AsUsage(named("--transport secret", err))
	}
	if text, _ := env(secretVariable); text != "" {
		s, err := cluster.Secret([]byte(text))
		if err != nil {
			err = fmt.Errorf("%w: unset it, or set it to a secret; %s", err, makesSecret)
		}
		return s, term.AsUsage(named(secretVariable, err))
	}
	path, err := SecretPath(env)
	if err != nil {
		return nil, nil // without a home there is no such file
	}
	s, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s, term.AsUsage(named("read the secret", err))
}

// SecretPath is where a secret lies if nobody says otherwise: $XDG_CONFIG_HOME/capgnn/secret, below ~/.config where that is not set.
func SecretPath(env cluster.Lookup) (string, error) {
	if dir, _ := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "capgnn", "secret"), nil
	}
	if home, _ := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "capgnn", "secret"), nil
	}
	return "", errors.New("there is no home folder for a secret: set HOME or XDG_CONFIG_HOME, or name a file with --transport secret=FILE")
}

// NewSecret draws a secret: 32 random bytes, written as 64 characters so that a variable and an editor can hold it.
func NewSecret() []byte {
	var b [cluster.MinSecret]byte
	rand.Read(b[:]) // never fails: without random numbers the program ends
	return hex.AppendEncode(nil, b[:])
}

// MakeSecret makes the file path with a new secret, readable by its owner alone, unless there is a file. It returns the secret that is
// there then: of several processes that make one at once, all get the same. made: it is the one of this process.
func MakeSecret(path string) (secret []byte, made bool, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		made, err = writeSecret(path)
		if err != nil {
			return nil, false, fmt.Errorf("make a secret: %w: choose a place with --transport secret=FILE", err)
		}
	}
	secret, err = readSecret(path)
	return secret, made, named("make a secret", err)
}

// ownSecret returns the secret of this user's processes on this machine, made at the first call: in a folder that nobody else may
// enter, below that of temporary files, since a home may be another one, or none, in a container and where machines share it.
func ownSecret() ([]byte, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("capgnn-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, named("make a secret", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, named("make a secret", err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !owned(info) {
		return nil, fmt.Errorf("make a secret: %s is no folder of this user alone: remove it, or give the ranks a secret; %s", dir, makesSecret)
	}
	secret, _, err := MakeSecret(filepath.Join(dir, "secret"))
	return secret, err
}

// writeSecret links a file that is complete to path, which fails where there is one by now.
func writeSecret(path string) (made bool, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	var f *os.File // mode 0600 from the beginning
	name, finished, err := atomicfile.Unfinished(func() (string, error) {
		f, err = os.CreateTemp(dir, ".secret-*")
		if err != nil {
			return "", err
		}
		return f.Name(), nil
	})
	if err != nil {
		return false, err
	}
	defer finished()
	defer os.Remove(name) // path is another name of the file by then
	_, err = f.Write(append(NewSecret(), '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	err = os.Link(name, path)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// readSecret reads a file that only its owner may read. Its errors name the file and how to get a good one.
func readSecret(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, makesSecret)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := cluster.CheckSecretMode(info.Mode()); err != nil {
		return nil, fmt.Errorf("%s %w (chmod 600 %s), or remove it; %s", path, err, path, makesSecret)
	}
	text, err := io.ReadAll(io.LimitReader(f, cluster.MaxSecret+3)) // a line end, and a byte more than may be there
	if err != nil {
		return nil, err
	}
	s, err := cluster.Secret(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w: remove it; %s", path, err, makesSecret)
	}
	return s, nil
}

// named puts what was done in front of an error; nil stays nil.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
