package dataset_test

import (
	"strings"
	"testing"

	"capgnn/graph/dataset"
)

// maskOf reads the letters of sets that hold a mask's vertices; "" absent.
func maskOf(text string) (mask []bool) {
	for _, c := range text {
		mask = append(mask, c != '.')
	}
	return mask
}

func TestSettleSets(t *testing.T) {
	draw := &dataset.Draw{Shares: dataset.DefaultFractions, Seed: 1}
	asked := &dataset.Draw{Shares: dataset.DefaultFractions, Seed: 1, Asked: true}
	byClass := &dataset.Draw{By: dataset.Stratified, Shares: dataset.DefaultFractions, Text: "stratified:0.7,0.2,0.1"}
	several := func(d *dataset.Dataset) { d.Labels, d.Targets = nil, make([]uint8, 6*d.Classes) }
	unlabelled := func(d *dataset.Dataset) { d.Labels, d.Classes = nil, 0 }
	for name, c := range map[string]struct {
		train, val, test string
		opt              dataset.Options
		change           func(d *dataset.Dataset)
		want             string // sets, or what the error says
		note             string
	}{
		"all three":                  {"tt....", "..v...", "...ee.", dataset.Options{Draw: draw}, nil, "ttvee.", ""},
		"training alone":             {"tt....", "", "", dataset.Options{Draw: draw}, nil, "tt....", ""},
		"no training set":            {"", "..v...", "...ee.", dataset.Options{Draw: draw}, nil, "ttvee.", "training takes the labelled vertices outside the validation and test sets (2)"},
		"test alone":                 {"", "", "...ee.", dataset.Options{}, nil, "tttee.", "training takes the labelled vertices outside the test set (3)"},
		"validation alone":           {"", "v.....", "", dataset.Options{}, nil, "vtttt.", "training takes the labelled vertices outside the validation set (4)"},
		"several labels":             {"", "", "...ee.", dataset.Options{}, several, "ttteet", "training takes the labelled vertices outside the test set (4)"},
		"nothing left":               {"", "vvv...", "...ee.", dataset.Options{}, nil, "vvvee.", "every labelled vertex is in the validation and test sets: none is left to train"},
		"no labels":                  {"", "..v...", "...ee.", dataset.Options{Draw: draw}, unlabelled, "..vee.", ""},
		"empty sets, none to draw":   {"", "......", "......", dataset.Options{}, nil, "......", ""},
		"empty sets, drawn":          {"", "......", "......", dataset.Options{Draw: draw}, nil, "drawn", ""},
		"drawn":                      {"", "", "", dataset.Options{Draw: asked}, nil, "drawn", ""},
		"no labels, drawn":           {"", "", "", dataset.Options{Draw: asked}, unlabelled, "drawn", ""},
		"no labels, not asked":       {"", "", "", dataset.Options{Draw: draw}, unlabelled, "......", ""},
		"no labels, to standardise":  {"", "", "", dataset.Options{Draw: draw, Standardize: dataset.StandardizeTrain}, unlabelled, "drawn", ""},
		"asked beside training":      {"tt....", "", "", dataset.Options{Draw: asked}, nil, "a split of its own (train_mask): drop --split", ""},
		"asked beside test":          {"", "", "...ee.", dataset.Options{Draw: asked}, nil, "a split of its own (test_mask): drop --split", ""},
		"by class of several labels": {"", "", "", dataset.Options{Draw: byClass}, several, "--split stratified:0.7,0.2,0.1 draws by class, and its vertices have several labels each", ""},
		"by class without labels":    {"", "", "", dataset.Options{Draw: &dataset.Draw{By: dataset.PerClass, Asked: true}}, unlabelled, "draws by class, and it has no labels", ""},
		"overlap": {"tttt..", "..v...", "..eee.", dataset.Options{}, nil,
			"vertices are in two sets: 1 in training and validation, 2 in training and test, 1 in validation and test; the first is vertex 12: keep each vertex in one set, or take the sets as they are with --allow-overlap", ""},
		"overlap without training": {"", ".vv...", "..eee.", dataset.Options{}, nil, "vertices are in two sets: 1 in validation and test; the first is vertex 12", ""},
		"overlap of names": {"tt....", ".v....", "", dataset.Options{}, func(d *dataset.Dataset) { d.VertexNames = []string{"a", "b\n", "c", "d", "e", "f"} },
			`1 in training and validation; the first is vertex "b\n": keep`, ""},
		"overlap, allowed":  {"tt....", ".v....", "", dataset.Options{AllowOverlap: true}, nil, "tv....", "1 in training and validation; the first is vertex 11: they are taken as they are only with --allow-overlap"},
		"overlap, as given": {"tt....", ".v....", "", dataset.Options{SetsAsGiven: true}, nil, "tv....", ""},
		"test, as given":    {"", "", "...ee.", dataset.Options{SetsAsGiven: true, Draw: draw}, nil, "...ee.", ""},
	} {
		d := labelled(t, []int32{0, 1, 0, 1, 2, -1})
		d.IDs = []int64{10, 11, 12, 13, 14, 15}
		d.Train, d.Val, d.Test = maskOf(c.train), maskOf(c.val), maskOf(c.test)
		if c.change != nil {
			c.change(d)
		}
		err := d.SettleSets(c.opt)
		got := sets(d)
		if d.Drawn {
			got = "drawn"
		}
		if err != nil {
			got = err.Error()
		}
		notes := strings.Join(d.Notes, "\n")
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) || !strings.Contains(notes, c.note) || (notes == "") != (c.note == "") {
			t.Errorf("%s: got %q with the notes %q, want %q and %q", name, got, notes, c.want, c.note)
		}
		if rest := c.train == "" && strings.Contains(c.note, "train"); d.TrainsRest != rest {
			t.Errorf("%s: the rest trains: %t", name, d.TrainsRest)
		}
	}
}
