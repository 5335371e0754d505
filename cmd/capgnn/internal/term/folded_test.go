package term

import (
	"slices"
	"testing"
)

// Lines are as long as fits, and no item is broken.
func TestFolded(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"one", []string{"one"}},
		{"longer than that", []string{"longer", "than that"}},
		{"a b c d e f g", []string{"a b c d e", "f g"}},
		{"unbreakable-word x", []string{"unbreakable-word", "x"}},
		{"a 1 ms  b 2 ms  c", []string{"a 1 ms", "b 2 ms  c"}},
		{"µµµµ µµµµ µµ", []string{"µµµµ µµµµ", "µµ"}},
	} {
		if got := Folded(c.text, 10); !slices.Equal(got, c.want) {
			t.Errorf("%q is folded to %q, want %q", c.text, got, c.want)
		}
	}
}
