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

// documentKey finds the first key behind a flag.
var documentKey = regexp.MustCompile("[ `(]--([a-z-]+)[ =](?:[^ =`,]+,)?([a-z-]+)=")

// Documents name flags that some command has, and keys of flags that have some.
func TestDocumentsNameFlags(t *testing.T) {
	flags, keys := map[string]bool{"help": true, "version": true}, map[string][]string{}
	everyCommand(func(_ string, cmd *cli.Command) {
		for _, f := range cmd.Flags {
			if _, has := flagMeaning(f); has != nil {
				keys[f.Names()[0]] = nil
				for _, k := range has {
					key, _, _ := strings.Cut(k.word, "=")
					keys[f.Names()[0]] = append(keys[f.Names()[0]], key)
				}
			}
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
	keyed := 0
	for file, text := range documents(t) {
		for _, m := range documentKey.FindAllStringSubmatch(text, -1) {
			if keys[m[1]] == nil {
				continue
			}
			if keyed++; !slices.Contains(keys[m[1]], m[2]) {
				t.Errorf("%s has %s=, which is no key of --%s", file, m[2], m[1])
			}
		}
	}
	if keyed < 20 {
		t.Errorf("only %d keys were found", keyed)
	}
	if named < 200 {
		t.Errorf("only %d flags were found", named)
	}
}
