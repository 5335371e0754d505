package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/long"
)

// root is the module's folder, seen from this package's.
const root = "../.."

// module is the path that go.mod gives the module.
var module = func() string {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		panic(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "module ")
}()

// table is docs/layers.txt.
type table struct {
	allowed map[string][]string // by package, without the module's name
	free    []string            // usable by all
}

func readTable(text string) (*table, error) {
	t := &table{allowed: map[string][]string{}}
	for i, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "# usable by all:"); ok {
			t.free = strings.Fields(rest)
		}
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, list, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if _, twice := t.allowed[name]; !ok || twice || name == "" {
			return nil, fmt.Errorf("line %d: %q is not `package : packages` or names a package twice", i+1, line)
		}
		t.allowed[name] = strings.Fields(list)
	}
	for name, list := range t.allowed {
		for _, p := range append(list, t.free...) {
			if _, ok := t.allowed[p]; !ok && p != "*" {
				return nil, fmt.Errorf("%s may import %s, which has no line", name, p)
			}
		}
	}
	return t, nil
}

// check says what is wrong with package name importing imports, both without the module's name; nil = nothing.
func (t *table) check(name string, imports []string) error {
	list, ok := t.allowed[name]
	if !ok {
		return fmt.Errorf("%s is in no line of docs/layers.txt: decide what it may import", name)
	}
	for _, p := range imports {
		if !slices.Contains(list, p) && !slices.Contains(list, "*") && !slices.Contains(t.free, p) {
			return fmt.Errorf("%s imports %s, docs/layers.txt allows %v and %v", name, p, list, t.free)
		}
	}
	return nil
}

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath string
	Dir        string
	Imports    []string
}

// list returns the module's packages as compiled with these settings, paths without the module's name.
func list(cgo string, tags string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports", "-tags", tags, "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module+"/")
		p.Imports = slices.DeleteFunc(p.Imports, func(s string) bool { return !strings.HasPrefix(s, module+"/") })
		for i := range p.Imports {
			p.Imports[i] = strings.TrimPrefix(p.Imports[i], module+"/")
		}
		pkgs = append(pkgs, p)
	}
}

func TestLayers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "layers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := readTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	tags := []string{""}
	for _, f := range sources(t) {
		for _, tag := range f.tags {
			if !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
	}
	t.Logf("build tags in use: %q", tags[1:])
	for _, cgo := range []string{"0", "1"} {
		for _, tag := range tags {
			if cgo == "0" && tag != "" && !long.Wanted() {
				continue
			}
			pkgs, err := list(cgo, tag)
			if err != nil {
				t.Fatal(err)
			}
			if len(pkgs) < 5 {
				t.Fatalf("go list found %d packages: this test looks at the wrong place", len(pkgs))
			}
			for _, p := range pkgs {
				if err := layers.check(p.ImportPath, p.Imports); err != nil {
					t.Errorf("CGO_ENABLED=%s, tags %q: %v", cgo, tag, err)
				}
			}
		}
	}
}

// TestTable checks that the checker can fail.
func TestTable(t *testing.T) {
	layers, err := readTable("# usable by all: npy\na :\nb : a # why\nmain : *\nnpy :\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		imports []string
		ok      bool
	}{
		{"a", nil, true}, {"a", []string{"npy"}, true}, {"b", []string{"a", "npy"}, true}, {"main", []string{"a", "b"}, true},
		{"a", []string{"b"}, false}, {"npy", []string{"a"}, false}, {"c", nil, false},
	} {
		if err := layers.check(tc.name, tc.imports); (err == nil) != tc.ok {
			t.Errorf("%s importing %v: %v", tc.name, tc.imports, err)
		}
	}
	for _, bad := range []string{"a", "a :\na :", "a : b", ": a"} {
		if _, err := readTable(bad); err == nil {
			t.Errorf("table %q was accepted", bad)
		}
	}
}

// source is one file of the repository that is, or may be, compiled.
type source struct {
	path    string // from the root, with slashes
	dir     string
	imports []string
	tags    []string // build tags of the file's own that it names
}

// sources returns all Go, assembly and C files of the module, whatever their build constraints. Folders that begin with
// a dot or underscore, testdata and other modules are left out, as the go command does.
func sources(t testing.TB) []source {
	var out []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if rel != "." && (err == nil || name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		f := source{path: filepath.ToSlash(rel), dir: filepath.ToSlash(filepath.Dir(rel))}
		switch filepath.Ext(name) {
		case ".go":
			if err := f.parse(path); err != nil {
				return err
			}
			out = append(out, f)
		case ".s", ".S", ".c", ".h", ".cc", ".cpp", ".cu", ".ptx", ".syso":
			out = append(out, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("found %d source files: this test looks at the wrong place", len(out))
	}
	return out
}

// parse reads imports and build tags of a Go file.
func (f *source) parse(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), f.path, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	for _, imp := range file.Imports {
		f.imports = append(f.imports, strings.Trim(imp.Path.Value, "`\""))
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Pos() > file.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				return fmt.Errorf("%s: %w", f.path, err)
			}
			expr.Eval(func(tag string) bool { f.addTag(tag); return true }) // visits every tag, whatever it is told
		}
	}
	return nil
}

// platform tags are set by the go command, not by -tags.
var platform = []string{
	"cgo", "gc", "gccgo", "unix", "linux", "darwin", "windows", "freebsd", "netbsd", "openbsd", "solaris", "android", "ios",
	"js", "wasip1", "plan9", "aix", "dragonfly", "illumos", "amd64", "arm64", "arm", "386", "wasm", "riscv64", "ppc64",
	"ppc64le", "mips", "mipsle", "mips64", "mips64le", "loong64", "s390x", "race", "msan", "asan", "ignore",
}

func (f *source) addTag(tag string) {
	if !slices.Contains(platform, tag) && !strings.HasPrefix(tag, "go1.") && !strings.HasPrefix(tag, "amd64.") && !slices.Contains(f.tags, tag) {
		f.tags = append(f.tags, tag)
	}
}
