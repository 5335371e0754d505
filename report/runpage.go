package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"capgnn/internal/number"
)

// colourCount is the number of colours of curves; more curves repeat them dashed.
const colourCount = 8

// runPage is what the template "run" draws.
type runPage struct {
	Name, Subtitle     string
	Badges             []string
	Cards              []card
	Sections           []section
	Facts              []Fact
	Changed, Unchanged []Setting
	Recorded           []Setting
	Repeat             []Step
}

// WriteRun writes the page of one run.
func WriteRun(w io.Writer, r Run) error {
	p := runPage{Name: r.title(), Subtitle: r.subtitle(), Badges: r.badges(), Cards: r.cards(), Facts: r.facts(), Repeat: r.Repeat}
	for _, s := range r.Settings {
		switch {
		case s.Recorded && s.Value != "":
			p.Recorded = append(p.Recorded, s)
		case s.Recorded:
		case s.Value == s.Default:
			p.Unchanged = append(p.Unchanged, s)
		default:
			p.Changed = append(p.Changed, s)
		}
	}
	add := func(s section, ok bool) {
		if ok {
			p.Sections = append(p.Sections, s)
		}
	}
	add(sectionOf("Learning", "", r.lossChart(), r.scoreChart(), r.rateChart(), r.normChart()))
	add(r.classSection())
	add(r.componentSection())
	add(sectionOf("Time", "", r.phaseBars(), r.epochTimeChart(), r.phaseChart()))
	add(r.traceSection())
	add(r.sampledSection())
	add(r.isolatedSection())
	add(sectionOf("Traffic and memory", "", r.bytesChart(), r.memoryBars(), r.gradientsChart(), r.refreshChart()))
	add(r.energySection())
	add(sectionOf("Caches", "", r.coverageChart(), r.lookupChart(), r.cacheFacts()))
	add(sectionOf("Staleness", "", r.stalenessChart(), r.stalenessFacts()))
	add(r.rankSection())
	add(r.partSection())
	add(r.dataSection())
	add(r.programSection())
	return writePage(w, "capgnn: "+r.title(), "run", p)
}

func (r *Run) subtitle() string {
	if r.Result == nil {
		return fmt.Sprintf("%s · %s · %s", r.setting("dataset"), r.setting("model"), r.devices())
	}
	parts := "1 part"
	if r.Result.Parts != 1 {
		parts = fmt.Sprintf("%d parts", r.Result.Parts)
	}
	return fmt.Sprintf("%s · %s · %s on %s", r.Result.Dataset, r.Result.Model, parts, r.devices())
}

func (r *Run) badges() []string {
	var b []string
	if r.Result == nil {
		b = append(b, fmt.Sprintf("not finished: %d of %d epochs", len(r.Epochs), r.Planned))
	}
	if r.Result != nil && r.Result.Simulated {
		b = append(b, "simulated time")
	}
	return b
}

// cards returns the numbers that stand out.
func (r *Run) cards() []card {
	var cards []card
	if s := r.Result; s != nil {
		note, best := "of the weights before training", "of the weights before training"
		if s.BestEpoch != nil {
			best = "the best of the run"
			note = fmt.Sprintf("at epoch %d, at the end %s", *s.BestEpoch, written(score, or(s.TestLast)))
		}
		if s.Test != nil {
			cards = append(cards, card{"test " + r.metric(), written(score, *s.Test), note})
		}
		if s.Val != nil {
			cards = append(cards, card{"validation " + r.metric(), written(score, *s.Val), best})
		}
	}
	if n := len(r.Epochs); n > 0 {
		times := r.series("", func(e *Epoch) float64 { return e.EpochS }).Y
		total, evals := 0.0, 0.0
		for i := range r.Epochs {
			total += r.Epochs[i].EpochS
			evals += r.Epochs[i].EvalS
		}
		beside := "and " + written(seconds, evals) + " of evaluation"
		switch {
		case r.Result != nil && r.Result.Simulated:
			beside = "simulated, without evaluation"
		case evals == 0:
			beside = "nothing was evaluated"
		}
		cards = append(cards,
			card{"training loss", written(plain, float64(r.Epochs[n-1].Loss)), fmt.Sprintf("of epoch %d", r.Epochs[n-1].Epoch)},
			card{"time of an epoch", written(seconds, median(times)), "median"},
			card{"all epochs", written(seconds, total), beside})
		if r.sampled() {
			cards = append(cards, card{"sampled edges", number.Rate(r.meanOf(func(e *Epoch) float64 { return e.EdgesPerS })/1e6, "M"), "in a mean epoch"})
		}
		cards = append(cards,
			card{"traffic", written(amount, r.meanBytes()), "a mean epoch"})
	}
	if s := r.Result; s != nil {
		if len(s.PeakBytes.Devices) > 0 {
			cards = append(cards, card{"device memory", written(amount, float64(slices.Max(s.PeakBytes.Devices))), "the largest; host " + written(amount, float64(s.PeakBytes.Host))})
		}
		if s.Parts > 1 && r.sampled() {
			cards = append(cards, card{"rows fetched", written(count, r.meanOf(brought)), "of other parts, in a mean epoch"})
		} else if s.Parts > 1 {
			cards = append(cards, card{"halo rows", written(count, float64(s.HaloRows)), "read from other parts"})
		}
		if c := &s.Cache; c.Coverage > 0 {
			note := "lookups whose row has a slot"
			if found := hits(c, c.LocalHits+c.GlobalHits); found >= 0 {
				note = written(share, found) + " of the lookups were hits"
			}
			cards = append(cards, card{"coverage", written(share, c.Coverage), note})
		}
	}
	return cards
}

// meanBytes returns the bytes of all routes in a mean epoch.
func (r *Run) meanBytes() float64 {
	sum := 0.0
	for i := range r.Epochs {
		sum += moved(&r.Epochs[i])
	}
	return sum / float64(len(r.Epochs))
}

// median returns the middle of x, the mean of the middle two; NaN where there is nothing.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// facts returns the small print of the run.
func (r *Run) facts() []Fact {
	f := []Fact{{"run folder", r.Name}}
	s := r.Result
	if s == nil {
		return f
	}
	f = append(f, Fact{"epochs", fmt.Sprint(s.Epochs)}, Fact{"seed", fmt.Sprint(s.Seed)},
		Fact{"order of the vertices", s.Order}, Fact{"rows stored as", s.Storage})
	if len(s.Classes) > 0 {
		f = append(f, Fact{"classes", strings.Join(s.Classes, ", ")})
	}
	f = append(f, Fact{"before the first epoch", written(seconds, s.TimeS.Start)}, Fact{"weights", "sha256 " + s.SHA256})
	if b := s.Build; b.Go != "" {
		commit := b.Commit
		if commit == "" {
			commit = "unknown"
		}
		if b.Modified {
			commit += ", changed"
		}
		f = append(f, Fact{"program", fmt.Sprintf("capgnn %s, commit %s, %s, %s/%s", b.Version, commit, b.Go, b.OS, b.Arch)})
	}
	return f
}
