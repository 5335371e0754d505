package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// File is the content of a checkpoint file: everything that a run needs to go on as if it had not stopped. Its large parts stay
// where they are, on devices, in host memory or in the file, until they are written or read, a piece at a time.
type File struct {
	Identity string // of the run's data and options: a run goes on only from a file of its own
	Epoch    int    // epochs done
	Step     int    // optimiser steps done

	// Arrays of float32 in the layout of gnn.Weights.Flat; nil or empty: absent.
	Weights     Section
	M, V, VMax  Section // optimiser moments; absent where the rule has none
	BestWeights Section // weights at the best evaluation so far; absent before the first

	// Best is the scores of BestWeights as JSON; empty before the first evaluation.
	Best []byte
	// State is the trainer's counters, in an encoding of the trainer's choice.
	State []byte
	// Sections are further blocks by name, such as halo rows; their content is the trainer's choice.
	Sections map[string]Section

	file io.Closer // that the sections of a loaded file read; nil: none
}

// Section is the content of one block of a file: a stream of Size bytes, which is read once and in order.
type Section interface {
	io.Reader
	Size() int64 // bytes of the whole section, however many have been read
}

// Size returns the bytes of a section, 0 for one that is nil.
func Size(s Section) int64 {
	if s == nil {
		return 0
	}
	return s.Size()
}

// Close closes what a loaded file reads. Its sections cannot be read any more. Of a file that was not loaded it does nothing.
func (c *File) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// ErrNone is returned by LoadLatest where no valid checkpoint was found.
var ErrNone = errors.New("no valid checkpoint")

// FormatError says that a checkpoint file is damaged or of another version, and at which byte.
type FormatError struct {
	File   string
	Offset int64 // bytes from the start of the file
	Msg    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: byte %d: %s", e.File, e.Offset, e.Msg)
}

const (
	prefix  = "epoch-"
	suffix  = ".ckpt"
	partial = suffix + ".tmp*" // of package atomicfile
)

// fileName returns the file name of a checkpoint after so many epochs.
func fileName(epoch int) string {
	return fmt.Sprintf("%s%08d%s", prefix, epoch, suffix)
}

// Save writes ckpt to the folder dir (made in its parent, which has to be there) as epoch-NNNNNNNN.ckpt and keeps the newest keep files (less than 1 means 2).
// The file appears whole or not at all: written beside its place, synced, renamed, the folder synced; only after that are
// others removed. Files of later epochs go too: the run did not resume from them, so they were damaged or belong to
// an abandoned run.
func Save(dir string, ckpt *File, keep int) error {
	if keep < 1 {
		keep = 2
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("save checkpoint in %s: %w", dir, cause(err))
	}
	if err := regular.CheckFolder(dir); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	path := filepath.Join(dir, fileName(ckpt.Epoch))
	if err := atomicfile.Write(path, func(w io.Writer) error { return encode(w, ckpt) }); err != nil {
		if _, gone := os.Stat(dir); errors.Is(gone, os.ErrNotExist) {
			return fmt.Errorf("save checkpoint %s: its folder was removed during the save: train again, or resume from another checkpoint", path)
		}
		return fmt.Errorf("save checkpoint %s: %w", path, cause(err))
	}
	epochs, err := epochsIn(dir)
	if err != nil {
		return fmt.Errorf("remove old checkpoints: %w", err)
	}
	kept := 0
	for _, e := range epochs {
		if e <= ckpt.Epoch && kept < keep {
			kept++
			continue
		}
		if err := os.Remove(filepath.Join(dir, fileName(e))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove old checkpoints: %w", err)
		}
	}
	return removePartial(dir)
}

// cause returns what err says behind the verb and the file that it names first.
func cause(err error) error { return cmp.Or(errors.Unwrap(err), err) }

// LoadLatest returns the newest checkpoint in the folder dir that is whole. It is open: the caller closes it. skipped tells for each
// newer one why it was passed over, a *FormatError where its bytes are wrong.
// Where none is left the error wraps ErrNone.
func LoadLatest(dir string) (ckpt *File, skipped []error, err error) {
	epochs, err := epochsIn(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("load checkpoint: %w", err)
	}
	for _, e := range epochs {
		c, err := read(filepath.Join(dir, fileName(e)), e)
		if err == nil {
			return c, skipped, nil
		}
		skipped = append(skipped, err)
	}
	if len(skipped) > 0 {
		return nil, skipped, fmt.Errorf("%s: %w among %d files", dir, ErrNone, len(skipped))
	}
	return nil, nil, fmt.Errorf("%s: %w", dir, ErrNone)
}

// read opens the file of a checkpoint after so many epochs, and checks all of it.
func read(path string, epoch int) (_ *File, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	c, err := decode(f, info.Size(), path)
	if err != nil {
		return nil, err
	}
	if c.Epoch != epoch {
		return nil, &FormatError{path, 0, fmt.Sprintf("holds epoch %d", c.Epoch)}
	}
	c.file = f
	return c, nil
}

// epochsIn returns the epochs of the checkpoint files in dir, newest first. Other files are ignored.
func epochsIn(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var epochs []int
	for _, e := range entries {
		digits, isPrefixed := strings.CutPrefix(e.Name(), prefix)
		digits, isCheckpoint := strings.CutSuffix(digits, suffix)
		n, err := strconv.Atoi(digits)
		if isPrefixed && isCheckpoint && err == nil && n >= 0 && e.Name() == fileName(n) {
			epochs = append(epochs, n)
		}
	}
	slices.SortFunc(epochs, func(a, b int) int { return cmp.Compare(b, a) })
	return epochs, nil
}

// removePartial deletes files that a killed run left half written.
func removePartial(dir string) error {
	partial, err := fs.Glob(os.DirFS(dir), prefix+"*"+partial) // dir is no pattern
	if err != nil {
		return fmt.Errorf("remove partial checkpoints: %w", err)
	}
	for _, p := range partial {
		if err := os.Remove(filepath.Join(dir, p)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove partial checkpoints: %w", err)
		}
	}
	return nil
}
