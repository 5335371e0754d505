package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"capgnn/internal/regular"
)

// function is one of a package's, without tests.
type function struct {
	name              string
	lines, complexity int
}

// folder is what is counted of one package.
type folder struct {
	files, lines, testLines, exported int
	functions                         []function
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	packages, docs := map[string]*folder{}, 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			_, other := os.Stat(filepath.Join(path, "go.mod")) // another module
			if name := e.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || other == nil) {
				return filepath.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(path)
		if ext != ".go" && ext != ".md" {
			return nil
		}
		text, err := regular.ReadFile(path, 1<<30)
		if err != nil {
			return err
		}
		if ext == ".md" {
			docs += bytes.Count(text, []byte("\n"))
			return nil
		}
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		if packages[dir] == nil {
			packages[dir] = &folder{}
		}
		return packages[dir].add(path, text)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "measures:", err)
		os.Exit(1)
	}
	printTable(packages)
	fmt.Printf("\ndocuments: %d lines of Markdown\n", docs)
}

// add counts a file.
func (f *folder) add(path string, text []byte) error {
	lines := bytes.Count(text, []byte("\n"))
	if strings.HasSuffix(path, "_test.go") {
		f.testLines += lines
		return nil
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	if strings.HasPrefix(filepath.Base(path), "zz_") || ast.IsGenerated(tree) {
		return nil
	}
	f.files++
	f.lines += lines
	names := func(list ...*ast.Ident) {
		for _, name := range list {
			if name.IsExported() {
				f.exported++
			}
		}
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names(d.Name)
			length := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1
			f.functions = append(f.functions, function{d.Name.Name, length, complexity(d)})
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names(s.Name)
				case *ast.ValueSpec:
					names(s.Names...)
				}
			}
		}
	}
	return nil
}

// complexity is McCabe's, as gocyclo counts: 1 and one for each if, for, case, && and ||.
func complexity(d *ast.FuncDecl) int {
	n := 1
	ast.Inspect(d, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			n += min(1, len(x.List)) // default is none
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// printTable prints a line for each package, then the functions that are long or tangled.
func printTable(packages map[string]*folder) {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "files\tlines\ttests\ttests : lines\texported\tfunctions\tp90 lines\tover 60\tcomplexity > 15\t> 20\t  package")
	var named strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		f := packages[dir]
		slices.SortFunc(f.functions, func(a, b function) int { return cmp.Compare(a.lines, b.lines) })
		p90, long, tangled, more := 0, 0, 0, 0
		if n := len(f.functions); n > 0 {
			p90 = f.functions[(9*n-1)/10].lines
		}
		for _, x := range f.functions {
			long, tangled, more = long+above(x.lines, 60), tangled+above(x.complexity, 15), more+above(x.complexity, 20)
			if x.lines > 60 || x.complexity > 15 {
				fmt.Fprintf(&named, "%s: %s: %d lines, complexity %d\n", dir, x.name, x.lines, x.complexity)
			}
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%.2f\t%d\t%d\t%d\t%d\t%d\t%d\t  %s\n", f.files, f.lines, f.testLines,
			float64(f.testLines)/float64(max(1, f.lines)), f.exported, len(f.functions), p90, long, tangled, more, dir)
	}
	t.Flush()
	fmt.Printf("\n%s", named.String())
}

func above(x, limit int) int {
	if x > limit {
		return 1
	}
	return 0
}
