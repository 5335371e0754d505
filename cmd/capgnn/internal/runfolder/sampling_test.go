package runfolder

import (
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/jaca"
	"capgnn/minibatch"
	"capgnn/minibatch/rowcache"
)

// sampledBy returns settings with the given options.
func sampledBy(options ...string) Config {
	c := SampledDefault()
	c.Dataset, c.BatchSize = "cora", 1024
	for i := 0; i < len(options); i += 2 {
		at := slices.IndexFunc(Options, func(o Option) bool { return o.Name == options[i] })
		if err := Options[at].Set(&c, options[i+1]); err != nil {
			panic(err)
		}
	}
	return c
}

func TestSampledSettings(t *testing.T) {
	for _, tc := range []struct {
		want    string // "" = valid
		options []string
	}{
		{"", nil},
		{"", []string{"fanout", "15,10,all", "sampling", "distdgl"}},
		{"", []string{"fanout", " 15, 10,1000 ", "sampling", "distdgl,roots=global,place=batch,fetch=demand,prefetch=64"}},
		{"", []string{"checkpoint-every", "500steps"}},
		{"", []string{"batch-size", "0", "sampling", "default"}},
		{"--fanout 15,10: 2 fan-outs for 3 layers: give one for each layer", []string{"fanout", "15,10"}},
		{"--fanout eval=15,10: 2 fan-outs for 3 layers: give one for each layer", []string{"fanout.eval", "15,10"}},
		{"--fanout 3,2,2: 3 fan-outs for 6 neighbour sums: give one for each neighbour sum", []string{"model", "mixhop", "fanout", "3,2,2"}},
		{`--fanout eval: "0" is not`, []string{"fanout.eval", "15,10,0"}},
		{"--fanout eval=5,5,all: for sampled training only", []string{"batch-size", "0", "sampling", "default", "fanout.eval", "5,5,all"}},
		{`--fanout: "0" is not a number of neighbours from 1 on, or all`, []string{"fanout", "15,10,0"}},
		{`--fanout: "-1" is not`, []string{"fanout", "15,10,-1"}},
		{`--fanout: "x" is not`, []string{"fanout", "15,x,5"}},
		{`--fanout: "" is not`, []string{"fanout", "15,10,"}},
		{`--fanout: "1.5" is not`, []string{"fanout", "15,10,1.5"}},
		{`--fanout: "2147483647" is not`, []string{"fanout", "15,10,2147483647"}},
		{"--batch-size -1 is not in [0,", []string{"batch-size", "-1"}},
		{"--fanout 15,10,5: for sampled training only: add --batch-size", []string{"batch-size", "0", "sampling", "default", "fanout", "15,10,5"}},
		{"--sampling distdgl: for sampled training only", []string{"batch-size", "0", "sampling", "distdgl"}},
		{"--checkpoint-every 500steps: for sampled training only", []string{"batch-size", "0", "sampling", "default", "checkpoint-every", "500steps"}},
		{"--checkpoint-every -500 is not in", []string{"checkpoint-every", "-500steps"}},
		{"drop --staleness 2: for full-batch training only, not with --batch-size 1024", []string{"staleness", "2"}},
		{"--cache paper", []string{"cache", "paper"}},
		{"--prune max=0.25 --halo-dtype bf16", []string{"halo-dtype", "bf16", "prune.max", "0.25"}},
		{"--order community", []string{"order", "community"}},
		{"", []string{"order", "none"}},
		{"drop --cost move=off: for", []string{"cost.move", "off"}},
		{`--sampling: "distdlg" (did you mean distdgl?) is not one of default, distdgl, rapidgnn, massivegnn, hopgnn`, []string{"sampling", "distdlg"}},
		{`--sampling: "hop" (did you mean hopgnn?) is not one of`, []string{"sampling", "hop"}},
		{`--sampling: "" is not one of`, []string{"sampling", ""}},
		{`--sampling: "root" (did you mean roots?) is not one of its keys: roots, place, merge, gather, fetch, lookahead, pull, f, gamma, delta, cache, prefetch`, []string{"sampling", "default,root=local"}},
		{`--sampling: roots=here is not global or local`, []string{"sampling", "default,roots=here"}},
		{`--sampling: place=hom is not batch, home or hop`, []string{"sampling", "default,place=hom"}},
		{`--sampling: place is not a KEY=VALUE: say place=`, []string{"sampling", "default,place"}},
		{`--sampling: fetch=plan is not demand, planned, rapid, massive or auto`, []string{"sampling", "default,fetch=plan"}},
		{`--sampling: "lookahed" (did you mean lookahead?) is not one of its keys`, []string{"sampling", "default,lookahed=3"}},
		{`--sampling: lookahead=0 is not a number of steps from 1 to 1048576, or all`, []string{"sampling", "default,lookahead=0"}},
		{`--sampling: lookahead=1048577 is not`, []string{"sampling", "default,lookahead=1048577"}},
		{`--sampling: lookahead=some is not`, []string{"sampling", "default,lookahead=some"}},
		{`--sampling: lookahead=9 is for fetch=planned only: drop it`, []string{"sampling", "rapidgnn,lookahead=9"}},
		{`--sampling: lookahead=all is for fetch=planned only`, []string{"sampling", "default,lookahead=all,fetch=demand"}},
		{`--sampling: pull=yes is not off or on`, []string{"sampling", "rapidgnn,pull=yes"}},
		{`--sampling: pull=on is for fetch=rapid only`, []string{"sampling", "default,pull=on"}},
		{`--sampling: f=0 is not a number above 0, at most 1`, []string{"sampling", "massivegnn,f=0"}},
		{`--sampling: f=25% is not a number`, []string{"sampling", "massivegnn,f=25%"}},
		{`--sampling: f=NaN is not a number`, []string{"sampling", "massivegnn,f=NaN"}},
		{`--sampling: f=0.5 is for fetch=massive only`, []string{"sampling", "distdgl,f=0.5"}},
		{`--sampling: gamma=1.5 is not a number above 0, at most 1`, []string{"sampling", "massivegnn,gamma=1.5"}},
		{`--sampling: gamma=-0.5 is not`, []string{"sampling", "massivegnn,gamma=-0.5"}},
		{`--sampling: gamma=0.9 is for fetch=massive only`, []string{"sampling", "rapidgnn,gamma=0.9"}},
		{`--sampling: delta=0 is not a number of steps from 1 to 1048576`, []string{"sampling", "massivegnn,delta=0"}},
		{`--sampling: delta=all is not a number of steps`, []string{"sampling", "massivegnn,delta=all"}},
		{`--sampling: delta=8 is for fetch=massive only`, []string{"sampling", "hopgnn,delta=8"}},
		{`--sampling: merge=maybe is not off, on or measured`, []string{"sampling", "hopgnn,merge=maybe"}},
		{`--sampling: merge=off is for place=hop only: drop it`, []string{"sampling", "default,merge=off"}},
		{`--sampling: gather=off is for place=hop only`, []string{"sampling", "hopgnn,gather=off,place=home"}},
		{`--sampling: cache=many is not a size: rows (20000), a share of the rows of other parts that an epoch reads (15%), memory (2GiB) or auto`, []string{"sampling", "default,cache=many"}},
		{`--sampling: cache=120% is not a size`, []string{"sampling", "default,cache=120%"}},
		{`--sampling: cache=-5 is not a size`, []string{"sampling", "default,cache=-5"}},
		{`--sampling: cache= is not a size`, []string{"sampling", "default,cache="}},
		{`--sampling: cache=1.5 is not a size`, []string{"sampling", "default,cache=1.5"}},
		{`--sampling: cache=15% is for fetch=planned, rapid, massive or auto only: drop it`, []string{"sampling", "distdgl,cache=15%"}},
		{"--sampling default,cache=15%: for sampled training only", []string{"batch-size", "0", "sampling", "default,cache=15%"}},
		{`merged: "x" is not a number of time steps`, []string{"merged", "x"}},
		{"", []string{"merged", "2"}},
		{"", []string{"sampling", "default,cache=15%"}},
		{"", []string{"cache.gpu", "15%"}},
		{`--cache gpu: "120%" is not a cache size`, []string{"cache.gpu", "120%"}},
		{"drop --cache cpu=15%: for full-batch training only", []string{"cache.gpu", "15%", "cache.cpu", "15%"}},
		{"", []string{"sampling", "massivegnn,cache=0"}},
		{"", []string{"sampling", "distdgl,fetch=planned,lookahead=all,cache=2GiB"}},
		{"", []string{"sampling", "distdgl,lookahead=5,fetch=planned"}},
		{"", []string{"sampling", "hopgnn,merge=off,gather=off,fetch=planned"}},
		{`--sampling: prefetch=0 is not a number of steps from 1 to 64`, []string{"sampling", "default,prefetch=0"}},
		{`--sampling: roots stands there twice`, []string{"sampling", "default,roots=local,roots=global"}},
		{`--sampling: "" is not a KEY=VALUE, such as roots=local`, []string{"sampling", "default,"}},
	} {
		c := sampledBy(tc.options...)
		err := c.Validate()
		if tc.want == "" && err != nil || tc.want != "" && (term.ExitCode(err) != term.ExitUsage || !strings.Contains(term.OneLine(err), tc.want)) {
			t.Errorf("%v: got %v, want %q", tc.options, err, tc.want)
		}
	}
}

