package datasets

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/stores"
	"capgnn/hostmem"
)

// readBytes is how much this process has had disks read.
func readBytes(t *testing.T) (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "read_bytes: %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// known is a store whose features are not in the system's file cache when it is loaded.
type known struct {
	t    *testing.T
	dir  string
	file *os.File // of the features
}

// load loads the store and returns what was read from disks for it.
func (s *known) load(split string) (int64, error) {
	s.t.Helper()
	cfg := runfolder.Default()
	cfg.Dataset = s.dir
	cfg.Set("split", split)
	if err := errors.Join(s.file.Sync(), unix.Fadvise(int(s.file.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		s.t.Fatal(err)
	}
	before := readBytes(s.t)
	in, err := Load(s.t.Context(), &term.Console{Out: io.Discard, Err: io.Discard, Quiet: true}, &cfg)
	if err == nil {
		err = in.Release()
	}
	return readBytes(s.t) - before, err
}

// The features of a store that was looked through before are not read at the start, neither to check nor to hash them, whatever the split; those of one that
// has changed since are.
func TestKnownStoreIsNotReadThrough(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("CAPGNN_CACHE_LIMIT", "")
	const cols = 1 << 20 // 16 MiB
	d := toy()
	d.Features = dataset.Features{Cols: cols, Dense: make([]float32, 4*cols)}
	s := &known{t: t, dir: filepath.Join(t.TempDir(), "store")}
	if err := stores.Write(s.dir, d, nil); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.file, err = os.OpenFile(filepath.Join(s.dir, "x.npy"), os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	time.Sleep(2100 * time.Millisecond) // files that are younger are not remembered
	const whole = 16 * cols
	if n, err := s.load("0.5,0.25,0.25"); err != nil {
		t.Fatal(err)
	} else if n < whole {
		t.Skipf("loading it for the first time had disks read %d bytes: the folder for temporary files is on none", n)
	}
	for _, split := range []string{"0.5,0.25,0.25", "0.25,0.5,0.25"} {
		if n, err := s.load(split); err != nil || n > whole/4 {
			t.Errorf("known, --split %s: %d bytes of %d were read, %v", split, n, whole, err)
		}
	}
	if _, err := s.file.WriteAt(hostmem.Bytes([]float32{float32(math.NaN())}), whole+124); err != nil {
		t.Fatal(err)
	}
	if _, err := s.load("0.5,0.25,0.25"); err == nil || !strings.Contains(err.Error(), "row 3, column 1048575 is NaN") {
		t.Errorf("changed: %v", err)
	}
}

// Features that may overflow are noted each time that a store is loaded.
func TestHugeFeaturesAreNotedEveryTime(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("CAPGNN_CACHE_LIMIT", "")
	d := toy()
	d.Features = dataset.Features{Cols: 1, Dense: []float32{1, 2, 3, 1e30}}
	cfg := runfolder.Default()
	cfg.Dataset = filepath.Join(t.TempDir(), "store")
	if err := stores.Write(cfg.Dataset, d, nil); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2100 * time.Millisecond) // files that are younger are not remembered
	for k := range 2 {
		var notes strings.Builder
		in, err := Load(t.Context(), &term.Console{Out: io.Discard, Err: &notes}, &cfg)
		if err == nil {
			err = in.Release()
		}
		if err != nil || !strings.Contains(notes.String(), "note: features: the square of 1e+30 is beyond float32") {
			t.Errorf("time %d: %v, notes %q", k, err, &notes)
		}
	}
}
