package runfolder

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
)

// problems collects what is wrong with settings.
type problems []error

func (p *problems) add(format string, a ...any) { *p = append(*p, fmt.Errorf(format, a...)) }

// flags adds errors that begin with the name of a flag.
func (p *problems) flags(err error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			p.add("--%w", err)
		}
	}
}

func (p *problems) oneOf(flag, value string, choices ...string) bool {
	if slices.Contains(choices, value) {
		return true
	}
	p.add("%s is not one of %s", written(flag, term.Quoted(value, choices)), strings.Join(choices, ", "))
	return false
}

func (p *problems) within(flag string, value, lo, hi int) {
	if value < lo || value > hi {
		p.add("%s is not in [%d, %d]", written(flag, value), lo, hi)
	}
}

func (p *problems) share(flag string, value float64) {
	if !(value >= 0 && value <= 1) {
		p.add("%s is not in [0, 1]", written(flag, value))
	}
}
