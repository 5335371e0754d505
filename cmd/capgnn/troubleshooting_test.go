package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// refusals are the functions and types through which this package ends a command, with the place of the text among the arguments or
// fields.
var refusals = map[string]int{"usagef": 0, "bad": 0, "interruptedError": 0, "fitError": 1}

var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(\.[0-9]+)?[a-zA-Z]`)

// Every line with which the commands end stands in docs/troubleshooting.md, with … where it varies.
func TestTroubleshooting(t *testing.T) {
	doc, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(doc), "`", "")
	lines := refusalLines(t)
	if len(lines) < 80 {
		t.Errorf("only %d error lines were found in the sources", len(lines))
	}
	for _, line := range lines {
		if !strings.Contains(text, line) {
			t.Errorf("docs/troubleshooting.md does not explain\n\t%s", line)
		}
	}
}

// refusalLines returns the texts of errors in the sources of this package, without those that only say where another error comes
// from.
func refusalLines(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	var lines []string
	add := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && saysSomething(plainText(s)) {
					lines = append(lines, plainText(s))
				}
			}
			return true
		})
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok {
					if k, is := refusals[f.Name]; is && k < len(n.Args) && f.Name != "fitError" {
						add(n.Args[k])
					}
				}
			case *ast.CompositeLit:
				if f, ok := n.Type.(*ast.Ident); ok {
					if _, is := refusals[f.Name]; is {
						for _, e := range n.Elts {
							add(e)
						}
					}
				}
			}
			return true
		})
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// plainText writes a format as the document does.
func plainText(format string) string {
	return strings.ReplaceAll(strings.ReplaceAll(verb.ReplaceAllString(strings.ReplaceAll(format, "%%", "\x00"), "…"), "\x00", "%"), "`", "")
}

// saysSomething reports whether a text has two words of its own beside names, flags and what it wraps.
func saysSomething(text string) bool {
	words := 0
	for _, w := range strings.Fields(text) {
		if letters := strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }); len(letters) > 1 && !strings.HasPrefix(w, "--") && !strings.HasSuffix(w, ":") {
			words++
		}
	}
	return words >= 2
}
