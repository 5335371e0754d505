package bench

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// ticks mark an axis with labels that have as many digits as tell them apart, and do not touch each other.
type ticks struct {
	long   vg.Length // of the axis, about
	across bool      // labels stand beside each other, not upon each other
	log    bool
	whole  bool // only at whole numbers
}

// Size of a letter of a label, and what is free between two labels.
const (
	letterWide, letterHigh = 0.2 * vg.Centimeter, 0.42 * vg.Centimeter
	labelPad               = 0.25 * vg.Centimeter
)

// ticksOf returns the marks of a panel's axis.
func ticksOf(wide vg.Length, across bool) ticks {
	if across {
		return ticks{long: wide - 4*vg.Centimeter, across: true}
	}
	return ticks{long: panelHeight - 2.5*vg.Centimeter}
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(lo, hi float64) []plot.Tick {
	if t.log {
		if all := t.powers(lo, hi); all != nil {
			return all
		}
	}
	all := plot.DefaultTicks{}.Ticks(lo, hi)
	if t.whole {
		all = slices.DeleteFunc(all, func(t plot.Tick) bool { return t.Value != math.Round(t.Value) })
	}
	var major []float64
	for _, t := range all {
		if !t.IsMinor() {
			major = append(major, t.Value)
		}
	}
	labels := labelled(major)
	for i := range all {
		if !all[i].IsMinor() {
			all[i].Label, labels = labels[0], labels[1:]
		}
	}
	return t.spaced(all, lo, hi)
}

// powers labels powers of ten; where fewer than two of them are on the axis, also their 2 and 5 fold, or else all that
// lies between; nil: these are fewer than two, too.
func (t ticks) powers(lo, hi float64) []plot.Tick {
	alike := func(a, b plot.Tick) bool { return within(a.Value, b.Value, b.Value) }
	all := slices.CompactFunc(plot.LogTicks{Prec: -1}.Ticks(lo, hi), alike)
	for _, digits := range []string{"1", "125", "123456789"} {
		labels := 0
		for i := range all {
			x := all[i].Value
			text := strconv.FormatFloat(x, 'e', 0, 64)
			if all[i].Label = ""; !slices.Contains([]byte(digits), text[0]) {
				continue
			}
			x, _ = strconv.ParseFloat(text, 64) // 1e-5 in place of 9.999999999999999e-06
			all[i].Label = strconv.FormatFloat(x, 'g', -1, 64)
			if within(x, lo, hi) {
				labels++
			}
		}
		if labels >= 2 {
			return t.spaced(all, lo, hi)
		}
	}
	return nil
}

// labelled writes numbers that are equally far from each other: with the same decimals, or where these would be many,
// or digits before the point, with an exponent.
func labelled(x []float64) []string {
	if len(x) == 0 {
		return nil
	}
	step, most := math.Inf(1), 0.0
	for i := range x {
		if most = max(most, math.Abs(x[i])); i > 0 {
			step = x[1] - x[0]
		}
	}
	if len(x) == 1 {
		step = most
	}
	format, decimals := byte('f'), 0
	if most >= 1e7 || most < 1e-4 {
		format = 'e'
	}
	tells := func(decimals int) bool { // numbers read as what they are
		return !slices.ContainsFunc(x, func(v float64) bool {
			read, _ := strconv.ParseFloat(strconv.FormatFloat(v, format, decimals, 64), 64)
			return math.Abs(read-v) > 1e-6*step
		})
	}
	for decimals < 16 && !tells(decimals) {
		decimals++
	}
	out := make([]string, len(x))
	for i, v := range x {
		if out[i] = strconv.FormatFloat(v, format, decimals, 64); math.Abs(v) <= 1e-6*step {
			out[i] = "0"
		}
	}
	return out
}

// within reports whether x is on an axis, but for rounding.
func within(x, lo, hi float64) bool {
	return x >= lo-1e-9*math.Abs(lo) && x <= hi+1e-9*math.Abs(hi)
}

// spaced takes labels away until no two touch: of those of an axis every second one stays, or third, and so on.
func (t ticks) spaced(all []plot.Tick, lo, hi float64) []plot.Tick {
	at := func(x float64) vg.Length {
		if t.log {
			return t.long * vg.Length(math.Log(x/lo)/math.Log(hi/lo))
		}
		return t.long * vg.Length((x-lo)/(hi-lo))
	}
	half := func(label string) vg.Length {
		if t.across {
			return (vg.Length(len(label))*letterWide + labelPad) / 2
		}
		return letterHigh / 2
	}
	var on []int // labels on the axis
	for i, tick := range all {
		if tick.Label != "" && within(tick.Value, lo, hi) {
			on = append(on, i)
		}
	}
	every := 1
	for ; every < len(on); every++ {
		touch := false
		for k := every; k < len(on); k += every {
			a, b := all[on[k-every]], all[on[k]]
			touch = touch || at(a.Value)+half(a.Label) > at(b.Value)-half(b.Label)
		}
		if !touch {
			break
		}
	}
	for k, i := range on {
		if k%every != 0 {
			all[i].Label = ""
		}
	}
	return all
}
