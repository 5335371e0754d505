package runfolder

import (
	"strings"
	"testing"

	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// What --comm-net and --staleness-net do not take, and what does not go with them, is one line.
func TestCommNetErrors(t *testing.T) {
	for want, said := range map[string]map[string]string{
		`--comm-net "auto" is not one of exact, encoded, stale, lean`:                                                                        {"comm-net": "auto"},
		`--staleness-net: "x" is not a number of epochs from 0 to 16`:                                                                        {"staleness-net": "x"},
		`--staleness-net: "17" is not a number of epochs from 0 to 16`:                                                                       {"staleness-net": "17"},
		`--staleness-net: "auto" is not a number of epochs from 0 to 16`:                                                                     {"staleness-net": "auto"},
		"--staleness-net 2: rows between ranks would be at most 2 epochs old, others 4 (--staleness 4): give --staleness-net 4 or more":      {"staleness-net": "2", "staleness": "4"},
		"--comm-net encoded: rows between ranks would be at most 0 epochs old, others 8 (--comm stale): give --staleness-net 8 or more":      {"comm-net": "encoded", "comm": "stale"},
		"--comm-net stale --staleness-net 0: all rows are fresh: give --comm-net encoded":                                                    {"comm-net": "stale", "staleness-net": "0"},
		"--comm-net stale: --cache none has no rows that stay in their slots: give --cache jaca":                                             {"comm-net": "stale", "cache": "none"},
		"--comm-net stale with --comm auto, which chooses ages in one process: drop one of them":                                             {"comm-net": "stale", "comm": "auto"},
		"--comm-net stale with --comm lean: gradients would cross between ranks in more epochs than inside of them: give --comm-net lean":    {"comm-net": "stale", "comm": "lean"},
		"--comm-net exact --staleness-net 9 with --comm lean: gradients would cross between ranks in more epochs than inside of them: give ": {"comm-net": "exact", "staleness-net": "9", "comm": "lean"},
	} {
		c := Default()
		c.Dataset = "cora"
		for name, text := range said {
			c.Set(name, text)
		}
		c.applyLevel(func(name string) bool { return said[name] != "" })
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v\nwant %s", said, err, want)
		}
	}
}

// Rows that cross between ranks have the settings of their level; others are left alone.
func TestCommNetSettings(t *testing.T) {
	age := func(n int) jaca.Staleness { return jaca.Staleness{Bound: n} }
	for _, c := range []struct {
		said map[string]string
		want *halo.Between
	}{
		{nil, nil},
		{map[string]string{"comm": "stale"}, nil},
		{map[string]string{"comm-net": "exact"}, &halo.Between{}},
		{map[string]string{"comm-net": "encoded"}, &halo.Between{HaloType: halo.Int8}},
		{map[string]string{"comm-net": "stale", "comm": "encoded"}, &halo.Between{HaloType: halo.Int8, Staleness: age(8)}},
		{map[string]string{"comm-net": "lean"}, &halo.Between{HaloType: halo.Int8, Staleness: age(8), BackwardExact: true}},
		{map[string]string{"comm-net": "stale", "staleness-net": "4"}, &halo.Between{HaloType: halo.Int8, Staleness: age(4), Smoothing: 0.5}},
		{map[string]string{"comm-net": "exact", "staleness-net": "4"}, &halo.Between{Staleness: age(4)}},
		{map[string]string{"staleness-net": "9", "comm": "stale"}, &halo.Between{HaloType: halo.Int8, Staleness: age(9)}},
		{map[string]string{"staleness-net": "9", "comm": "lean"}, &halo.Between{HaloType: halo.Int8, Staleness: age(9), BackwardExact: true}},
		{map[string]string{"staleness-net": "3", "halo-dtype": "bf16", "staleness": "2", "smoothing": "0.25"}, &halo.Between{HaloType: halo.BF16, Staleness: age(3), Smoothing: 0.25}},
	} {
		cfg := Default()
		cfg.Dataset = "cora"
		for name, text := range c.said {
			cfg.Set(name, text)
		}
		cfg.applyLevel(func(name string) bool { return c.said[name] != "" })
		if err := cfg.Validate(); err != nil {
			t.Errorf("%v: %v", c.said, err)
		}
		o := cfg.HaloCache()
		if got := o.Between; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%v: %+v, want %+v", c.said, got, c.want)
		}
		alone := cfg
		alone.CommNet = ""
		alone.Set(stalenessNet, "")
		if a := alone.HaloCache(); a.Staleness != o.Staleness || a.HaloType != o.HaloType || a.BackwardExact != o.BackwardExact || a.Smoothing != o.Smoothing {
			t.Errorf("%v: rows inside of ranks are %+v, without it %+v", c.said, o, a)
		}
	}
}
