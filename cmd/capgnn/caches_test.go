package main

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// cached are the flags of a run that keeps rows and reads old ones.
func cached(more ...string) []string {
	return append([]string{"--dataset", "ok.npz", "--hidden", "16", "--epochs", "12", "--layers", "4", "--devices", "cpu:0,cpu:1", "--partitioner", "random",
		"--staleness", "3"}, more...)
}

// Sizes and links that a run has decided stand in its config.yaml and hold for who repeats or resumes it.
func TestCachesAreRecorded(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	var cfg runfolder.Config
	read := func(dir string) {
		t.Helper()
		cfg = runfolder.Default()
		if err := runfolder.ReadConfig(s.path(dir+"/config.yaml"), &cfg); err != nil {
			t.Fatal(err)
		}
	}
	first := s.train(cached("--run-dir", "a", "--cache", "gpu=50%,cpu=30%")...)
	read("a")
	slots := cfg.CacheSlots.Value
	if len(slots) != 3 || slots[0] == 0 || slots[2] == 0 || cfg.CacheLinks.String() != runfolder.LinksEqual {
		t.Fatalf("slots %q, links %q", cfg.CacheSlots, cfg.CacheLinks)
	}
	if r := s.train("--config", "a/config.yaml"); r.SHA256 != first.SHA256 {
		t.Error("the config file gives other weights")
	}
	if r := s.train("--config", "a/config.yaml", "--cache", "gpu=0,cpu=0", "--run-dir", "b"); r.SHA256 == first.SHA256 {
		t.Error("without caches the weights are the same")
	}
	if read("b"); cfg.CacheSlots.String() != "0,0,0" {
		t.Errorf("slots of another size are %q", cfg.CacheSlots)
	}
	text, err := runfolder.FormatConfig(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	for want, old := range map[string]string{"cache-slots": `cache-slots: 0,0,0`, "cache-links": `cache-links: equal`} {
		bad := strings.Replace(string(text), old, want+": 1:1,x", 1)
		if err := term.WriteFile(s.path("bad.yaml"), []byte(bad)); err != nil {
			t.Fatal(err)
		}
		s.fails(term.ExitUsage, []string{want}, "train", "--quiet", "--config", "bad.yaml")
	}
}

// At staleness 0 caches, the pipeline and the way that rows take change no bit.
func TestCachesChangeNothingAtStalenessZero(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := func(more ...string) []string {
		return cached(append([]string{"--staleness", "0", "--parts", "3"}, more...)...)
	}
	want := s.train(args("--cache", "none")...).SHA256
	for _, more := range [][]string{{}, {"--cache", "paper,gpu=20%"}, {"--staleness", "pipeline=off"}, {"--peer", "off"}, {"--peer", "off", "--cache", "paper,cpu=5"}} {
		if got := s.train(args(more...)...).SHA256; got != want {
			t.Errorf("%v: weights %s, without caches %s", more, got, want)
		}
	}
}

func TestCacheOfADeviceThatIsTooSmall(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	small := "cpu:0,mem=100KiB,cpu:1,mem=100KiB"
	s.fails(term.ExitDoesNotFit, []string{"local cache of part 0", "--cache gpu="}, append([]string{"train", "--quiet"}, cached("--devices", small, "--cache", "reserve-gpu=99KiB,gpu=100%")...)...)
	s.train(cached("--devices", small, "--cache", "reserve-gpu=99KiB", "--run-dir", "auto")...)
	cfg := runfolder.Default()
	if err := runfolder.ReadConfig(s.path("auto/config.yaml"), &cfg); err != nil || !strings.HasPrefix(cfg.CacheSlots.String(), "0,0,") {
		t.Errorf("slots %q, %v: want none on the devices, which leave no memory", cfg.CacheSlots, err)
	}
}

// Where memory leaves less than all rows take, auto takes what is left, down to nothing, and the run fits.
func TestAutoTakesWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	fits, last, step := 0, 0, 8
	if long.Wanted() {
		step = 4
	}
	for kib := 40; kib <= 120; kib += step {
		dir := fmt.Sprint("run", kib)
		mem := fmt.Sprintf("cpu:0,threads=1,mem=%dKiB,cpu:1,threads=1,mem=%dKiB", kib, kib)
		_, stderr, code := s.run(append([]string{"train", "--quiet", "--run-dir", dir}, cached("--devices", mem, "--epochs", "2")...)...)
		if code == term.ExitDoesNotFit && fits == 0 && strings.Contains(stderr, "the run needs") {
			continue
		}
		if code != term.ExitDone {
			t.Fatalf("%d KiB: exit code %d: %s", kib, code, stderr)
		}
		cfg := runfolder.Default()
		if err := runfolder.ReadConfig(s.path(dir+"/config.yaml"), &cfg); err != nil {
			t.Fatal(err)
		}
		slots := cfg.CacheSlots.Value
		if len(slots) != 3 || slots[0] < last {
			t.Fatalf("%d KiB: slots %v, with less memory %d", kib, slots, last)
		}
		fits, last = fits+1, slots[0]
	}
	if fits < 5 || last == 0 {
		t.Errorf("%d runs fit, the last with %d slots", fits, last)
	}
}

