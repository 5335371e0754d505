package progtest

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Program is the built binary; Main makes it.
var Program string

// Main builds the program with the tags of the test, runs all tests, calls last unless it is nil, and exits.
func Main(m *testing.M, last func()) {
	dir, err := os.MkdirTemp("", "capgnn-test-*")
	if err != nil {
		panic(err)
	}
	Program = filepath.Join(dir, "capgnn")
	tags := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-tags" {
				tags = s.Value
			}
		}
	}
	// Linking without symbols takes half the time.
	if out, err := exec.Command("go", "build", "-tags", tags, "-ldflags=-s -w", "-o", Program,
		"capgnn/cmd/capgnn").CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		panic("build the program under test: " + err.Error() + "\n" + string(out))
	}
	// Tests wait for processes, which wait for disks, signals and each other: twice as many at once keep the processors
	// busy.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !kept.MatchString(name) {
			os.Unsetenv(name)
		}
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // so that programs under test do not ignore it, as those of nohup do
	code := m.Run()
	if last != nil {
		last()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// lookAtSources asks for the size and time of every file that the program may be built of. go test notes that in tests,
// not before them, and takes no result from its cache that another program had.
var lookAtSources = sync.OnceValue(func() error {
	root := filepath.FromSlash("../..") // of cmd/capgnn, and of packages below its internal
	for range 2 {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Join(root, "../..")
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if name := d.Name(); d.IsDir() && (name[0] == '.' || name == "testdata" || name == "docs" || name == "python") {
			return filepath.SkipDir
		}
		if !d.IsDir() && !strings.HasSuffix(path, "_test.go") {
			_, err = os.Stat(path)
		}
		return err
	})
})

// kept are the variables of whoever calls the tests that stay: of programs, folders, Go, C, Python, GPUs and MPI, and
// those that are for tests. Whatever else the program under test may look at, such as ranks, a secret, a limit of its
// cache, a language, a width or NO_COLOR, tests give it themselves.
var kept = regexp.MustCompile(`^(PATH|HOME|TMPDIR|CI|CC|CXX|LD_.*|GO.*|CGO_.*|PYTHON.*|FAKECUDA.*|CUDA_.*|NVIDIA_.*|OMPI_MCA_.*|UCX_.*|` +
	`CAPGNN_(CUDA|CUDA_DRIVER|NVML|CUBLAS|SHARED|LONG|TURN|REACHED))$`)
