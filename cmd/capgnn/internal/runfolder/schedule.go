package runfolder

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/fit"
)

// scheduleOption is the schedule of the learning rate.
const scheduleOption = "schedule"

const scheduleUsage = "schedule of the learning rate: `NAME` is constant, cosine (falls along half a cosine wave), step (is cut every few epochs) or " +
	"plateau (is cut when validation stops improving)" +
	"\nwarmup=EPOCHS\tthe rate rises at first" +
	"\nmin=RATE\tthe rate falls no further (default: 0)" +
	"\nevery=EPOCHS\tof step (default: a third of the run)" +
	"\nfactor=SHARE\tof step and plateau (default: 0.1)" +
	"\npatience=N\tof plateau, in evaluations (default: 10)" +
	"\nby=WHAT\tof plateau: loss or metric (default: loss)"

// scheduleKeys are the keys of each course.
var scheduleKeys = map[fit.Kind][]string{
	fit.Constant: {"warmup"}, fit.Cosine: {"warmup", "min"}, fit.Step: {"warmup", "min", "every", "factor"}, fit.Plateau: {"warmup", "min", "factor", "patience", "by"},
}

// schedules are the courses in the order of help.
var schedules = []fit.Kind{fit.Constant, fit.Cosine, fit.Step, fit.Plateau}

// parseSchedule reads --schedule; "" leaves the rate. Keys without a course are constant's.
func parseSchedule(text string) (fit.Schedule, error) {
	if text == "" {
		return fit.Schedule{}, nil
	}
	name, _, _ := strings.Cut(text, ",")
	if strings.Contains(name, "=") {
		name, text = string(fit.Constant), string(fit.Constant)+","+text
	}
	s := fit.Schedule{Kind: fit.Kind(strings.TrimSpace(name)), Factor: 0.1, Patience: 10}
	keys, ok := scheduleKeys[s.Kind]
	if !ok {
		return s, fmt.Errorf("%s is not one of %s", term.Quoted(string(s.Kind), Names(schedules)), list(schedules))
	}
	k, err := parseKeys(text, keys)
	if err != nil {
		return s, fmt.Errorf("%s: %w", s.Kind, err)
	}
	for _, v := range k.values {
		if err := setSchedule(&s, v.key, v.text); err != nil {
			return s, err
		}
	}
	if s.Kind == fit.Constant && s.Warmup == 0 {
		return s, fmt.Errorf("%s changes nothing without warmup=EPOCHS: say it, or drop the flag", s.Kind)
	}
	return s, nil
}

// setSchedule gives a key its value.
func setSchedule(s *fit.Schedule, key, value string) error {
	switch key {
	case "warmup", "every", "patience":
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil || n > MaxEpochs || n == 0 && key != "patience" {
			return fmt.Errorf("%s=%s is not a whole number in [%d, %d]", key, value, indexOf(key != "patience"), MaxEpochs)
		}
		*map[string]*int{"warmup": &s.Warmup, "every": &s.Every, "patience": &s.Patience}[key] = int(n)
	case "min", "factor":
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0) || math.IsInf(x, 0) || key == "factor" && (x == 0 || x >= 1) {
			return fmt.Errorf("%s=%s is not a %s", key, value, map[string]string{"min": "rate of 0 or more", "factor": "share between 0 and 1"}[key])
		}
		*map[string]*float64{"min": &s.Min, "factor": &s.Factor}[key] = x
	case "by":
		if s.ByMetric = value == "metric"; !s.ByMetric && value != "loss" {
			return fmt.Errorf("by=%s is not one of loss, metric", value)
		}
	}
	return nil
}

// checkSchedule looks at --schedule, and at whether the run is long enough for it.
func (c *Config) checkSchedule(p *problems) {
	if err := c.Schedule.err; err != nil {
		p.add("--%s: %w", scheduleOption, err)
		return
	}
	s := &c.Schedule.Value
	behind := c.Epochs - s.Warmup
	switch {
	case s.Kind == fit.Unchanged:
		return
	case s.Min > c.LR:
		p.add("--%s: min=%g is above --lr %g", scheduleOption, s.Min, c.LR)
	case s.Kind == fit.Plateau && c.EvalEvery == 0:
		p.add("--%s %s counts evaluations, but --eval-every 0 evaluates only at the end", scheduleOption, s.Kind)
	case c.Epochs == 0:
	case behind <= 0:
		p.add("--%s: warmup=%d is not below --epochs %d", scheduleOption, s.Warmup, c.Epochs)
	case s.Kind == fit.Step && s.Every >= behind:
		p.add("--%s: every=%d never comes in --epochs %d behind warmup=%d: choose less", scheduleOption, s.Every, c.Epochs, s.Warmup)
	case s.Kind == fit.Plateau:
		if n := (c.Epochs-1)/c.EvalEvery - s.Warmup/c.EvalEvery; n < s.Patience+2 {
			p.add("--%s: patience=%d cuts the rate behind %d evaluations at the earliest, and --epochs %d with --eval-every %d and warmup=%d has %d before its last epoch: train longer, or evaluate more often",
				scheduleOption, s.Patience, s.Patience+2, c.Epochs, c.EvalEvery, s.Warmup, n)
		}
	}
}

// WatchesValidation reports whether the learning rate follows what validation says.
func (c *Config) WatchesValidation() bool { return c.Schedule.Value.Kind == fit.Plateau }