// What a run tells of its caches agrees with itself, with its files, and with what a resumed run tells.
func TestCacheStatistics(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	r := s.train(cached("--run-dir", "a", "--cache", "cpu=0,gpu=50%")...)
	c := r.Cache
	if c.Policy != "jaca" || c.Lookups == 0 || c.LocalHits == 0 || c.LocalHits+c.GlobalHits+c.Misses != c.Lookups || !(c.Coverage > 0 && c.Coverage < 1) {
		t.Errorf("cache %+v", c)
	}
	if k := c.Capacity; k == nil || k.Global != 0 || len(k.Local) != 2 || k.Local[0] != k.LocalUnion[0]/2 || k.SlotBytes == 0 {
		t.Errorf("capacity %+v", k)
	}
	if a := r.Staleness; a.Bound != 3 || a.MaxSeen != 3 || !(a.Mean > 0 && a.Mean < 3) || !maps.Equal(a.Period, map[string]int{"1": 3, "2": 3}) {
		t.Errorf("staleness %+v", a)
	}
	if r.Bytes.Refresh == 0 || r.TimeS.Pick == 0 || r.TimeS.Check == 0 {
		t.Errorf("bytes %+v, times %+v", r.Bytes, r.TimeS)
	}
	lookups, refresh := 0.0, 0.0
	for _, line := range metricsOf(t, s.path("a")) {
		lookups += line["cache"].(map[string]any)["lookups"].(float64)
		refresh += line["bytes"].(map[string]any)["refresh"].(float64)
	}
	if int64(lookups) != c.Lookups || int64(refresh) != r.Bytes.Refresh {
		t.Errorf("metrics have %g lookups and %g bytes, the result %d and %d", lookups, refresh, c.Lookups, r.Bytes.Refresh)
	}
	if table := s.must("train", "--resume", "a", "--quiet"); !strings.Contains(table, "jaca: ") || !strings.Contains(table, "rows up to 3 epochs old") {
		t.Errorf("the table says nothing of caches:\n%s", table)
	}
	exact := s.train(cached("--cache", "none", "--staleness", "0", "--run-dir", "b")...)
	if exact.Cache.Lookups != c.Lookups || exact.Cache.Misses != c.Lookups || exact.Cache.Capacity != nil || exact.Staleness.MaxSeen != 0 {
		t.Errorf("without caches: %+v, %+v", exact.Cache, exact.Staleness)
	}
	if table := s.must("train", "--resume", "b", "--quiet"); strings.Contains(table, "cache ") || strings.Contains(table, "staleness") {
		t.Errorf("the table says something of caches:\n%s", table)
	}
}
