package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

var shellBlock = regexp.MustCompile("(?s)\n```sh\n(.*?)```\n")

// shellBlocks returns what a document says to type into a shell.
func shellBlocks(t *testing.T, file string) [][]string {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash on this machine")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return shellBlock.FindAllStringSubmatch(string(text), -1)
}

// What the tutorial says to type works, in one folder, from the first block to the last.
func TestTutorial(t *testing.T) {
	t.Parallel()
	blocks := shellBlocks(t, "../../docs/tutorial.md")
	if len(blocks) < 8 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	for _, layers := range []string{"", "2", "1"} { // "": as it stands
		if layers != "" && !long.Wanted() {
			continue
		}
		t.Run("layers "+layers, func(t *testing.T) { followTutorial(t, blocks, layers) })
	}
}

var takesLayers = regexp.MustCompile(`capgnn (train|plan) --dataset`)

// followTutorial types the blocks, with so many layers.
func followTutorial(t *testing.T, blocks [][]string, layers string) {
	s := newSandbox(t)
	printed := ""
	for i, block := range blocks {
		script := block[1]
		if layers != "" {
			script = takesLayers.ReplaceAllString(script, "capgnn $1 --layers "+layers+" --dataset")
		}
		cmd := exec.Command("bash", "-e", "-c", script)
		cmd.Dir, cmd.Env = s.Dir, append(s.command().Env, "PATH="+filepath.Dir(progtest.Program)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("block %d: %v\n%s\n%s", i, err, script, out)
		}
		printed += string(out)
	}
	for _, want := range []string{"comparison.html", "edge homophily", "% are right", "vertex,id,split,label,class", "0,p1000,,0,chess"} {
		if !strings.Contains(printed, want) {
			t.Errorf("nothing printed %q:\n%s", want, printed)
		}
	}
	again, err := runfolder.Dir(s.path("runs/again")).ReadResult()
	if err != nil {
		t.Fatal(err)
	}
	first, err := runfolder.Dir(s.path("runs/first")).ReadResult()
	if err != nil || first.SHA256 != again.SHA256 {
		t.Errorf("the repeated run has other weights: %v", err)
	}
	if first.Test == nil || *first.Test < 0.6 {
		t.Errorf("test score %s: chance is a third", term.Score(first.Test))
	}
	for _, file := range []string{"comparison.html", "runs/first/report.html", "store/meta.json"} {
		if !term.Exists(s.path(file)) {
			t.Errorf("there is no %s", file)
		}
	}
}
