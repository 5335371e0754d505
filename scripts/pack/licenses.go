package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"capgnn/internal/regular"
)

// licenseName matches files and folders with terms that whoever passes a module on must pass on with it.
var licenseName = regexp.MustCompile(`(?i)licen[sc]e|copying|notice|patents`)

// licensesOf returns the license texts of Go's library and of modules, as `go list` finds them in the module of this folder.
func licensesOf(modules []*debug.Module) ([]byte, error) {
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := writeLicenses(&b, "Go", strings.TrimSpace(goroot)); err != nil {
		return nil, err
	}
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}"}
	for _, m := range modules {
		args = append(args, m.Path)
	}
	found, err := output("go", args...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for line := range strings.Lines(found) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[module] = dir
	}
	for _, m := range modules {
		title := m.Path + " " + m.Version
		if dirs[title] == "" {
			return nil, fmt.Errorf("the program contains %s, but the module in this folder does not: run pack where the program was built", title)
		}
		if err := writeLicenses(&b, title, dirs[title]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// writeLicenses appends the license files of a folder, and those in its folders of licenses. A folder without one is an error.
func writeLicenses(b *bytes.Buffer, title, dir string) error {
	written := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		switch {
		case !licenseName.MatchString(top) || strings.HasSuffix(top, ".go"):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		}
		text, err := regular.ReadFile(path, largest)
		if err != nil {
			return err
		}
		written++
		fmt.Fprintf(b, "==== %s: %s\n\n%s\n\n", title, filepath.ToSlash(rel), bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
		return nil
	})
	if err == nil && written == 0 {
		err = errors.New("no license was found in " + dir)
	}
	return err
}

// output is what a command prints.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s %s: %s", name, strings.Join(args, " "), bytes.TrimSpace(exit.Stderr))
	}
	return string(out), err
}
