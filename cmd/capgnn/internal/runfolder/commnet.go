package runfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Options of rows that cross between ranks.
const (
	commNet      = "comm-net"
	stalenessNet = "staleness-net"
)

// netLevels are the values of --comm-net: the levels whose rows have a fixed age.
func netLevels() []string {
	return slices.DeleteFunc(LevelNames(), func(name string) bool { return name == "auto" })
}

// parseStalenessNet reads a number of epochs; "" is −1: as the level says.
func parseStalenessNet(text string) (int, error) {
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > jaca.MaxStaleness {
		return 0, fmt.Errorf("%q is not a number of epochs from 0 to %d", text, jaca.MaxStaleness)
	}
	return int(n), nil
}

// SaysNet returns the flags that say how rows cross between ranks; "" where none does.
func (c *Config) SaysNet() string {
	var flags []string
	if c.CommNet != "" {
		flags = append(flags, fmt.Sprintf("--%s %s", commNet, c.CommNet))
	}
	if c.StalenessNet.String() != "" {
		flags = append(flags, fmt.Sprintf("--%s %s", stalenessNet, c.StalenessNet))
	}
	return strings.Join(flags, " ")
}

// across returns the settings that hold for rows that cross between ranks: those of --comm-net in place of those of --comm.
func (c *Config) across() Config {
	a := *c
	if c.CommNet != "" {
		a.Comm = c.CommNet
	}
	own := c.StalenessNet.String() != "" && c.StalenessNet.err == nil
	if own {
		a.Set(staleness, c.StalenessNet.String())
	}
	if c.CommNet != "" {
		a.applyLevel(func(name string) bool { return name == StaleLayers || own && name == staleness })
	}
	return a
}

// between returns how rows cross between ranks; nil: as others move.
func (c *Config) between() *halo.Between {
	if c.SaysNet() == "" {
		return nil
	}
	a := c.across()
	return &halo.Between{HaloType: a.HaloType.Value, Staleness: a.Staleness.Value, Smoothing: a.Smoothing, BackwardExact: a.HaloBackward == HaloBackwardWarmup}
}

// Across returns the largest age of rows that cross between ranks, in epochs.
func (c *Config) Across() jaca.Staleness {
	a := c.across()
	return a.Staleness.Value
}

// netErrors says what is wrong with --comm-net and --staleness-net.
func (c *Config) netErrors() []error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if err := c.StalenessNet.err; err != nil {
		bad("--%s: %w", stalenessNet, err)
	}
	if c.CommNet != "" && !slices.Contains(netLevels(), c.CommNet) {
		bad("--%s %s is not one of %s", commNet, term.Quoted(c.CommNet, netLevels()), strings.Join(netLevels(), ", "))
	}
	says := c.SaysNet()
	if says == "" || errs != nil {
		return errs
	}
	if c.Staleness.Value.Auto() {
		bad("%s with %s, which chooses ages in one process: drop one of them", says, c.SaysStaleness())
		return errs
	}
	a := c.across()
	inner, outer := c.Staleness.Value.Bound, a.Staleness.Value.Bound
	switch {
	case outer < inner:
		bad("%s: rows between ranks would be at most %d epochs old, others %d (%s): give --%s %d or more", says, outer, inner, c.SaysStaleness(), stalenessNet, inner)
	case a.level().isStale() && c.CommNet != "" && outer == 0:
		bad("%s: all rows are fresh: give --%s encoded", says, commNet)
	case outer > 0 && c.Cache == string(jaca.None):
		bad("%s: --cache %s has no rows that stay in their slots: give --cache jaca", says, c.Cache)
	case c.HaloBackward == HaloBackwardWarmup && a.HaloBackward != HaloBackwardWarmup:
		bad("%s with %s: gradients would cross between ranks in more epochs than inside of them: give --%s lean", says, c.says(HaloBackward), commNet)
	}
	return errs
}
