package bench

import (
	"strconv"

	"gonum.org/v1/plot"
)

// logTicks marks a logarithmic axis: powers of ten, and where fewer than two of them are on it, what lies between them too.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	ticks := plot.LogTicks{Prec: -1}.Ticks(lo, hi)
	var inside, labelled int
	for _, t := range ticks {
		if t.Value >= lo && t.Value <= hi {
			inside++
			if t.Label != "" {
				labelled++
			}
		}
	}
	switch {
	case labelled >= 2:
		return ticks
	case inside < 2:
		return plot.DefaultTicks{}.Ticks(lo, hi)
	}
	for i := range ticks {
		ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 3, 64)
	}
	return ticks
}
