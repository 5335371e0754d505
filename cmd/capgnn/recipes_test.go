package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// tinyRecipe makes of a recipe what a tiny data set and one machine without GPUs can do: no download, few epochs and
// columns, CPU devices.
var tinyRecipe = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`capgnn data fetch .*\n`), ""},
	{regexp.MustCompile(`--epochs \d+`), "--epochs 3"},
	{regexp.MustCompile(`--eval-every 5`), "--eval-every 1"},
	{regexp.MustCompile(`--hidden \d+`), "--hidden 8"},
	{regexp.MustCompile(`--seeds 1-10`), "--seeds 1-2"},
	{regexp.MustCompile(`cuda:`), "cpu:"},
	{regexp.MustCompile(`chunks=16`), "chunks=3"},
	{regexp.MustCompile(`capgnn profile`), "capgnn profile --quick"},
	{regexp.MustCompile(`capgnn train .*(--devices cpu:\S+,slow=3)`), "capgnn profile --quick $1\n$0"},
	{regexp.MustCompile(`--hosts alpha,beta`), "-n 2"},
	{regexp.MustCompile(`train --dataset cora`), "train --epochs 3 --hidden 8 --dataset cora"},
}

// What docs/guide/recipes.md says to paste works, each recipe in a folder of its own with a tiny data set of the
// names that it uses.
func TestRecipes(t *testing.T) {
	t.Parallel()
	blocks := shellBlocks(t, "../../docs/guide/recipes.md") // the tenth recipe is Python's
	if len(blocks) != 9 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	s := newSandbox(t)
	if err := os.MkdirAll(s.path("data/capgnn"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"planetoid_cora", "ogbn_arxiv"} {
		newStore().write(s, "data/capgnn/"+name+".npz")
	}
	for i, block := range blocks {
		script := block[1]
		for _, tiny := range tinyRecipe {
			script = tiny.from.ReplaceAllString(script, tiny.to)
		}
		cmd := exec.Command("bash", "-e", "-c", script)
		cmd.Dir, cmd.Env = s.Dir, append(s.command().Env, "PATH="+filepath.Dir(progtest.Program)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("recipe %d: %v\n%s\n%s", i, err, script, out)
		}
	}
	for _, file := range []string{"runs/arxiv/summary.json", "clubs.csv", "embeddings.npy", "runs/two/report.html"} {
		if !term.Exists(s.path(file)) {
			t.Errorf("there is no %s", file)
		}
	}
}
