package fit

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// Rates are those of PyTorch's schedulers.
func TestRatesOfPyTorch(t *testing.T) {
	data, err := os.ReadFile("../../testdata/training.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Schedules []struct {
			Kind     Kind
			Epochs   int
			LR       float64
			Warmup   int
			Min      float64
			Every    int
			Factor   float64
			Patience int
			By       string
			Values   []float64
			Rates    []float64
		}
	}
	if err := json.Unmarshal(data, &all); err != nil || len(all.Schedules) < 8 {
		t.Fatalf("%d schedules, %v", len(all.Schedules), err)
	}
	for i, c := range all.Schedules {
		s := Schedule{Kind: c.Kind, Warmup: c.Warmup, Min: c.Min, Every: c.Every, Factor: c.Factor, Patience: c.Patience, ByMetric: c.By == "metric"}
		var p Progress
		for epoch, want := range c.Rates {
			if got := s.Rate(c.LR, epoch, c.Epochs, p); math.Abs(got-want) > 1e-12*c.LR {
				t.Errorf("schedule %d, %s: rate %v in epoch %d, want %v", i, c.Kind, got, epoch, want)
			}
			if c.Values != nil {
				p = s.Watch(p, c.LR, epoch, c.Values[epoch])
			}
		}
	}
}

// A plateau counts values that are no numbers as no better, the first ones too, and begins behind the warm-up.
func TestPlateauWithoutValues(t *testing.T) {
	s := Schedule{Kind: Plateau, Warmup: 2, Factor: 0.5, Patience: 1}
	var p Progress
	for epoch := range 2 {
		if p = s.Watch(p, 1, epoch, 7); p != (Progress{}) {
			t.Errorf("warm-up: %+v", p)
		}
	}
	for epoch, want := range []Progress{{Waited: 1}, {Cuts: 1}, {Seen: true, Best: 3, Cuts: 1}, {Seen: true, Best: 3, Waited: 1, Cuts: 1}, {Seen: true, Best: 3, Cuts: 2}} {
		if p = s.Watch(p, 1, 2+epoch, []float64{math.NaN(), math.NaN(), 3, math.NaN(), 2.9999}[epoch]); p != want {
			t.Errorf("evaluation %d: %+v, want %+v", epoch, p, want)
		}
	}
	if rate := s.Rate(1, 9, 10, p); rate != 0.25 {
		t.Errorf("rate %v behind two cuts", rate)
	}
	low := Schedule{Kind: Plateau, Factor: 0.1, Min: 0.5}
	for range 5 {
		p = low.Watch(p, 1, 0, 9)
	}
	if p.Cuts != 2 || low.Rate(1, 0, 1, p) != 0.5 {
		t.Errorf("%+v, rate %v", p, low.Rate(1, 0, 1, p))
	}
}

// A step that says no interval cuts twice.
func TestStepInThirds(t *testing.T) {
	for _, epochs := range []int{1, 2, 3, 7, 30, 200} {
		s := Schedule{Kind: Step, Factor: 0.1}
		cuts := 0
		for e := 1; e < epochs; e++ {
			if s.Rate(1, e, epochs, Progress{}) < s.Rate(1, e-1, epochs, Progress{}) {
				cuts++
			}
		}
		if want := min(2, epochs-1); cuts != want {
			t.Errorf("%d epochs: %d cuts", epochs, cuts)
		}
	}
}
