package runfolder

import (
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/runfile"
)

// Lists of seeds read as they are said; repeats, and what is no list, are refused.
func TestSeeds(t *testing.T) {
	for text, want := range map[string][]uint64{"3": {3}, "1-4": {1, 2, 3, 4}, "7, 1-2,0": {7, 1, 2, 0}, "18446744073709551614-18446744073709551615": {math.MaxUint64 - 1, math.MaxUint64}} {
		if got, err := ParseSeeds(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"": "is not a seed", "a": "is not a seed", "3-1": "is not a seed", "1-": "is not a seed", "-1": "is not a seed", "1,,2": "is not a seed", "1.5": "is not a seed", "1,2,1": "seed 1 is said twice",
		"1-5,4": "seed 4 is said twice", "1-1001": "more than 1000 seeds", "1-600,1001-1500": "more than 1000 seeds", "0-18446744073709551615": "more than 1000 seeds", "18446744073709551616": "is not a seed",
	} {
		if got, err := ParseSeeds(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v, want %s", text, got, err, says)
		}
	}
}

// A spread is that of the sample; its interval is Student's.
func TestSpreads(t *testing.T) {
	if s := SpreadOf(nil); s.Runs != 0 || s.Mean != nil || s.Deviation != nil {
		t.Errorf("%+v", s)
	}
	if s := SpreadOf([]float64{0.5}); *s.Mean != 0.5 || s.Deviation != nil || s.Interval != nil || *s.Max != 0.5 {
		t.Errorf("%+v", s)
	}
	for n := range 20 {
		if s := SpreadOf(slices.Repeat([]float64{8}, n+1)); *s.Mean != 8 || n > 0 && *s.Deviation != 0 {
			t.Errorf("%d times 8 have the mean %v", n+1, *s.Mean)
		}
	}
	if s := SpreadOf([]float64{0.075, 0.05, 0.05, 0.05}); *s.Mean != 0.05625 {
		t.Errorf("mean %v", *s.Mean)
	}
	s := SpreadOf([]float64{1, 2, 3, 4})
	if *s.Mean != 2.5 || math.Abs(*s.Deviation-1.2909944) > 1e-6 || math.Abs(s.Interval[0]-(2.5-2.0542603)) > 1e-4 || math.Abs(s.Interval[1]-(2.5+2.0542603)) > 1e-4 || *s.Min != 1 || *s.Max != 4 {
		t.Errorf("%+v: %v %v", s, *s.Deviation, *s.Interval)
	}
	if two := SpreadOf([]float64{1, 2}); math.Abs(two.Interval[1]-(1.5+12.7062*math.Sqrt(0.5)/math.Sqrt2)) > 1e-4 {
		t.Errorf("%v", *two.Interval)
	}
}

// Scores end at 0 and 1, and so do the intervals of their means; that of a loss does not.
func TestIntervalsOfScores(t *testing.T) {
	var results []*Result
	for i := range 3 {
		low, high := 0.01*float64(i), 1-0.01*float64(i)
		results = append(results, &Result{Result: runfile.Result{Val: &low, Test: &high, FinalLoss: runfile.Loss(i)}})
	}
	s := SeedsDir("d").Summarise([]uint64{1, 2, 3}, results)
	if s.Val.Interval[0] != 0 || !(s.Val.Interval[1] > *s.Val.Mean) || s.Test.Interval[1] != 1 || !(s.Test.Interval[0] < *s.Test.Mean) || !(s.Loss.Interval[0] < 0) {
		t.Errorf("val %v, test %v, loss %v", *s.Val.Interval, *s.Test.Interval, *s.Loss.Interval)
	}
}

// What a folder says of its runs is read back, and what is no such file ends in one line.
func TestSeedsFile(t *testing.T) {
	d := SeedsDir(t.TempDir())
	cfg := Default()
	cfg.Dataset, cfg.Epochs = "x", 7
	text, err := FormatConfig(&cfg)
	if err != nil || d.HoldsSeeds() || d.Free(false) != nil {
		t.Fatal(err, d.HoldsSeeds())
	}
	if err := d.Write(&Seeds{Seeds: []uint64{4, math.MaxUint64}, Config: string(text)}); err != nil {
		t.Fatal(err)
	}
	what, got, err := d.Read()
	if err != nil || !reflect.DeepEqual(what.Seeds, []uint64{4, math.MaxUint64}) || !reflect.DeepEqual(*got, cfg) || d.Free(false) == nil {
		t.Errorf("%v, %v, %+v", err, what, got)
	}
	for _, bad := range []string{"", "{", `{"seeds":[],"config":""}`, `{"seeds":[1],"config":"nonsense: 1"}`, `{"seeds":[-1]}`} {
		if err := os.WriteFile(d.plan(), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Read(); err == nil || strings.Contains(strings.TrimSpace(err.Error()), "\n") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
