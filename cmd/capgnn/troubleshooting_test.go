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

// refusals are the functions and types through which the program ends a command, with the place of the text among the arguments or
// fields. Where another package has them, their names begin with a capital letter.
var refusals = map[string]int{"usagef": 0, "bad": 0, "interruptedError": 0, "fitError": 1}

var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(\.[0-9]+)?[a-zA-Z]`)

// Every line with which the commands end stands in docs/troubleshooting.md, with … where it varies.
func TestTroubleshooting(t *testing.T) {
	doc, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(doc), "`", "")
	lines, machines := refusalLines(t), clusterLines(t)
	if len(lines) < 80 || len(machines) < 80 {
		t.Errorf("only %d and %d error lines were found in the sources", len(lines), len(machines))
	}
	for _, line := range append(lines, machines...) {
		if !strings.Contains(text, line) {
			t.Errorf("docs/troubleshooting.md does not explain\n\t%s", line)
		}
	}
}

var (
	errorTable = regexp.MustCompile(`(?s)\n## What an error means\n(.*?)\n## `)
	errorCell  = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|")
	errorText  = regexp.MustCompile("`([^`]+)`")
)

// The guide to several machines names no error that the program does not have.
func TestGuideNamesErrorsThatThereAre(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide/several-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	section := errorTable.FindSubmatch(guide)
	if section == nil {
		t.Fatal("the guide has no section of errors")
	}
	lines, named := append(refusalLines(t), clusterLines(t)...), 0
	for _, cell := range errorCell.FindAllSubmatch(section[1], -1) {
		for _, text := range errorText.FindAllSubmatch(cell[1], -1) {
			if named++; !slices.Contains(lines, string(text[1])) {
				t.Errorf("the guide names an error that is not there:\n\t%s", text[1])
			}
		}
	}
	if named < 8 {
		t.Errorf("only %d errors were found in the guide", named)
	}
}

// errorMakers are the functions whose first argument is the text of an error, or a part of one.
var errorMakers = []string{"Errorf", "New", "Usagef", "Sprintf"}

// clusterLines returns the texts of errors of rooms where all errors reach the user: those that several machines need.
func clusterLines(t *testing.T) (lines []string) {
	t.Helper()
	var names []string
	for _, pattern := range []string{"../../cluster/*.go", "../../cluster/tcp/*.go", "../../cluster/mpi/*.go", "internal/ranks/*.go", "../../pipeline/ranks.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		names = append(names, slices.DeleteFunc(found, func(name string) bool { return strings.HasSuffix(name, "_test.go") })...)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(errorMakers, f.Sel.Name) {
				if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil && saysSomething(plainText(s)) && !strings.HasPrefix(s, "tcp: ") { // which begins a panic
						lines = append(lines, plainText(s))
					}
				}
			}
			return true
		})
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// refusalName returns which of refusals is called or made by this name, "" for none.
func refusalName(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		e = s.Sel
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return ""
	}
	name := strings.ToLower(id.Name[:1]) + id.Name[1:]
	if _, is := refusals[name]; !is {
		return ""
	}
	return name
}

// refusalLines returns the texts of errors in the sources of the program, without those that only say where another error comes
// from.
func refusalLines(t *testing.T) []string {
	t.Helper()
	var files []*ast.File
	for _, name := range sources(t) {
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
				if f := refusalName(n.Fun); f != "" && f != "fitError" && refusals[f] < len(n.Args) {
					add(n.Args[refusals[f]])
				}
			case *ast.CompositeLit:
				if refusalName(n.Type) != "" {
					for _, e := range n.Elts {
						add(e)
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
