package minibatch

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// A loss that is no number ends the run and names the first step that had it.
func TestDiverges(t *testing.T) {
	p, m := task{}.make(t, named.GIN)
	p.Graph = &graph.CSR{Cols: p.Vertices(), Indptr: make([]int64, p.Vertices()+1)} // so that a vertex is read in its own step alone
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	bad := newRoots(p, &o).of(3, 1, 0, nil)[2]
	p.Features.Dense[int(bad)*m.In] = float32(math.Inf(1))
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	_, err = tr.Run(t.Context())
	if e := new(Diverged); !errors.As(err, &e) || e.Epoch != 0 || e.Step != 3 {
		t.Error(err)
	}
}

// Losses are looked at behind some time, however many steps are left, and when they are changes neither bits nor counts.
func TestLossesAreLookedAtInTime(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	o.EvalEvery, o.CheckpointDir, o.CheckpointSteps = 1, t.TempDir(), 2
	want := trained(t, p, o)
	last := 0
	run := func(poison bool) (*Result, error) {
		q := *p
		if q.Features.Dense = slices.Clone(p.Features.Dense); poison {
			q.Features.Dense[int(newRoots(p, &o).of(0, 1, 0, nil)[0])*m.In] = float32(math.NaN())
		}
		tr, err := New(t.Context(), &q, o)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		tr.looks = 0
		tr.o.OnStep = func(p Progress) { last = max(last, p.Step) }
		return tr.Run(t.Context())
	}
	if got, err := run(false); err != nil || got.WeightsSHA != want.WeightsSHA || got.Edges != want.Edges || got.FinalLoss != want.FinalLoss || last != o.steps(p) {
		t.Errorf("looked at behind every step: %v, equal bits %t, the last step is %d", err, err == nil && got.WeightsSHA == want.WeightsSHA, last)
	}
	last = 0
	if _, err := run(true); !errors.As(err, new(*Diverged)) || last != 1 {
		t.Errorf("%v behind %d steps, want 1", err, last)
	}
}

// steps returns how many steps an epoch has.
func (o *Options) steps(p *learn.Problem) int { return newRoots(p, o).steps }

// Epochs of more steps than parts run without a stop: progress counts all of them, a checkpoint inside goes on to equal bits.
func TestLongEpochs(t *testing.T) {
	p, m := task{vertices: 800}.make(t, named.SAGE)
	m.Hidden = 4
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	o.Sampling.BatchSize, o.Epochs = 1, 2
	o.Sampling.Fanout = []int{2, 2, 2}
	var seen []Progress
	o.OnStep = func(p Progress) { seen = append(seen, p) }
	want := trained(t, p, o)
	if want.Steps <= 2*longest || len(seen) != want.Steps {
		t.Fatalf("%d steps, %d seen", want.Steps, len(seen))
	}
	for i, s := range seen {
		if s.Epoch*s.Steps+s.Step != i+1 || s.Since != 0 || s.Elapsed <= 0 || s.Step > 1 && s.Edges < seen[i-1].Edges {
			t.Fatalf("step %d: %+v", i+1, s)
		}
	}
	o.OnStep, o.CheckpointDir, o.Resume, o.CheckpointSteps = nil, t.TempDir(), true, 100
	at := want.Steps / 4 * 3
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	interrupted(t, tr, &o, &at)
	tr.Close()
	if got := trained(t, p, o); got.WeightsSHA != want.WeightsSHA || got.Steps != want.Steps {
		t.Errorf("resumed: %d steps, want %d; equal bits %t", got.Steps, want.Steps, got.WeightsSHA == want.WeightsSHA)
	}
}

// Rows that are gathered as bfloat16 train to about the same loss.
func TestBF16(t *testing.T) {
	for _, kind := range []named.Kind{named.GCN, named.SAGE, named.GIN} {
		p, m := task{}.make(t, kind)
		o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
		want := trained(t, p, o).FinalLoss
		o.Storage, o.EvalEvery = gpu.BF16, 1
		got := trained(t, p, o)
		if got.FinalLoss == want || math.Abs(got.FinalLoss-want) > 0.02*want || got.Last.Val == nil {
			t.Errorf("%s: loss %v, want about %v", kind, got.FinalLoss, want)
		}
	}
}

// Numbers of steps that samples cannot be numbered by are refused, and everything that is wrong is said at once.
func TestBadOptions(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	good := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	for want, edit := range map[string]func(o *Options){
		"batch size 0: want at least 1":                func(o *Options) { o.Sampling.BatchSize = 0 },
		"2 fan-outs for 3 layers":                      func(o *Options) { o.Sampling.Fanout = []int{2, 2} },
		"fan-out 0 of hop 2":                           func(o *Options) { o.Sampling.Fanout = []int{2, 0, 2} },
		"no device":                                    func(o *Options) { o.Devices = nil },
		"no part entries for 2 devices":                func(o *Options) { o.Part = nil },
		"vertex 3: part 7 is outside [0, 2)":           func(o *Options) { o.Part = slices.Clone(o.Part); o.Part[3] = 7 },
		"share NaN":                                    func(o *Options) { o.Shares = []float64{1, math.NaN()} },
		"2 shares of a step's roots, of sum 0":         func(o *Options) { o.Shares = []float64{0, 0} },
		"parts with local roots take their own":        func(o *Options) { o.Shares, o.Sampling.Local = []float64{1, 1}, true },
		"choose a larger batch size or fewer epochs":   func(o *Options) { o.Epochs, o.Sampling.BatchSize = 1<<31, 1 },
		"checkpoint interval must not be negative":     func(o *Options) { o.CheckpointSteps = -1 },
		"steps sampled ahead and samplers must not be": func(o *Options) { o.Sampling.Samplers = -1 },
	} {
		o := good
		edit(&o)
		tr, err := New(t.Context(), p, o)
		if err == nil {
			tr.Close()
		}
		if err == nil || !contains(err, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }

// files records how mapped features are said to be read.
type files struct{ said []bool }

func (f *files) Rest()          {}
func (f *files) ByRows(on bool) { f.said = append(f.said, on) }

// Steps read features by rows, evaluations in order.
func TestReadsByRows(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	o.Epochs, o.EvalEvery = 2, 1
	f := new(files)
	p.Files = f
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if len(f.said) > 0 {
		t.Errorf("before the first step: %v", f.said)
	}
	var atSteps []bool
	tr.o.OnStep = func(Progress) { atSteps = append(atSteps, f.said[len(f.said)-1]) }
	if _, err := tr.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, false, true, false}; !slices.Equal(f.said, want) || len(atSteps) == 0 || slices.Contains(atSteps, false) {
		t.Errorf("said %v, at steps %v, want %v", f.said, atSteps, want)
	}
}
