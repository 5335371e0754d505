package shell

import (
	"os/exec"
	"testing"
)

// A shell takes every word as it is, and those that it takes anyway stay.
func TestWord(t *testing.T) {
	for word, want := range map[string]string{"": "''", "runs/cora-gcn_1": "runs/cora-gcn_1", "日本/ünï": "日本/ünï", "a b": "'a b'", "~x": "'~x'", "it's": `'it'\''s'`, "*": "'*'", "$HOME": "'$HOME'", "(p)": "'(p)'"} {
		if got := Word(word); got != want {
			t.Errorf("%q is written %s, want %s", word, got, want)
		}
		if out, err := exec.Command("sh", "-c", "printf %s "+Word(word)).Output(); err != nil || string(out) != word {
			t.Errorf("%q: a shell takes it as %q, %v", word, out, err)
		}
	}
}
