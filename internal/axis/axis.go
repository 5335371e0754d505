package axis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"capgnn/internal/number"
)

// Axis maps values to places along one side of a chart.
type Axis struct {
	Lo, Hi   float64 // values at the ends, Lo < Hi
	From, To float64 // places of the ends
	Log      bool
	Ticks    []Tick
}

// Tick is a mark on an axis.
type Tick struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// Place returns the place of a value.
func (a Axis) Place(x float64) float64 {
	lo, hi := a.Lo, a.Hi
	if a.Log {
		x, lo, hi = math.Log10(x), math.Log10(lo), math.Log10(hi)
	}
	return a.From + (x-lo)/(hi-lo)*(a.To-a.From)
}

// maxTicks is more than an axis has.
const maxTicks = 100

// Linear returns an axis from lo to hi, widened to whole ticks where round says so, with about n ticks of q.
func Linear(lo, hi float64, q number.Kind, n int, round bool) Axis {
	if !(hi > lo) {
		pad := max(math.Abs(hi)/10, 1e-9)
		if q == number.Count {
			pad = 1
		}
		lo, hi = lo-pad, hi+pad
	}
	u := unitFor(q, max(math.Abs(lo), math.Abs(hi)))
	step, first, last := ticksOf(lo, hi, q, u, n, round)
	if v := unitFor(q, last*step*u.Size); round && v != u { // the top tick has the next unit
		u = v
		step, first, last = ticksOf(lo, hi, q, u, n, round)
	}
	if round {
		lo, hi = first*step*u.Size, last*step*u.Size
	}
	a := Axis{Lo: lo, Hi: hi}
	if !(last-first <= maxTicks) {
		return a // values so close together that their difference is lost
	}
	for i := range int(last-first) + 1 {
		k := first + float64(i)
		text := "0"
		switch most := max(math.Abs(first), math.Abs(last)) * step; {
		case k == 0:
		case most >= 1e6 || most < 1e-4: // more digits than there is room for
			text = strconv.FormatFloat(k*step, 'e', powerOf(math.Abs(k*step))-powerOf(step), 64)
		default:
			text = strconv.FormatFloat(k*step, 'f', decimalsOf(step), 64)
		}
		if k != 0 {
			text = strings.TrimRight(text+"\u00a0"+u.Name, "\u00a0")
		}
		a.Ticks = append(a.Ticks, Tick{k * step * u.Size, text})
	}
	return a
}

// ticksOf returns the distance of the ticks in the unit, and which multiples of it are the first and the last: those
// around lo and hi, or, without round, between them.
func ticksOf(lo, hi float64, q number.Kind, u number.Unit, n int, round bool) (step, first, last float64) {
	step = niceStep((hi-lo)/u.Size, n)
	if q == number.Count {
		step = max(step, 1/u.Size)
	}
	lo, hi = lo/u.Size/step, hi/u.Size/step
	if round {
		return step, math.Floor(lo + 1e-9), math.Ceil(hi - 1e-9)
	}
	return step, math.Ceil(lo - 1e-9), math.Floor(hi + 1e-9)
}

// niceStep returns 1, 2 or 5 times a power of ten, such that span has about n steps.
func niceStep(span float64, n int) float64 {
	rough := span / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, f := range []float64{1, 2, 5} {
		if rough <= f*power*1.0001 {
			return f * power
		}
	}
	return 10 * power
}

// decimalsOf returns how many digits behind the point a multiple of a nice step has.
func decimalsOf(step float64) int {
	return max(0, -powerOf(step))
}

// powerOf returns the power of ten that x has at least one of.
func powerOf(x float64) int { return int(math.Floor(math.Log10(x) + 1e-9)) }

// Log returns a logarithmic axis around lo to hi, both positive: from and to 1, 2 or 5 times a power of ten, all of
// which are marked within two powers of ten; of more, powers have a mark, of many every other one.
func Log(lo, hi float64, q number.Kind) Axis {
	if first, last := logStep(lo, math.Floor), logStep(hi, math.Ceil); last-first <= 6 {
		if last == first {
			last++
		}
		a := Axis{Lo: ofLogStep(first), Hi: ofLogStep(last), Log: true}
		for k := first; k <= last; k++ {
			a.Ticks = append(a.Ticks, Tick{ofLogStep(k), logText(ofLogStep(k), q)})
		}
		return a
	}
	first, last := math.Floor(math.Log10(lo)+1e-9), math.Ceil(math.Log10(hi)-1e-9)
	a := Axis{Lo: math.Pow(10, first), Hi: math.Pow(10, last), Log: true}
	every := math.Ceil((last - first) / 6)
	for k := first; k <= last; k += every {
		a.Ticks = append(a.Ticks, Tick{math.Pow(10, k), logText(math.Pow(10, k), q)})
	}
	return a
}

// logText writes a number that has one digit, times with their unit.
func logText(x float64, q number.Kind) string {
	if q != number.Seconds {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	u := unitFor(q, x)
	return strconv.FormatFloat(math.Round(x/u.Size*1e6)/1e6, 'g', -1, 64) + "\u00a0" + u.Name
}

// logStep returns where x stands among the numbers 1, 2 and 5 times a power of ten, 0 being 1: rounded as round does.
func logStep(x float64, round func(float64) float64) int {
	power := math.Floor(math.Log10(x) + 1e-9)
	rest := x / math.Pow(10, power)
	place := 0.0
	for i, f := range []float64{1, 2, 5, 10} {
		if rest >= f*(1-1e-9) {
			if place = float64(i); rest > f*(1+1e-9) {
				place += 0.5
			}
		}
	}
	return 3*int(power) + int(round(place))
}

// ofLogStep is the number of a step of logStep.
func ofLogStep(step int) float64 {
	power := int(math.Floor(float64(step) / 3))
	x, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", []int{1, 2, 5}[step-3*power], power), 64)
	return x
}

// Between returns the axis with its ends at two places, and the ticks moved there.
func (a Axis) Between(from, to float64) Axis {
	a.From, a.To = from, to
	for i, t := range a.Ticks {
		a.Ticks[i].At = a.Place(t.At)
	}
	return a
}

// tickUnits are the units of the numbers on an axis: long counts are written with a letter there.
func tickUnits(q number.Kind) []number.Unit {
	if q == number.Count {
		return []number.Unit{{Size: 1}, {Size: 1e3, Name: "k"}, {Size: 1e6, Name: "M"}, {Size: 1e9, Name: "G"}}
	}
	return q.Units()
}

// unitFor returns the largest unit of which x has at least one, else the smallest.
func unitFor(q number.Kind, x float64) number.Unit {
	all := tickUnits(q)
	best := all[0]
	for _, u := range all {
		if math.Abs(x) >= u.Size {
			best = u
		}
	}
	return best
}
