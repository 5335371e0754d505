package halo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/jaca"
)

// Drift is how far a layer's rows have drifted between refreshes.
type Drift struct {
	Layer  int
	Epochs int     // over which it was measured
	Q90    float64 // 90th percentile of relative drift over sample rows, the larger of both directions
	Period int     // refresh period from the next epoch on; 0: rows are used in the epoch that makes them
	Rows   int     // samples
	Under  int     // of these, at most EPS
}

// watcher measures on one part how far the rows that it sends drift between refreshes: on a fixed sample of them, before
// dropout.
type watcher struct {
	exchanges []*watched
	looks     func(layer, epoch int) (looks, anew bool) // of the controller
	clock     func() int                                // epoch
	stage     gpu.Buffer                                // sample rows on their way to the host
}

// watched is one exchange.
type watched struct {
	*traffic
	rows  gpu.Ints // of the part, that are sampled
	width int
	host  []float32 // as they were when they were looked at last
	track jaca.Track
}

// watch samples the rows that the part sends. All parts together sample at least jaca.SampleRows of each exchange, if
// there are so many.
func (a *attachment) watch(x *Exchange) *watcher {
	n := sampleRows(a.parts())
	k := &watcher{looks: a.periods.controller.ShouldSample, clock: x.clock}
	var size int
	for _, r := range x.relays {
		if !r.ages {
			continue // features do not drift
		}
		sent := map[graph.NodeID]bool{}
		for _, s := range r.senders[a.ep.Part] {
			theirs := &r.readers[s.reader]
			for b := range theirs.direct {
				for _, v := range theirs.vertices(b, s.at) {
					sent[v] = true
				}
			}
		}
		for _, owners := range r.global {
			for _, v := range owners[a.ep.Part] {
				sent[v] = true
			}
		}
		ids := slices.Sorted(maps.Keys(sent))
		rows := make([]int32, 0, n)
		for _, k := range jaca.Sample(ids, n, a.Model.Seed) {
			rows = append(rows, a.Cuts.Whole.LocalOf[ids[k]])
		}
		l := &watched{traffic: r.traffic, rows: a.ep.Memory.Upload("sample rows", rows), width: a.Model.ProbeWidth(r.Layer, r.Dir)}
		l.track.Gradients = r.Dir == gnn.Backward
		l.host = make([]float32, len(rows)*l.width)
		size = max(size, len(l.host))
		k.exchanges = append(k.exchanges, l)
	}
	k.stage = a.ep.Memory.Alloc(4*gpu.Bytes(size), "sample rows")
	return k
}

// Probe returns what gnn.Pass.Probe is to be; nil: nobody asks how far rows drift.
func (x *Exchange) Probe() func(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
	if x.watcher == nil {
		return nil
	}
	return x.watcher.look
}

// look sees the rows of each exchange before dropout: those of the sample go to the host when a period ends, and the controller wants to
// see them.
func (k *watcher) look(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
	for _, l := range k.exchanges {
		if l.ID != (ID{layer, dir}) || len(l.host) == 0 {
			continue
		}
		if looks, _ := k.looks(layer, k.clock()); !looks {
			continue
		}
		if rows.Cols != l.width {
			panic(fmt.Sprintf("halo: %v: %d columns to sample, planned %d", l.ID, rows.Cols, l.width))
		}
		q.Gather(gpu.Matrix{Buf: k.stage, Rows: l.rows.Len, Cols: l.width, LD: l.width}, rows, l.rows)
		q.Download(hostmem.Bytes(l.host), k.stage, 0)
	}
}

// observe lets the controller look at the drift of every layer after an epoch, and puts its schedules into force.
//
// Drift of rows of all parts is put together in part order; the 90th percentile of the direction that drifts more counts.
func (plan *Plan) observe(epoch int) []Drift {
	p := plan.periods
	if p.controller == nil {
		return nil
	}
	var watchers []*watcher
	for _, x := range plan.sides {
		watchers = append(watchers, x.watcher)
	}
	var out []Drift
	var changed []int
	for _, layer := range p.aging() {
		for _, d := range p.drifts(watchers, epoch, layer, plan.Staleness.EPS) {
			if p.controller.Observe(epoch, layer, d.Epochs, d.Q90) {
				changed = append(changed, layer)
			}
			out = append(out, d)
		}
	}
	for i := range out {
		s := p.controller.Schedule(out[i].Layer)
		if out[i].Period = s.Period; plan.Pipeline && s.Lag == 0 {
			out[i].Period = 0
		}
	}
	for _, layer := range changed {
		p.adopt(layer)
	}
	return out
}

// drifts measures a layer's drift after an epoch in which its period ended, longest span last.
func (p *periods) drifts(watchers []*watcher, epoch, layer int, eps float64) []Drift {
	looks, anew := p.controller.ShouldSample(layer, epoch)
	if !looks {
		return nil
	}
	rows := map[ID]map[int][]float64{} // by exchange and span
	for _, w := range watchers {
		for _, l := range w.exchanges {
			if l.Layer != layer || len(l.host) == 0 {
				continue
			}
			if anew {
				l.track.Forget()
			}
			if rows[l.ID] == nil {
				rows[l.ID] = map[int][]float64{}
			}
			for _, d := range l.track.Take(epoch, l.schedule(), l.host, l.width) {
				rows[l.ID][d.Epochs] = append(rows[l.ID][d.Epochs], d.Rows...)
			}
		}
	}
	spans := map[int]Drift{}
	for _, dir := range []gnn.Direction{gnn.Forward, gnn.Backward} {
		for epochs, x := range rows[ID{layer, dir}] {
			d := spans[epochs]
			d.Layer, d.Epochs = layer, epochs
			d.Q90 = max(d.Q90, jaca.Percentile(x, 90))
			d.Rows += len(x)
			d.Under += jaca.CountWithin(x, eps)
			spans[epochs] = d
		}
	}
	return slices.SortedFunc(maps.Values(spans), func(a, b Drift) int { return cmp.Compare(a.Epochs, b.Epochs) })
}