func TestSpelledSamplingReadsBack(t *testing.T) {
	for _, text := range []string{"default", "distdgl", "distdgl,prefetch=7", "default,roots=local", "default,place=batch", "distdgl,place=home", "rapidgnn", "rapidgnn,pull=off", "massivegnn,f=0.15,gamma=0.9995,delta=512",
		"hopgnn,merge=off", "hopgnn,gather=off,fetch=planned,lookahead=all", "default,fetch=auto,cache=7%", "default,fetch=massive,cache=1.5kB"} {
		s, err := parseSampling(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseSampling(s.String()); err != nil || again != s {
			t.Errorf("%s: %s reads as %v, %v", text, s, again, err)
		}
	}
}

// How many rows GPUs keep decides no bits of a run on samples: one that is resumed with another size is the same run. Older ones have the default in their identity.
func TestGPUCacheOfSampledRuns(t *testing.T) {
	o := Options[slices.IndexFunc(Options, func(o Option) bool { return o.Name == gpuCache })]
	few, none := sampledBy("cache.gpu", "15%"), sampledBy()
	if few.ResidentSize() != (minibatch.CacheSize{Unit: minibatch.CacheShare, N: 0.15}) || none.ResidentSize() != (minibatch.CacheSize{}) {
		t.Errorf("15%% is %v, the default %v", few.ResidentSize(), none.ResidentSize())
	}
	for _, c := range []*Config{&few, &none} {
		if _, decides := o.Identity(c); decides {
			t.Errorf("%s decides what a run is", c.GPUCache)
		}
	}
	few.Set("batch-size", "0")
	if value, _ := o.Identity(&few); value != "15%" {
		t.Errorf("full batch: %v", value)
	}
}

// Identity has what decides bits alone.
func TestIdentityOfSampling(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"default", "roots=global,place=home"},
		{"default,prefetch=9", "roots=global,place=home"},
		{"default,roots=local", "roots=local,place=home"},
		{"default,place=batch", "roots=global,place=batch"},
		{"distdgl", "roots=local,place=batch"},
		{"rapidgnn,pull=off", "roots=local,place=batch"},
		{"default,fetch=massive,delta=5", "roots=global,place=home"},
		{"hopgnn", "roots=global,place=hop,merge=on"},
		{"hopgnn,gather=off,fetch=planned", "roots=global,place=hop,merge=on"},
		{"hopgnn,merge=off", "roots=global,place=hop,merge=off"},
	} {
		s, err := parseSampling(tc.text)
		if got := s.Identity(); err != nil || got != tc.want {
			t.Errorf("%s: got %s, %v, want %s", tc.text, got, err, tc.want)
		}
	}
}

