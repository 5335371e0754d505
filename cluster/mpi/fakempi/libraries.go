package fakempi

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"capgnn/internal/regular"
)

//go:embed testdata/libmpi.c
var source string

// Options choose a library.
type Options struct {
	MPICH  bool           // handles and requests are MPICH's; else Open MPI's
	Config map[string]int // see testdata/libmpi.c
}

// compiled are the libraries that this process has compiled: Open MPI's and MPICH's.
var compiled [2]struct {
	once    sync.Once
	library []byte
	err     error
}

// Libraries returns the file of the library of each rank, in a new folder that goes with the test. It skips the test without a C compiler.
func Libraries(t testing.TB, ranks int, o Options) []string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler here (cc), which makes the fake libmpi")
	}
	c, more := &compiled[0], []string{}
	if o.MPICH {
		c, more = &compiled[1], []string{"-DMPICH"}
	}
	c.once.Do(func() { c.library, c.err = compile(cc, more) })
	if c.err != nil {
		t.Fatal(c.err)
	}
	dir := t.TempDir()
	var config strings.Builder
	for name, value := range o.Config {
		fmt.Fprintln(&config, name, value)
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	files := make([]string, ranks)
	for r := range files {
		files[r] = filepath.Join(dir, fmt.Sprintf("fake-%d-of-%d.so", r, ranks))
		if err := os.WriteFile(files[r], c.library, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// compile returns the bytes of a library.
func compile(cc string, more []string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "fakempi")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	built := filepath.Join(dir, "built.so")
	// -Bsymbolic: copies in one process do not find each other's symbols.
	cmd := exec.Command(cc, append(more, "-x", "c", "-std=c11", "-Wall", "-Werror", "-O2", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-o", built, "-", "-ldl", "-lpthread")...)
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the fake libmpi: %w: %s", err, out)
	}
	return regular.ReadFile(built, 1<<20)
}
