package profiler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"capgnn/internal/number"
)

const (
	// fallen is the share of the time of a smaller size below which a larger one may not take: single measurements of one size differ by less.
	fallen = 0.9
	// mostAgain is how often what falls is measured again.
	mostAgain = 3
)

// family is what the cases of one curve have in common: they differ in size.
func (k OpTime) family() OpTime {
	k.Rows, k.Cols, k.Bytes, k.Seconds = 0, 0, 0, 0
	if k.Op == "adam" {
		k.Out = 0
	}
	return k
}

// falls returns the pairs of cases, the smaller one first, in which the next larger one of the same curve takes less time: other work came between the
// smaller one, as that makes operations slower and never faster.
func falls(list []OpTime) (pairs [][2]OpTime) {
	curves := map[OpTime][]OpTime{}
	var order []OpTime
	for _, k := range list {
		f := k.family()
		if curves[f] == nil {
			order = append(order, f)
		}
		curves[f] = append(curves[f], k)
	}
	for _, f := range order {
		curve := curves[f]
		slices.SortStableFunc(curve, func(a, b OpTime) int { return int(a.bytes() - b.bytes()) })
		for i := 1; i < len(curve); i++ {
			if curve[i].Seconds < fallen*curve[i-1].Seconds {
				pairs = append(pairs, [2]OpTime{curve[i-1], curve[i]})
			}
		}
	}
	return pairs
}

// fallen returns the tasks whose curves fall behind them, by name.
func (m *meter) fallen() (what []string) {
	for i := range m.devices {
		var d DeviceProfile
		m.fillOperations(&d, i)
		for _, f := range falls(d.Calibration) {
			what = append(what, f[0].key(m.devices[m.source(i, f[0].crosses()).device]))
		}
		for _, c := range m.crowds() {
			if slices.Contains(c.members[:c.own], i) {
				for _, f := range falls(d.Beside) {
					what = append(what, m.crowdKey(&c, f[0]))
				}
			}
		}
	}
	return what
}

// again measures what falls anew, a few times at most, and keeps the shorter times.
func (m *meter) again(ctx context.Context, tasks []task) error {
	for range mostAgain {
		what := m.fallen()
		for _, t := range tasks {
			if !slices.Contains(what, t.what) {
				continue
			}
			m.doing = t
			m.show()
			start, patience := m.Now(), time.Duration(0)
			if m.budget > 0 {
				patience = max(calibrationRound, time.Duration(t.cost*float64(time.Second)))
			}
			timings, err := t.measure(ctx, patience)
			if err != nil {
				return fmt.Errorf("profile %s: %w", t.stage, err)
			}
			for i, was := range m.Notes.get(t.what) {
				if i < len(timings) && was.Median < timings[i].Median {
					timings[i] = was
				}
			}
			m.Notes.put(entry{t.what, timings, m.Now().Sub(start).Seconds()})
		}
	}
	return nil
}

// Falls lists the curves that still fall, one line each: the machine did other work.
func (p *Profile) Falls() []string {
	var lines []string
	for i := range p.Devices {
		d := &p.Devices[i]
		for _, list := range [][]OpTime{d.Calibration, d.Beside} {
			for _, f := range falls(list) {
				lines = append(lines, fmt.Sprintf("%s: %s of %s takes %s, of %s only %s", d.Name, f[0].Op, number.Bytes.Text(float64(f[0].bytes())), number.Seconds.Text(f[0].Seconds),
					number.Bytes.Text(float64(f[1].bytes())), number.Seconds.Text(f[1].Seconds)))
			}
		}
	}
	return lines
}
