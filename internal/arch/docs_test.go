package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	// sourcePath is a file or folder of this module as documents name it.
	sourcePath = regexp.MustCompile("`((?:chunks|cmd|docs|gnn|gpu|graph|hostmem|internal|jaca|minibatch|pipeline|profiler|rapa|reduce|report)/[a-z0-9_/.*-]*)`")
)

// Links in documents lead to files and headings that are there, and so do the source files that they name.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	links := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(data), -1) {
			if target := m[1]; !strings.Contains(target, "://") && !strings.HasPrefix(target, "mailto:") {
				links++
				checkLink(t, path, target)
			}
		}
		for _, m := range sourcePath.FindAllStringSubmatch(string(data), -1) {
			if found, err := filepath.Glob(filepath.Join(root, m[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which is not there", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 20 {
		t.Errorf("only %d links were found", links)
	}
}

// checkLink reports a link of a document that leads nowhere.
func checkLink(t *testing.T, path, target string) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	if file == "" {
		file = path
	} else {
		file = filepath.Join(filepath.Dir(path), file)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%s links to %s, which is not there", path, target)
		return
	}
	if anchor == "" {
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%s links to %s: %v", path, target, err)
		return
	}
	for _, m := range heading.FindAllStringSubmatch(string(data), -1) {
		if strings.NewReplacer(" ", "-", "?", "").Replace(strings.ToLower(m[1])) == anchor {
			return
		}
	}
	t.Errorf("%s links to %s: no such heading", path, target)
}
