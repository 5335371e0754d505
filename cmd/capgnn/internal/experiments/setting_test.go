package experiments

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/bench"
	"capgnn/jaca"
)

// A journal is read again by the names of its cells: what is as by default says nothing, in every version.
func TestSettingID(t *testing.T) {
	base := bench.Cell{"kind": "simulate", "dataset": "d", "devices": "sim:a40", "model": "gcn", "parts": "fitted", "seed": "1"}
	s := setting{Dataset: "d", Devices: "sim:a40", Seed: 1}
	for name, c := range map[string]struct {
		change func(*setting)
		kind   string
		more   bench.Cell
	}{
		"defaults":       {func(*setting) {}, kindSimulate, nil},
		"said defaults":  {func(s *setting) { s.Model, s.Parts, s.Policy, s.Staleness = "gcn", partsFitted, jaca.None, "0" }, kindSimulate, nil},
		"epochs":         {func(s *setting) { s.Epochs, s.EvalEvery = 5, 2 }, kindSimulate, nil}, // are of training
		"trained":        {func(s *setting) { s.Epochs, s.EvalEvery = 5, 2 }, kindTrain, bench.Cell{"kind": "train", "epochs": "5", "eval-every": "2"}},
		"cache":          {func(s *setting) { s.Policy, s.Local = jaca.JACA, "20%" }, kindSimulate, bench.Cell{"cache": "jaca local=20% global=auto"}},
		"no cache, size": {func(s *setting) { s.Local = "20%" }, kindSimulate, nil},
		"level":          {func(s *setting) { s.Comm = "stale" }, kindSimulate, bench.Cell{"comm": "stale"}},
		"layers":         {func(s *setting) { s.Staleness, s.StaleLayers = "4", "wide" }, kindSimulate, bench.Cell{"staleness": "4", "stale-layers": "wide"}},
		"further":        {func(s *setting) { s.More = "layers=2 isolated=chunks=4,correction=node" }, kindSimulate, bench.Cell{"more": "layers=2 isolated=chunks=4,correction=node"}},
		"everything": {func(s *setting) {
			s.Model, s.Parts, s.Staleness, s.Pipeline = "gin", partsEqual, "auto", true
		}, kindSimulate, bench.Cell{"model": "gin", "parts": "equal", "staleness": "auto", "pipeline": "on"}},
	} {
		x, want := s, bench.Cell{}
		c.change(&x)
		for k, v := range base {
			want[k] = v
		}
		for k, v := range c.more {
			want[k] = v
		}
		if got := x.id(c.kind); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func quiet(o Options) (*Bench, *bytes.Buffer) {
	var out bytes.Buffer
	return &Bench{k: &term.Console{Out: &out, Err: &out}, opt: o, noted: map[string]bool{}}, &out
}

func TestGroupsOf(t *testing.T) {
	for _, c := range []struct {
		devices string
		lo, hi  int
		quick   bool
		want    []string // nil: refused
	}{
		{"", 1, 8, false, []string{"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"}}, {"", 2, 5, false, []string{"x2", "x3", "x4", "x5"}},
		{"", 1, 8, true, []string{"x1", "x2", "x4", "x8"}}, {"", 2, 5, true, []string{"x2", "x4", "x5"}}, {"sim:a40", 1, 8, true, []string{"x1"}},
		{"sim:a40,sim:a40,sim:rtx3090", 2, 8, false, []string{"x2", "x3"}}, {"sim:a40,sim:a40,sim:rtx3090", 2, 8, true, []string{"x2", "x3"}},
		{"sim:a40", 2, 8, false, nil}, {"sim:nothing", 1, 2, true, nil},
	} {
		b, _ := quiet(Options{Devices: c.devices, Quick: c.quick})
		list, err := b.groupsOf(c.lo, c.hi)
		if (err == nil) != (c.want != nil) || !slices.Equal(groupNames(list), c.want) {
			t.Errorf("%q, %d to %d: %v, %v, want %v", c.devices, c.lo, c.hi, list, err, c.want)
		}
		for _, g := range list {
			if n := strings.Count(g.devices, "sim:"); g.name[1:] != string(rune('0'+n)) {
				t.Errorf("%s has %d devices", g.name, n)
			}
		}
	}
	b, _ := quiet(Options{Devices: "sim:a40"})
	if _, err := b.groupsOf(2, 4); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "give at least 2") {
		t.Errorf("got %v", err)
	}
}

// How many epochs are trained: as the flag says, else by experiment.
func TestEpochs(t *testing.T) {
	for want, o := range map[int]Options{200: {}, 6: {Quick: true}, 3: {Epochs: 3, Quick: true}} {
		if b, _ := quiet(o); b.epochs(200, 6) != want {
			t.Errorf("%+v: %d, want %d", o, b.epochs(200, 6), want)
		}
	}
}

func TestStandIns(t *testing.T) {
	b, _ := quiet(Options{})
	t.Chdir(t.TempDir())
	for item, want := range map[string]string{"reddit-like": "1", "reddit-like:0.02": "0.02"} {
		if scale, p, err := b.standIn(item); err != nil || p == nil || scale != want {
			t.Errorf("%s: scale %q, %v, %v", item, scale, p, err)
		}
	}
	for _, item := range []string{"reddit-like:", "reddit-like:x", "reddit-like:0", "reddit-like:NaN", "reddit:1", "no-such-set"} {
		if _, _, err := b.standIn(item); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "--datasets "+item) {
			t.Errorf("%s: got %v", item, err)
		}
	}
}

