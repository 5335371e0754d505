package experiments

import (
	"cmp"
	"fmt"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
)

// epochs returns how many epochs an experiment trains, unless --epochs says so.
func (b *Bench) epochs(full, quick int) int {
	switch {
	case b.opt.Epochs > 0:
		return b.opt.Epochs
	case b.opt.Quick:
		return quick
	}
	return full
}

// fours are the devices of the paper's Table 8, nineties those of its Fig. 17 and 18, and groups those of its Table 4 in the order in which they are added.
const (
	fours    = "sim:rtx3090,sim:rtx3090,sim:a40,sim:a40"
	nineties = "sim:rtx3090,sim:rtx3090,sim:rtx3090,sim:rtx3090"
	groups   = fours + ",sim:rtx3060,sim:rtx3060,sim:gtx1660ti,sim:gtx1660ti"
)

// deviceList returns the devices of the experiment, or those of --devices.
func (b *Bench) deviceList(standard string) ([]devices.Spec, error) {
	return devices.Parse(cmp.Or(b.opt.Devices, standard))
}

// group is the first devices of a list: x2 has two.
type group struct{ name, devices string }

// numbers returns how many parts or devices an experiment has by turns: lo, lo+1, … hi; with --quick powers of two, and hi.
func (b *Bench) numbers(lo, hi int) []int {
	var out []int
	for n := lo; n <= hi; n++ {
		if !b.opt.Quick || n&(n-1) == 0 || n == hi {
			out = append(out, n)
		}
	}
	return out
}

// groupsOf returns the first devices of --devices or of the paper's Table 4, by numbers from lo to hi, as far as there are that many.
func (b *Bench) groupsOf(lo, hi int) ([]group, error) { return b.firstOf(groups, "x%d", lo, hi) }

// firstOf returns the first devices of --devices or of a list, by numbers from lo to hi, as far as there are that many.
func (b *Bench) firstOf(standard, name string, lo, hi int) ([]group, error) {
	specs, err := b.deviceList(standard)
	if err != nil {
		return nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	var out []group
	for _, n := range b.numbers(lo, min(hi, len(specs))) {
		out = append(out, group{fmt.Sprintf(name, n), devices.Format(specs[:n])})
	}
	if out == nil {
		return nil, term.Usagef("--devices names %d devices: give at least %d", len(specs), lo)
	}
	return out, nil
}

func groupNames(list []group) []string {
	var out []string
	for _, g := range list {
		out = append(out, g.name)
	}
	return out
}
