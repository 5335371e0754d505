package cudalink

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// Every declared driver call has a trampoline, and no other.
func TestSymbols(t *testing.T) {
	find := func(path, pattern string) []string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			if name := string(m[1]); name != "cuInit" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	want := find("../header/cuda_calls.h", `(?m)^CUresult (cu\w+)\(`)
	got := find("symbols.h", `(?m)^  X\(\d+, (\w+)\)`)
	if len(want) < 100 || !slices.Equal(got, want) {
		t.Errorf("symbols.h has %d calls, cuda_calls.h %d: run gpu/cuda/cudalink/symbols.sh", len(got), len(want))
	}
}
