package runfolder

import (
	"strings"
	"testing"

	"capgnn/internal/fit"
)

// Schedules read as they are said, and those that say nothing of a run, or are longer than it, are refused.
func TestSchedules(t *testing.T) {
	for text, want := range map[string]fit.Schedule{
		"":                                    {},
		"cosine":                              {Kind: fit.Cosine, Factor: 0.1, Patience: 10},
		"cosine,warmup=10, min=1e-4":          {Kind: fit.Cosine, Warmup: 10, Min: 1e-4, Factor: 0.1, Patience: 10},
		"step,every=30,factor=0.5":            {Kind: fit.Step, Every: 30, Factor: 0.5, Patience: 10},
		"plateau,patience=0,by=metric,min=0":  {Kind: fit.Plateau, Factor: 0.1, ByMetric: true},
		"plateau,by=loss,patience=3,warmup=1": {Kind: fit.Plateau, Factor: 0.1, Patience: 3, Warmup: 1},
		"warmup=4":                            {Kind: fit.Constant, Warmup: 4, Factor: 0.1, Patience: 10},
		"constant,warmup=4":                   {Kind: fit.Constant, Warmup: 4, Factor: 0.1, Patience: 10},
	} {
		c := Default()
		c.Dataset = "x"
		c.Set(scheduleOption, text)
		if err := c.Validate(); err != nil || c.Schedule.Value != want {
			t.Errorf("%q: %+v, %v", text, c.Schedule.Value, err)
		}
	}
	for _, x := range []struct {
		text, says string
		change     func(c *Config)
	}{
		{"cosin", "is not one of constant, cosine, step, plateau", nil}, {"cosine,every=3", "cosine: \"every\" is not one of its keys: warmup, min", nil}, {"step,by=loss", "not one of its keys: warmup, min, every, factor", nil}, {"cosine,warmup", "KEY=VALUE", nil},
		{"cosine,warmup=1,warmup=2", "warmup stands there twice", nil}, {"cosine,warmup=0", "warmup=0", nil}, {"cosine,warmup=-1", "warmup=-1", nil}, {"cosine,min=-1", "min=-1", nil}, {"cosine,min=NaN", "min=NaN", nil},
		{"cosine,min=inf", "min=inf", nil}, {"step,factor=1", "factor=1", nil}, {"step,factor=0", "factor=0", nil}, {"plateau,by=acc", "by=acc", nil}, {"constant", "changes nothing", nil},
		{"cosine,min=1", "min=1 is above --lr 0.01", nil}, {"cosine,warmup=200", "warmup=200 is not below --epochs 200", nil}, {"step,every=200", "every=200 never comes", nil},
		{"step,every=190,warmup=10", "every=190 never comes", nil}, {"plateau,patience=38", "patience=38 cuts the rate behind 40 evaluations at the earliest, and --epochs 200 with --eval-every 5 and warmup=0 has 39", nil}, {"plateau", "--eval-every 0", func(c *Config) { c.EvalEvery = 0 }},
		{"plateau", "patience=10 cuts the rate behind 12 evaluations at the earliest, and --epochs 50", func(c *Config) { c.Epochs = 50 }}, {"plateau,patience=0", "patience=0 cuts the rate behind 2 evaluations at the earliest, and --epochs 1 ", func(c *Config) { c.Epochs = 1 }},
	} {
		c := Default()
		c.Dataset = "x"
		if c.Set(scheduleOption, x.text); x.change != nil {
			x.change(&c)
		}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), "--schedule") {
			t.Errorf("%q: %v, want %q", x.text, err, x.says)
		}
	}
	c := Default()
	c.Epochs = 0
	if c.Dataset = "x"; c.Validate() != nil {
		t.Error(c.Validate())
	}
}
