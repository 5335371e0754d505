package datasets

import (
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/learn"
)

// Vertices and classes that count for nothing are named.
func TestLabelNotes(t *testing.T) {
	mask := func(text string) []bool {
		m := make([]bool, len(text))
		for v := range text {
			m[v] = text[v] == 'x'
		}
		return m
	}
	for _, c := range []struct {
		name             string
		labels           []int32
		train, val, test string
		names            []string
		want             string
	}{
		{"all counts", []int32{0, 1, 0, 1}, "xx..", "..x.", "...x", nil, ""},
		{"sets without labels", []int32{0, 1, -1, -1, -1}, "xxx..", "....x", "...x.", nil, "without a label, and so without effect: 1 of 3 training vertices, 1 of 1 validation vertices, 1 of 1 test vertices"},
		{"one class", []int32{1, 1, -1, 1}, "xx..", "", "", []string{"a", "b"}, `every label is class "b": there is nothing to learn`},
		{"a class is not trained", []int32{0, 1, 2, 2}, "xx..", "..xx", "", []string{"a", "b", "c"}, `classes without a training vertex are not learned: 1 of 3: "c"`},
		{"many classes are not trained", []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "x.........", "", "", nil, "classes without a training vertex are not learned: 9 of 10: 1, 2, 3, 4, 5, 6, 7, 8, …"},
		{"a class that no vertex has", []int32{0, 2, 0, 2}, "xx..", "", "", nil, ""},
		{"no labels", nil, "xx..", "", "", nil, ""},
	} {
		p := &learn.Problem{Labels: c.labels, Classes: 10, Train: mask(c.train), Val: mask(c.val), Test: mask(c.test)}
		if got := strings.Join((&Input{Problem: p, Names: runfolder.DataNames{Classes: c.names}}).LabelNotes(), "\n"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	p := &learn.Problem{Labels: []int32{0, 1}, Classes: 2, Train: mask("x.")}
	want := "classes without a training vertex are not learned: 1 of 2: 1 (--split stratified:0.7,0.2,0.1 gives each one)"
	if got := strings.Join((&Input{Problem: p, Drawn: true}).LabelNotes(), "\n"); got != want {
		t.Errorf("of a drawn split: %s, want %s", got, want)
	}
}
