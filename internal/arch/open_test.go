package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// opensFiles are calls that wait for ever on a FIFO that has a file's name. A path that begins with /proc is the system's.
var opensFiles = regexp.MustCompile(`\b(os\.(Open|OpenFile|ReadFile)|zip\.OpenReader)\(`)

// opensItself are the files that open without internal/regular, and why they may.
var opensItself = map[string]string{
	"internal/regular/open.go":                       "the place that looks",
	"internal/atomicfile/write.go":                   "opens folders, to sync them, and what it made",
	"internal/atomicfile/folder.go":                  "opens what was made below a folder of its own",
	"internal/atomicfile/hold_unix.go":               "opens what bears a name of its own",
	"internal/tfevents/writer.go":                    "makes a new file",
	"internal/bench/page.go":                         "reads what it has just written",
	"graph/dataset/fetch/fetch.go":                   "writes below a folder that it has locked",
	"graph/dataset/fetch/unpack.go":                  "reads an archive that was checked before",
	"cmd/capgnn/internal/experiments/environment.go": "reads files of the system",
	"cmd/capgnn/internal/cmdtest/terminal_linux.go":  "opens pseudo-terminals, for tests",
}

// Files that somebody names are opened by internal/regular.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	seen := 0
	for _, f := range sources(t) {
		if filepath.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") || strings.HasPrefix(f.dir, "gpu/cuda/fakedriver") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			code, _, _ := strings.Cut(line, "//")
			if strings.Contains(code, "filepath.Glob(") && !strings.Contains(code, `filepath.Glob("`) {
				t.Errorf("%s: %s: use fs.Glob of os.DirFS: the path of a folder is no pattern", f.path, strings.TrimSpace(line))
			}
			if !opensFiles.MatchString(code) || strings.Contains(code, `("/proc/`) {
				continue
			}
			if seen++; opensItself[filepath.ToSlash(f.path)] == "" {
				t.Errorf("%s: %s: use internal/regular, which refuses FIFOs and devices", f.path, strings.TrimSpace(line))
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d calls found: this test looks at the wrong place", seen)
	}
}
