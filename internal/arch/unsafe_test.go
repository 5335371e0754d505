package arch

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unsafeHomes are the packages that may, with those below them, use unsafe, cgo, assembly and C.
var unsafeHomes = []string{"gpu/cuda", "gpu/host", "hostmem", "cluster/mpi"}

// generatorDir writes assembly and is no part of the product.
const generatorDir = "gpu/host/kernel/gen"

// unsafeUse says what in f needs a home among unsafeHomes, "" = nothing or it has one.
func unsafeUse(f source) string {
	home := func(dir string) bool { return f.dir == dir || strings.HasPrefix(f.dir, dir+"/") }
	if slices.ContainsFunc(unsafeHomes, home) || strings.HasSuffix(f.path, "_test.go") {
		return ""
	}
	if path.Ext(f.path) != ".go" {
		return "assembly or C"
	}
	for _, imp := range f.imports {
		if imp == "unsafe" || imp == "C" {
			return "import " + imp
		}
	}
	return ""
}

func TestUnsafeLivesAtHome(t *testing.T) {
	for _, f := range sources(t) {
		if use := unsafeUse(f); use != "" {
			t.Errorf("%s: %s outside of %v", f.path, use, unsafeHomes)
		}
	}
	for _, tc := range []struct {
		f   source
		bad bool
	}{
		{source{path: "gnn/x.go", dir: "gnn", imports: []string{"unsafe"}}, true},
		{source{path: "gnn/x.go", dir: "gnn", imports: []string{"C"}}, true},
		{source{path: "gpu/x_amd64.s", dir: "gpu"}, true},
		{source{path: "gpu/host/x_amd64.s", dir: "gpu/host"}, false},
		{source{path: "gpu/host/kernel/x_amd64.s", dir: "gpu/host/kernel"}, false},
		{source{path: "gpu/cuda/kern/x.cu", dir: "gpu/cuda/kern"}, false},
		{source{path: "gpu/hostile/x.go", dir: "gpu/hostile", imports: []string{"unsafe"}}, true},
		{source{path: "gnn/x_test.go", dir: "gnn", imports: []string{"unsafe"}}, false},
	} {
		if use := unsafeUse(tc.f); (use != "") != tc.bad {
			t.Errorf("%s: %q", tc.f.path, use)
		}
	}
}

// TestDocs wants a doc.go with a package comment in every package; only commands may begin it with "Command".
func TestDocs(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range sources(t) {
		if seen[f.dir] || path.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") || f.dir == generatorDir {
			continue
		}
		seen[f.dir] = true
		file := filepath.Join(root, filepath.FromSlash(f.dir), "doc.go")
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Errorf("%s has no doc.go: %v", f.dir, err)
			continue
		}
		if what := packageComment(tree); what == "" {
			t.Errorf("%s/doc.go has no comment that begins with `Package %s` or, for a command, `Command`", f.dir, tree.Name.Name)
		}
	}
	if !seen["graph"] || !seen["gpu/host/kernel"] {
		t.Errorf("looked at %d packages, not at graph and gpu/host/kernel", len(seen))
	}
}

// packageComment returns the first sentence of a package's comment, "" if it does not begin as it should.
func packageComment(f *ast.File) string {
	begin := "Package " + f.Name.Name + " "
	if f.Name.Name == "main" {
		begin = "Command "
	}
	if text := f.Doc.Text(); strings.HasPrefix(text, begin) {
		return new(doc.Package).Synopsis(text)
	}
	return ""
}