func TestSettledSampling(t *testing.T) {
	type device struct{ gpu.Device } // without links
	near, far := []gpu.Device{device{}, device{}}, []gpu.Device{device{}, nil}
	for _, tc := range []struct {
		want    rowcache.Kind
		devices []gpu.Device
		options []string
	}{
		{rowcache.Demand, near, nil},
		{rowcache.Planned, far, nil},
		{rowcache.Demand, far, []string{"sampling", "distdgl"}},
		{rowcache.Planned, near, []string{"sampling", "default,cache=15%"}},
		{rowcache.Demand, near[:1], []string{"sampling", "default,cache=15%"}},
		{rowcache.Demand, near, []string{"sampling", "distdgl"}},
		{rowcache.Massive, near, []string{"sampling", "default,fetch=massive"}},
		{rowcache.Rapid, near, []string{"sampling", "rapidgnn"}},
	} {
		c := sampledBy(tc.options...)
		if s := c.SettledSampling(tc.devices); s.Fetch.Kind != tc.want || s.AutoFetch {
			t.Errorf("%v on %d devices: %v, want %v", tc.options, len(tc.devices), s.Fetch.Kind, tc.want)
		}
	}
	c := sampledBy("sampling", "rapidgnn")
	if got := c.RowCacheSize(); got != (minibatch.CacheSize{Unit: minibatch.CacheShare, N: 0.15}) {
		t.Errorf("rapidgnn's cache is %v", got)
	}
	for sampling, want := range map[string]float64{"rapidgnn": 9, "default": 9} {
		if c := sampledBy("sampling", sampling+",cache=9"); c.RowCacheSize().N != want {
			t.Errorf("%s: a cache of %v", sampling, c.RowCacheSize())
		}
	}
}

