package runfolder

import (
	"reflect"
	"slices"
	"testing"
)

func TestForget(t *testing.T) {
	full := func() Config { return unusual() }
	for flag, changed := range map[string]func(*Config){
		"lr":      func(*Config) {},
		"dataset": func(c *Config) { c.DatasetPath, c.DataSHA256, c.PlanKey = "", "", ""; c.Set("cache-slots", "") },
		"seed":    func(c *Config) { c.DataSHA256, c.PlanKey = "", ""; c.Set("cache-slots", "") },
		"parts":   func(c *Config) { c.Targets, c.PlanKey = "", ""; c.Set("cache-slots", ""); c.Set("cache-links", "") },
		"profile": func(c *Config) { c.Targets, c.PlanKey = "", ""; c.Set("cache-slots", ""); c.Set("cache-links", "") },
		"devices": func(c *Config) {
			c.Targets, c.Parts, c.PlanKey = "", 0, ""
			c.Set("cache-slots", "")
			c.Set("cache-links", "")
		},
		"partitioner": func(c *Config) { c.PlanKey = ""; c.Set("cache-slots", "") },
		"prune.max":   func(c *Config) { c.PlanKey = ""; c.Set("cache-slots", "") },
		"plan":        func(c *Config) { c.PlanKey = ""; c.Set("cache-slots", "") },
		"staleness":   func(c *Config) { c.PlanKey = ""; c.Set("cache-slots", "") },
	} {
		got, want := full(), full()
		Forget(&got, []string{flag})
		changed(&want)
		if slices.Contains([]string{"devices", "parts", "partitioner", "plan"}, flag) {
			want.Set("machines", "")
		}
		if want.CacheSlots.String() == "" {
			want.CacheLayers = layersOpen
		}
		if want.PlanKey == "" {
			want.Set(merged, "")
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("--%s: got %+v, want %+v", flag, got, want)
		}
	}
}
