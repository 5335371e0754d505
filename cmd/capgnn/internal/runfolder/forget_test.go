package runfolder

import (
	"reflect"
	"testing"
)

func TestForget(t *testing.T) {
	full := func() Config { return unusual() }
	for flag, changed := range map[string]func(*Config){
		"lr":      func(*Config) {},
		"dataset": func(c *Config) { c.DatasetPath, c.DataSHA256, c.PlanKey, c.CacheSlots = "", "", "", "" },
		"seed":    func(c *Config) { c.DataSHA256, c.PlanKey, c.CacheSlots = "", "", "" },
		"parts":   func(c *Config) { c.Targets, c.PlanKey, c.CacheSlots, c.CacheLinks = "", "", "", "" },
		"profile": func(c *Config) { c.Targets, c.PlanKey, c.CacheSlots, c.CacheLinks = "", "", "", "" },
		"devices": func(c *Config) {
			c.Targets, c.Parts, c.PlanKey, c.CacheSlots, c.CacheLinks = "", 0, "", "", ""
		},
		"partitioner": func(c *Config) { c.PlanKey, c.CacheSlots = "", "" },
		"max-prune":   func(c *Config) { c.PlanKey, c.CacheSlots = "", "" },
		"plan":        func(c *Config) { c.PlanKey, c.CacheSlots = "", "" },
		"staleness":   func(c *Config) { c.PlanKey, c.CacheSlots = "", "" },
		"no-sparse":   func(c *Config) { c.CacheSlots = "" },
		"rescale":     func(*Config) {},
	} {
		got, want := full(), full()
		Forget(&got, []string{flag})
		changed(&want)
		if want.CacheSlots == "" {
			want.CacheLayers = layersOpen
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("--%s: got %+v, want %+v", flag, got, want)
		}
	}
}
