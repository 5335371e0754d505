package runfolder

import (
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
)

func TestParseSplit(t *testing.T) {
	shares := func(by dataset.DrawBy, a, b, c float64) Split {
		return Split{Draw: dataset.Draw{By: by, Shares: [3]float64{a, b, c}, Asked: true}}
	}
	counts := Split{Draw: dataset.Draw{By: dataset.PerClass, Counts: [3]int{20, 500, 1000}, Asked: true}}
	seeded := func(s Split, seed uint64) Split {
		s.Seeded, s.Draw.Seed = true, seed
		return s
	}
	for text, want := range map[string]Split{
		"": {Draw: dataset.Draw{Shares: dataset.DefaultFractions}}, "0": {Numbered: true}, "3": {Numbered: true, Row: 3},
		"0.5,0.25,0.25": shares(dataset.ByShares, 0.5, 0.25, 0.25), "1,0,0": shares(dataset.ByShares, 1, 0, 0), "0.6, 0.2, 0.2": shares(dataset.ByShares, 0.6, 0.2, 0.2),
		"0.7,0.2,0.1,seed=7": seeded(shares(dataset.ByShares, 0.7, 0.2, 0.1), 7), "0.7,0.2,0.1, seed=18446744073709551615": seeded(shares(dataset.ByShares, 0.7, 0.2, 0.1), 1<<64-1),
		"stratified:0.7,0.2,0.1": shares(dataset.Stratified, 0.7, 0.2, 0.1), "stratified:0.7,0.2,0.1,seed=0": seeded(shares(dataset.Stratified, 0.7, 0.2, 0.1), 0),
		"per-class:20,500,1000": counts, "per-class: 20, 500, 1e3,seed=7": seeded(counts, 7),
	} {
		got, err := ParseSplit(text)
		if got.Draw.Asked {
			want.Draw.Text = text
		}
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	const fractions, perClass = "is not three fractions train,val,test with train above 0 and a sum of at most 1", "is not per-class:TRAIN,VAL,TEST with three whole numbers"
	for text, want := range map[string]string{
		"0.7": fractions, "0.7,0.2": fractions + ": of two shares the third is 0, such as 0.8,0.2,0",
		"70,20,10": fractions + ": percentages are written as shares, such as 0.7,0.2,0.1", "0.5,0.2,0.4": fractions + ": the sum is 1.1", "0,0.5,0.5": fractions, "a,b,c": fractions, "0.5,0.5,0.5": fractions, "-0.1,0.5,0.5": fractions, "NaN,0,0": fractions, "2,0,0": fractions,
		"0.1,0.1,0.1,0.1": fractions, ",,": fractions, "-1": fractions, "1.0": fractions, "seed=7": fractions, "3,seed=7": fractions, ",seed=7": fractions, "stratified:": fractions, "stratified:1,1,1": fractions, "seed=1,0.7,0.2,0.1": fractions,
		"per-class:20,500": perClass, "per-class:0,1,1": perClass, "per-class:0.5,1,1": perClass, "per-class:2,-1,1": perClass, "per-class:1e300,1,1": perClass, "per-class:": perClass, "per-class:3000000000,1,1": perClass, "per-class:a,1,1": perClass,
		"0.7,0.2,0.1,seed=": `seed "" is not a whole number`, "0.7,0.2,0.1,seed=-1": `seed "-1" is not`, "0.7,0.2,0.1,seed=1.5": `seed "1.5" is not`,
		"seed=8": "write shares first, such as 0.7,0.2,0.1,seed=8", "stratified": "write shares behind it, such as stratified:0.7,0.2,0.1", "per-class": "per-class:20,500,1000",
		"strat:0.7,0.2,0.1": `"strat" is neither stratified nor per-class`,
	} {
		if got, err := ParseSplit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want %q", text, got, err, want)
		}
	}
}

// A split is the same after it has been in a config file.
func TestSplitInConfig(t *testing.T) {
	for _, text := range []string{"", "3", "0.7,0.2,0.1", "0.7,0.2,0.1,seed=7", "stratified:0.7,0.2,0.1,seed=7", "per-class:20,500,1000", "per-class: 20, 5, 10"} {
		for _, overlap := range []bool{false, true} {
			want, got := Default(), Default()
			want.Set("split", text)
			want.AllowOverlap = overlap
			data, err := FormatConfig(&want)
			if err == nil {
				err = ParseConfig(data, &got)
			}
			if err != nil || got.Split != want.Split || got.AllowOverlap != overlap {
				t.Errorf("%q: got %+v, %v, from\n%s", text, got.Split, err, data)
			}
		}
	}
}

// Sets are read as they were written; names that would take too much room are left out.
func TestSets(t *testing.T) {
	d := Dir(t.TempDir())
	if s, err := d.ReadSets(4); term.ExitCode(err) != term.ExitUsage {
		t.Errorf("no file: %+v, %v", s, err)
	}
	want := &Sets{Train: []bool{true, false, false, true}, Val: []bool{false, true, false, true}, Test: make([]bool, 4), Names: []string{"", "", "", strings.Repeat("x", maxNameBytes/16+1)}}
	if short := (&Sets{Names: []string{"v0", "v1"}}); !want.TooLong() || short.TooLong() {
		t.Errorf("names are too long: %v, of two letters: %v", want.TooLong(), short.TooLong())
	}
	if err := d.WriteSets(want); err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadSets(4)
	if err != nil || !slices.Equal(got.Train, want.Train) || !slices.Equal(got.Val, want.Val) || !slices.Equal(got.Test, want.Test) {
		t.Errorf("got %+v, %v", got, err)
	}
	if of := []string{got.Of(0), got.Of(1), got.Of(2), got.Of(3)}; !slices.Equal(of, []string{"train", "val", "", "train"}) {
		t.Errorf("vertices are in the sets %q", of)
	}
	if _, err := d.ReadSets(5); err == nil || !strings.Contains(err.Error(), "split.npz") || !strings.Contains(err.Error(), "the data set has 5 vertices") {
		t.Errorf("other vertices: %v", err)
	}
	if info, err := os.Stat(d.splitFile()); err != nil || info.Size() > 2000 {
		t.Errorf("long names are kept: %v, %v", info, err)
	}
}
