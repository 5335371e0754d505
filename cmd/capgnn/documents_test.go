package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// documents returns the texts of README.md and of the documents for users, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/guide/*.md", "docs/formats/*.md", "docs/adr/*.md"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = string(text)
		}
	}
	return texts
}

var (
	documentFlag = regexp.MustCompile("[ `(\\[]--([a-z][a-z0-9-]*[a-z0-9])\\b[^_]")
	// otherFlags are those of other programs that documents call.
	otherFlags = strings.Fields(`add-port add-source allow-run-as-root build-arg check from-file host job-name logdir mpi network nnodes
		ntasks-per-node open-mode output oversubscribe platform read-only requeue rm signal time unresolved-symbols user userns zone`)
)

// Documents name flags that some command has.
func TestDocumentsNameFlags(t *testing.T) {
	flags := map[string]bool{"help": true, "version": true}
	everyCommand(func(_ string, cmd *cli.Command) {
		for _, f := range cmd.Flags {
			for _, name := range f.Names() {
				flags[name] = true
			}
		}
	})
	named := 0
	for file, text := range documents(t) {
		for _, m := range documentFlag.FindAllStringSubmatch(text, -1) {
			if named++; !flags[m[1]] && !slices.Contains(otherFlags, m[1]) {
				t.Errorf("%s names --%s, which no command has", file, m[1])
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d flags were found", named)
	}
}
