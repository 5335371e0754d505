package training

import (
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/machines"
	"capgnn/pipeline"
	"capgnn/profiler"
)

// settleNet reads the file that says what connects machines, and records what it says.
func (t *Run) settleNet() error {
	n := t.Config.Net.Value
	if n == nil || n.File == "" {
		return nil
	}
	p, err := profiler.Read(n.File)
	if err != nil {
		return term.Usagef("%s: %w", runfolder.Label(runfolder.NetOption), err)
	}
	if len(p.Net) == 0 {
		return term.Usagef("%s=%s: the profile was measured on one machine: measure their lines with `capgnn profile --cluster --out FILE`, on all of them at once", runfolder.Label(runfolder.NetOption), n.File)
	}
	ranks := p.Net[len(p.Net)-1].From + 1
	lines := make([][]devices.Line, ranks)
	for i := range lines {
		lines[i] = make([]devices.Line, ranks)
	}
	for _, x := range p.Net {
		lines[x.From][x.To] = devices.Line{BytesPerSec: x.BytesPerSec, Latency: time.Duration(x.RoundTrip / 2 * 1e9)}
	}
	t.Config.Set(runfolder.NetOption, runfolder.FormatPairs(lines))
	return nil
}

// machinesOfForecast returns how many parts each machine has that a forecast knows of, and what connects them: of a run over ranks the ranks, of one process those for which its parts
// are cut. nil: there is one, or nothing is known of their lines.
func (t *Run) machinesOfForecast() (parts []int, lines [][]devices.Line, err error) {
	if t.Config.Net.Value == nil || t.Config.Phased() {
		return nil, nil, nil
	}
	switch {
	case t.place != nil:
		for rank := range len(t.place.first) - 1 {
			lo, hi := t.place.ranges.Of(rank)
			parts = append(parts, hi-lo)
		}
	case t.Parts == len(t.Specs): // else machines share devices
		if parts, err = t.Config.PartsOfMachines(t.Parts); err != nil {
			return nil, nil, err
		}
	}
	if len(parts) < 2 {
		return nil, nil, nil
	}
	lines, err = t.Config.LinesBetween(len(parts))
	return parts, lines, err
}

// overMachines returns the machines of a forecast on these devices, joined by lines.
func overMachines(parts []int, lines [][]devices.Line, opened []gpu.Device) (*machines.Cluster, error) {
	if parts == nil {
		return nil, nil
	}
	net, err := devices.ForecastNetwork(opened, lines)
	return &machines.Cluster{Parts: parts, Wire: net}, err
}

// firstsOf returns the first device of each machine, and behind the last one, where each part has a device of its own.
func firstsOf(parts []int) []int {
	first := []int{0}
	for k, n := range parts {
		first = append(first, first[k]+n)
	}
	return first
}

// netSeconds returns, by part, for how long its machine's network interface is busy in an epoch, in the direction that takes longer; nil: there is one machine.
func netSeconds(pairs []pipeline.RankPair, parts []int, lines [][]devices.Line) (all []float64) {
	out, in := make([]float64, len(parts)), make([]float64, len(parts))
	for _, x := range pairs {
		s := float64(x.Rows) / lines[x.From][x.To].BytesPerSec
		out[x.From], in[x.To] = out[x.From]+s, in[x.To]+s
	}
	for m, n := range parts {
		all = append(all, slices.Repeat([]float64{max(out[m], in[m])}, n)...)
	}
	return all
}
