package runfolder

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/jaca"
)

// comm is the option that names a level.
const comm = "comm"

// CommExact is the level at which rows travel as they are, in every epoch.
const CommExact = "exact"

// level is a name for settings of the exchange of halo rows.
type level struct {
	name     string
	settings []setting
}

// setting is an option with its value.
type setting struct{ name, value string }

// levels are the values of --comm, the default first. A new one is a row here.
var levels = []level{
	{CommExact, []setting{{haloDtype, "fp32"}, {staleness, "0"}}},
	{"encoded", []setting{{haloDtype, "int8"}, {staleness, "0"}}},
	{"stale", []setting{{haloDtype, "int8"}, {staleness, "8"}, {smoothing, "0"}, {StaleLayers, LayersWide}}},
	{"lean", []setting{{haloDtype, "int8"}, {staleness, "8"}, {smoothing, "0"}, {StaleLayers, LayersWide}, {HaloBackward, HaloBackwardWarmup}}},
	{"auto", []setting{{haloDtype, "int8"}, {staleness, "auto"}, {smoothing, "0"}}},
}

// Below this period of refreshes, in epochs, gradients of few ages make the loss swing (docs/adr/0031): levels with stale rows smooth there.
const (
	swingsBelow = 8
	damping     = "0.5" // the --smoothing that damps it
)

// LevelNames are the values of --comm.
func LevelNames() []string {
	var names []string
	for _, l := range levels {
		names = append(names, l.name)
	}
	return names
}

// level returns the level of the run; nil where --comm names none, which Validate says.
func (c *Config) level() *level {
	if i := slices.IndexFunc(levels, func(l level) bool { return l.name == c.Comm }); i >= 0 {
		return &levels[i]
	}
	return nil
}

// names reports whether an option is among the settings of the level.
func (l *level) names(option string) bool {
	return slices.ContainsFunc(l.settings, func(s setting) bool { return s.name == option })
}

// isStale reports whether rows of the level may be of earlier epochs.
func (l *level) isStale() bool { return l.names(smoothing) }

// leveled are the options that some level sets.
var leveled = []string{haloDtype, staleness, smoothing, StaleLayers, HaloBackward}

// given returns the value that the level of the run gives an option of leveled. Where stale rows are refreshed more often than the level says, it smooths them.
func (c *Config) given(l *level, name string) string {
	i := slices.IndexFunc(l.settings, func(s setting) bool { return s.name == name })
	bound := c.Staleness.Value.Bound
	switch {
	case i < 0:
		defaults := Default()
		return fmt.Sprint(defaults.valueOf(name))
	case name == smoothing && bound > 0 && bound < swingsBelow && c.Pipelined() && c.Cache != string(jaca.None):
		return damping
	}
	return l.settings[i].value
}

// applyLevel gives the options that levels set the values of the run's level, but for those that are said on their own.
func (c *Config) applyLevel(said func(name string) bool) {
	if l := c.level(); l != nil {
		for _, name := range leveled { // --staleness before --smoothing
			if !said(name) {
				c.Set(name, c.given(l, name))
			}
		}
	}
}

// TakeLevel gives a run a level, and the options that levels set its values.
func (c *Config) TakeLevel(name string) {
	c.Comm = name
	c.applyLevel(func(string) bool { return false })
}

// followsLevel returns which options have the value that the level of the run gives them.
func (c *Config) followsLevel() (names []string) {
	if l := c.level(); l != nil {
		for _, name := range leveled {
			if c.given(l, name) == fmt.Sprint(c.valueOf(name)) {
				names = append(names, name)
			}
		}
	}
	return names
}

// ofLevel reports whether the option has the value that a level other than the default gives it.
func (c *Config) ofLevel(o Option) bool {
	return c.Comm != CommExact && slices.Contains(c.followsLevel(), o.Name)
}

// DescribeLevel says which settings the level of a run stands for, and which of them are others; "" for the default.
func (c *Config) DescribeLevel() string {
	l := c.level()
	if l == nil || l.name == CommExact {
		return ""
	}
	var flags, others []string
	for _, s := range l.settings {
		flags = append(flags, "--"+s.name+" "+s.value)
		if now := fmt.Sprint(c.valueOf(s.name)); now != s.value {
			others = append(others, "--"+s.name+" "+now)
		}
	}
	text := fmt.Sprintf("%s = %s", l.name, strings.Join(flags, " "))
	if others != nil {
		text += "; here " + strings.Join(others, " ")
	}
	return text
}

// levelError says what is wrong with --comm.
func (c *Config) levelError() error {
	l := c.level()
	switch {
	case l == nil:
		return fmt.Errorf("--%s %s is not one of %s", comm, term.Quoted(c.Comm, LevelNames()), strings.Join(LevelNames(), ", "))
	case l.isStale() && c.Cache == string(jaca.None):
		return fmt.Errorf("--%s %s: --cache %s has no rows that stay in their slots: give one of the policies %s", comm, c.Comm, c.Cache, list(keepingPolicies))
	case l.isStale() && c.Staleness.Value.Bound == 0 && c.Staleness.err == nil:
		return fmt.Errorf("--%s %s --%s 0: all rows are fresh: give --%s encoded", comm, c.Comm, staleness, comm)
	}
	return nil
}

// says returns the flag that gives an option of leveled its value: --comm where its level names the option, and the value is the level's.
func (c *Config) says(name string) string {
	value := fmt.Sprint(c.valueOf(name))
	if l := c.level(); l != nil && l.name != CommExact && l.names(name) && c.given(l, name) == value {
		return fmt.Sprintf("--%s %s", comm, c.Comm)
	}
	return fmt.Sprintf("--%s %s", name, value)
}

// SaysStaleness returns the flag by which rows may be of earlier epochs: --comm where its level says so.
func (c *Config) SaysStaleness() string { return c.says(staleness) }

// DescribeFresh says of a run with a staleness that no row can be stale. What else a level says holds all the same.
func (c *Config) DescribeFresh() string {
	flag, lacks := c.SaysStaleness(), "has no effect"
	if strings.HasPrefix(flag, "--"+comm) {
		lacks = "makes no row stale"
	}
	return fmt.Sprintf("%s %s here: no row of another part can be from an earlier epoch", flag, lacks)
}
