package runfolder

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

func TestHaloCacheOfSettings(t *testing.T) {
	plain := halo.Options{Policy: jaca.JACA, Pipeline: true}
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   func(*halo.Options)
	}{
		{"defaults", func(*Config) {}, func(*halo.Options) {}},
		{"policy", func(c *Config) { c.Cache = "paper" }, func(c *halo.Options) { c.Policy = jaca.Paper }},
		{"sizes", func(c *Config) { c.Set("cache.gpu", "20%"); c.Set("cache.cpu", "700") }, func(c *halo.Options) { c.Local, c.Global = jaca.Percent(20), jaca.Rows(700) }},
		{"reserves", func(c *Config) { c.Set("cache.reserve-gpu", "1MiB"); c.Set("cache.reserve-cpu", "2KiB") }, func(c *halo.Options) { c.ReserveDevice, c.ReserveHost = 1<<20, 2<<10 }},
		{"top", func(c *Config) { c.CacheTopK = 5 }, func(c *halo.Options) { c.TopK = 5 }},
		{"staleness", func(c *Config) { c.Set("staleness", "4") }, func(c *halo.Options) { c.Staleness, c.ExactEpochs = 4, Default().Epochs/10 }},
		{"exact epochs", func(c *Config) { c.Set("staleness", "4"); c.Set("staleness.exact", "7") }, func(c *halo.Options) { c.Staleness, c.ExactEpochs = 4, 7 }},
		{"exact epochs of nothing", func(c *Config) { c.Set("staleness.exact", "7") }, func(*halo.Options) {}},
		{"stale layers", func(c *Config) { c.Set("staleness", "4"); c.Set(StaleLayers, "2,1,2"); c.Set(CacheLayers, "none") }, func(c *halo.Options) {
			c.Staleness, c.ExactEpochs, c.Layers = 4, Default().Epochs/10, []int{1, 2}
		}},
		{"no stale layers by a forecast", func(c *Config) { c.Set("staleness", "4"); c.Set(CacheLayers, "none") }, func(c *halo.Options) {
			c.Staleness, c.ExactEpochs, c.Layers = 4, Default().Epochs/10, []int{}
		}},
		{"pipeline off", func(c *Config) { c.Pipeline = "off" }, func(c *halo.Options) { c.Pipeline = false }},
		{"no peers", func(c *Config) { c.Peer = "off" }, func(c *halo.Options) { c.NoPeer = true }},
		{"int8", func(c *Config) { c.Set("halo-dtype", "int8") }, func(c *halo.Options) { c.HaloType = halo.Int8 }},
	} {
		cfg, want := Default(), plain
		tc.change(&cfg)
		tc.want(&want)
		if errs := cfg.cacheErrors(); errs != nil {
			t.Errorf("%s: %v", tc.name, errs)
		}
		if got := cfg.HaloCache(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, want)
		}
	}
}

func TestCacheThatDoesNotFit(t *testing.T) {
	for want, err := range map[string]error{
		"give --cache cpu=3, or more memory":                         &jaca.TooLarge{Cache: globalCache, Want: 10, Fit: 3, Slot: 200},
		"part 2: 10 rows of 200 B are wanted, 3 fit; give --cache g": &jaca.TooLarge{Cache: "local cache of part 2", Want: 10, Fit: 3, Slot: 200},
		"global cache: 9 rows of 100 B are wanted, 1 fit, and local cache of part 1: 10 rows of 200 B are wanted, 3 fit; give --cache cpu=1,gpu=3, or": fmt.Errorf("plan: %w", errors.Join(
			&jaca.TooLarge{Cache: "local cache of part 0", Want: 20, Fit: 5, Slot: 200}, &jaca.TooLarge{Cache: globalCache, Want: 9, Fit: 1, Slot: 100},
			&jaca.TooLarge{Cache: "local cache of part 1", Want: 10, Fit: 3, Slot: 200})),
		"map 9 bytes: cannot allocate memory; give this process more address space (ulimit -v), or take a smaller --cache cpu=": fmt.Errorf("map 9 bytes: %w", syscall.ENOMEM),
		"give --cache cpu=77B or less": &hostmem.Limit{Owner: globalCache, Name: "shared region", Need: 99, Left: 77},
	} {
		got := ExplainCache(err)
		if term.ExitCode(got) != term.ExitDoesNotFit || !strings.Contains(got.Error(), want) {
			t.Errorf("got %v with exit code %d, want %q", got, term.ExitCode(got), want)
		}
	}
	plain := &gpu.OutOfMemory{}
	if ExplainCache(plain) != error(plain) {
		t.Error("an error of something else is changed")
	}
}