func TestCacheSize(t *testing.T) {
	for text, want := range map[string]minibatch.CacheSize{
		"auto": {}, "0": {Unit: minibatch.CacheRows}, "20000": {Unit: minibatch.CacheRows, N: 20000}, "15%": {Unit: minibatch.CacheShare, N: 0.15},
		"100%": {Unit: minibatch.CacheShare, N: 1}, "2GiB": {Unit: minibatch.CacheBytes, N: 2 << 30}, "1.5kB": {Unit: minibatch.CacheBytes, N: 1500},
	} {
		if read, err := jaca.ParseSize(text); err != nil || cacheSize(read) != want {
			t.Errorf("%s: got %v, %v, want %v", text, cacheSize(read), err, want)
		}
	}
}

func TestSettleFanout(t *testing.T) {
	for _, tc := range []struct {
		want    string
		sparse  bool
		options []string
	}{
		{"15,10,all", false, nil},
		{"15,10,5", true, nil},
		{"15,10,5", false, []string{"drop-features", "true"}},
		{"15,10,5", false, []string{"model", "gat"}},
		{"all", false, []string{"layers", "1"}},
		{"15,all", false, []string{"layers", "2"}},
		{"15,10", false, []string{"layers", "2", "model", "gat"}},
		{"15,10,5,5,all", false, []string{"layers", "5"}},
		{"7,6,5", false, []string{"fanout", "7,6,5"}},
		{"", false, []string{"batch-size", "0"}},
	} {
		c := sampledBy(tc.options...)
		if c.SettleFanout(tc.sparse); c.Fanout.String() != tc.want {
			t.Errorf("%v, sparse %t: got %s, want %s", tc.options, tc.sparse, c.Fanout, tc.want)
		}
	}
}

// A config file of a full-batch run says nothing of sampling, so that it is the file it was; a sampled run's says all of it.
func TestConfigFileOfSampledRun(t *testing.T) {
	full := Default()
	for _, c := range []struct {
		config Config
		says   bool
	}{{full, false}, {sampledBy("sampling", "distdgl", "checkpoint-every", "500steps"), true}} {
		data, err := FormatConfig(&c.config)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"batch-size: 1024\n", "sampling: distdgl\n", "checkpoint-every: 500steps\n", "fanout: \"\"\n"} {
			if strings.Contains(string(data), line) != c.says {
				t.Errorf("%q is there: %t, want %t, in\n%s", line, !c.says, c.says, data)
			}
		}
		if !c.says && !strings.Contains(string(data), "checkpoint-every: 10\n") {
			t.Errorf("no checkpoint-every: 10 in\n%s", data)
		}
	}
}

func TestForgetMode(t *testing.T) {
	c := sampledBy("fanout", "7,6,5", "sampling", "distdgl")
	c.PlanKey, c.Order = "abc", OrderNone
	c.BatchSize = 0
	Forget(&c, []string{"batch-size"})
	if c.PlanKey != "" || c.Order != OrderAuto || c.Validate() != nil {
		t.Errorf("a full-batch run after a sampled one: %v, plan %q, order %s", c.Validate(), c.PlanKey, c.Order)
	}
	c = Default()
	c.Dataset, c.Order, c.PlanKey, c.BatchSize = "cora", OrderCommunity, "abc", 512
	Forget(&c, []string{"batch-size"})
	if err := c.Validate(); err != nil || c.PlanKey != "" {
		t.Errorf("a sampled run after a full-batch one: %v, plan %q", err, c.PlanKey)
	}
}