// Each experiment has a name of its own, and wants each of its cells once.
func TestPlans(t *testing.T) {
	names := map[string]bool{}
	for _, e := range All() {
		if names[e.Name] || e.Name == "" || e.Usage == "" {
			t.Errorf("%q: named twice, or says nothing", e.Name)
		}
		names[e.Name] = true
		if e.Name == "peers" {
			continue // which asks for Python
		}
		for _, o := range []Options{{Quick: true, Seeds: []uint64{1}}, {Seeds: []uint64{1, 2}}} {
			b, _ := quiet(o)
			cells, show, err := e.plan(b, []string{"reddit-like:0.02", "d.npz"})
			if err != nil || len(cells) == 0 || show == nil {
				t.Errorf("%s: %d cells, %v", e.Name, len(cells), err)
			}
			seen := map[string]bool{} // cells of data sets, or of devices
			for _, c := range cells {
				if key := c.id.Key(); seen[key] || c.id["kind"] == "" || c.id["dataset"]+c.id["device"] == "" || c.measure == nil {
					t.Errorf("%s: cell %s is there twice, or says too little", e.Name, key)
				}
				seen[c.id.Key()] = true
			}
		}
	}
}

// Numbers that are not there leave their place in a table empty.
func TestShown(t *testing.T) {
	l := newLine()
	l.Values["epoch_s"], l.Values["bytes"], l.Values["hit_rate"] = 0.0123456, 3<<20, 0.125
	for _, c := range [][2]string{
		{milliseconds(l, "epoch_s"), "12.35"}, {mebibytes(l, "bytes"), "3.00"}, {percentOf(l, "hit_rate"), "12.5"},
		{milliseconds(l, "none"), ""}, {mebibytes(l, "none"), ""}, {percentOf(l, "none"), ""}, {milliseconds(nil, "epoch_s"), ""},
		{ratio(1, 4), "0.25"}, {ratio(1, 0), ""}, {ratio(0, 0), ""}, {ratio(math.NaN(), 1), ""},
		{meanOf(nil, "hit_rate"), ""}, {meanOf([]*bench.Line{l, nil}, "hit_rate"), "12.50"}, {meanOf([]*bench.Line{l, l}, "hit_rate"), "12.50 ± 0.00"},
		{shortDataset("/data/a/cora.npz"), "cora"}, {shortDataset(`C:\data\cora.npz`), "cora"}, {shortDataset("reddit-like:0.1"), "reddit-like:0.1"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}

// What times say is as certain as they are: simulated ones, measured ones, and a difference that their spread may explain.
func TestNoisyTimes(t *testing.T) {
	line := func(epochs ...float64) *bench.Line {
		return &bench.Line{Series: map[string][]float64{"epoch_s": epochs}}
	}
	quick, slow, mixed := line(9, 1, 1.1, 1.2, 1.3), line(9, 2, 2.1, 2.2, 2.3), line(9, 1, 1.2, 2.1, 2.2)
	for _, c := range []struct {
		a, b *bench.Line
		want string
	}{{quick, slow, "3.0"}, {slow, quick, "3.0"}, {quick, mixed, "3.0 ?"}, {mixed, slow, "3.0 ?"}, {quick, line(1), "3.0 ?"}, {quick, quick, "3.0 ?"}} {
		if got := doubtful("3.0", c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %s, want %s", c.a.Series, c.b.Series, got, c.want)
		}
	}
	if timesText(fours) != simulatedText || strings.Contains(timesText("cpu:0,threads=1"), "simulated") {
		t.Error("measured times are called simulated")
	}
}

// The page of the results says where they come from, and what is not known is left out.
func TestFacts(t *testing.T) {
	r := EnvironmentRun{Command: []string{"capgnn", "bench", "all", "--out", "a b"}, CPU: "Z80", Cores: 1}
	text := map[string]string{}
	for _, f := range r.facts() {
		text[f.Name] = f.Text
	}
	if text["command"] != "capgnn bench all --out 'a b'" || text["processor"] != "Z80, 1 core used" || len(text) != 3 {
		t.Errorf("%v", text)
	}
	r.Memory, r.GPUs, r.Driver, r.Kernel = 1<<30, []string{"A", "B"}, "1.2", "6.1"
	if all := r.facts(); len(all) != 7 || all[3].Text != term.Size(int64(1<<30)) || all[5].Text != "B, driver 1.2" || !strings.HasSuffix(all[6].Text, " 6.1") {
		t.Errorf("%v", all)
	}
}

// What does not fit the devices is a line that says so; other faults end the experiment.
func TestBegin(t *testing.T) {
	b, _ := quiet(Options{})
	for _, s := range []setting{{Dataset: "no-such-set", Devices: "cpu:0", Seed: 1}, {Dataset: "reddit-like:x", Devices: "cpu:0", Seed: 1}} {
		if run, l, err := b.begin(t.Context(), s); run != nil || l != nil || term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%s: %v, %v, %v", s.Dataset, run, l, err)
		}
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s := setting{Dataset: "flickr-like:0.01", Devices: "sim:rtx3090,mem=64KiB,sim:rtx3090,mem=64KiB", Seed: 1, Parts: partsFitted}
	run, l, err := b.begin(t.Context(), s)
	if err != nil || run != nil || !strings.Contains(l.Text["misfit"], "the device can give") {
		t.Errorf("%v, %+v, %v", run, l, err)
	}
	s.Devices = "cpu:0"
	if run, l, err = b.begin(t.Context(), s); err != nil || run == nil || l.Text["misfit"] != "" || run.Config.Order != runfolder.OrderNone {
		t.Errorf("%v, %+v, %v", run, l, err)
	}
	if err := b.forget(); err != nil {
		t.Error(err)
	}
}

// Columns of meters are in a table of ranks where every run has them; an energy of which a term is missing is not there.
func TestMetersOfRankedRuns(t *testing.T) {
	f := func(x float64) *float64 { return &x }
	l := newLine()
	addMeters(l, []gpu.Metered{{Device: "cuda:0", Seconds: 1, Joules: f(30), Busy: f(0.5)}, {Rank: 1, Device: "cuda:0", Seconds: 1, Joules: f(10), Busy: f(0.7)}, {Device: "package-0", Seconds: 1, Joules: f(8)}, {Rank: 1, Device: "package-0", Seconds: 1}}, 4)
	if l.Value("GPUs, J") != 10 || l.Value("GPUs busy, %") != 60 || l.Has("processors, J") {
		t.Errorf("%v", l.Values)
	}
	l = newLine()
	if addMeters(l, nil, 4); len(l.Values) != 0 {
		t.Errorf("without meters: %v", l.Values)
	}
}
