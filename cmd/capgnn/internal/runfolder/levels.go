package runfolder

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
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
	{CommExact, []setting{{"halo-dtype", "fp32"}, {"staleness", "0"}}},
	{"encoded", []setting{{"halo-dtype", "int8"}, {"staleness", "0"}}},
}

// levelNames are the values of --comm.
func levelNames() []string {
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

// applyLevel gives the options of the level their values, but for those that are said on their own.
func (c *Config) applyLevel(said func(name string) bool) {
	if l := c.level(); l != nil {
		for _, s := range l.settings {
			if !said(s.name) {
				c.Set(s.name, s.value)
			}
		}
	}
}

// ofLevel reports whether the option has the value that a level other than the default gives it.
func (c *Config) ofLevel(o Option) bool {
	l := c.level()
	return l != nil && l.name != CommExact && slices.Contains(l.settings, setting{o.Name, fmt.Sprint(o.Value(c))})
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

// checkLevel looks at --comm.
func (c *Config) checkLevel(p *problems) {
	if c.level() == nil {
		p.add("--%s %s is not one of %s", comm, term.Quoted(c.Comm, levelNames()), strings.Join(levelNames(), ", "))
	}
}
