package experiments

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"capgnn/internal/bench"
	"capgnn/minibatch"
)

// timedRuns are runs of two parts on samples, each with roots of its own, whose rows cross emulated links. What tables ask for is run: they are made once before, to know.
type timedRuns struct {
	*Bench
	measured bool
	asked    []cell
}

// kinds are those of timed runs.
var kinds = []string{"sim", "real"}

// timedText says how timed runs are made.
const timedText = "Times: two parts, 2 layers of 64, GraphSAGE unless it is said. sim: simulated RTX 3090 behind links of 10 Gbit/s; what the host does takes no time. real: CPU devices of one thread, which share this machine's cores, behind emulated links of 1 Gbit/s; small differences say nothing. Medians of the epochs behind the first. Memory: what plan says that a part takes of the host, without program and data set."

// of is the line of a timed run with so many roots a part and step; more are further options of train. Links of CPU devices, which compute more slowly, have a tenth of the papers' rate.
func (x *timedRuns) of(kind, data string, roots int, more string) *bench.Line {
	s := setting{Dataset: data, Devices: strings.Repeat(",sim:rtx3090,link=1192MiB/s,latency=50us", 2)[1:], Parts: partsEqual, Seed: x.opt.Seeds[0], Epochs: min(x.epochs(6, 3), 3),
		More: fmt.Sprintf("model=sage layers=%d hidden=64 fanout=%s batch-size=%d %s", len(fanouts), drawing{fanout: fanouts}.text(), 2*roots, more)}
	if kind == "real" {
		s.Devices, s.Epochs = strings.Repeat(",cpu:threads=1,link=119.2MiB/s,latency=50us", 2)[1:], x.epochs(6, 3)
	}
	c := x.trained(s)
	if x.measured {
		return x.line(c.id)
	}
	if !slices.ContainsFunc(x.asked, func(y cell) bool { return y.id.Key() == c.id.Key() }) {
		x.asked = append(x.asked, c)
	}
	return newLine()
}

// stages are what a step takes whose stages do not overlap (MassiveGNN's Eq. 2). Of simulated devices those of the host are not there.
var stages = []string{"sample", "decide", "stage", "fetch", "upload", "compute"}

// addSteps keeps what an epoch did: series of seconds, means over the parts, and of rows over all.
func addSteps(l *bench.Line, e *minibatch.EpochStats, simulated bool) {
	t := &e.Time
	for i, d := range []time.Duration{t.Sample, t.Decide, t.Stage, t.Fetch, t.Upload, t.Compute} {
		if !simulated || i > 2 {
			l.Series[stages[i]] = append(l.Series[stages[i]], d.Seconds()/float64(max(1, len(e.Parts))))
		}
	}
	l.Series["wait"], l.Series["rows"] = append(l.Series["wait"], t.Wait.Seconds()/float64(max(1, len(e.Parts)))), append(l.Series["rows"], float64(e.Rows.Fetched+e.Rows.Prefilled))
}

// behind returns the sum over series of their means behind the first epoch.
func behind(l *bench.Line, names ...string) (sum float64) {
	for _, name := range names {
		if y := l.Series[name]; len(y) > 1 {
			sum += stat.Mean(y[1:], nil)
		}
	}
	return sum
}

// inMS writes seconds.
func inMS(seconds float64) string { return fmt.Sprintf("%.4g", 1e3*seconds) }

// hostMiB is what each of two parts takes of the host.
func hostMiB(l *bench.Line) float64 { return l.Value("host_bytes") / 2 / (1 << 20) }

// stagePanel has the share of each stage, by way.
func stagePanel(title string, ways []string, lines []*bench.Line) bench.Panel {
	p := bench.Panel{Title: title, Y: "share of all stages, %", Groups: ways, Stacked: true}
	for _, stage := range stages {
		s := bench.Series{Name: stage}
		for _, l := range lines {
			s.Y = append(s.Y, 100*behind(l, stage)/behind(l, stages...))
		}
		p.Series = append(p.Series, s)
	}
	return p
}

// overEpochs is a series over epochs from 1 on.
func overEpochs(name string, y []float64) bench.Series {
	s := bench.Series{Name: name, Y: y}
	for e := range y {
		s.X = append(s.X, float64(e+1))
	}
	return s
}
