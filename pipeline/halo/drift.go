package halo

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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
		if !r.ages || r.returned {
			continue // features do not drift; gradients that are returned are not rows of the part
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

// Sample is how far sample rows of a part have drifted in one exchange, in basic types: those of all parts are put together.
type Sample struct {
	ID
	Epochs int      // over which they have
	Rows   []uint64 // relative drift of each: the bits of a float64
}

// Samples returns how far the rows of a part of this process have drifted at the end of an epoch, by exchange; nil where nobody asks. It is
// asked for once.
func (p *Plan) Samples(part, epoch int) (all []Sample) {
	if p.periods == nil || p.periods.controller == nil {
		return nil
	}
	for _, l := range p.side(part).watcher.exchanges {
		looks, anew := p.periods.controller.ShouldSample(l.Layer, epoch)
		if !looks || len(l.host) == 0 {
			continue
		}
		if anew {
			l.track.Forget()
		}
		for _, d := range l.track.Take(epoch, l.schedule(), l.host, l.width) {
			s := Sample{l.ID, d.Epochs, make([]uint64, len(d.Rows))}
			for k, x := range d.Rows {
				s.Rows[k] = math.Float64bits(x)
			}
			all = append(all, s)
		}
	}
	return all
}

// observe lets the controller look at the drift of every layer after an epoch, and puts its schedules into force. samples are those of all
// parts, in part order.
func (p *Plan) observe(epoch int, samples []Sample) []Drift {
	s := p.periods
	if s.controller == nil {
		return nil
	}
	var out []Drift
	var changed []int
	for _, layer := range s.aging() {
		for _, d := range drifts(samples, layer, p.Staleness.EPS) {
			if s.controller.Observe(epoch, layer, d.Epochs, d.Q90) {
				changed = append(changed, layer)
			}
			out = append(out, d)
		}
	}
	for i := range out {
		s := s.controller.Schedule(out[i].Layer)
		if out[i].Period = s.Period; p.Pipeline && s.Lag == 0 {
			out[i].Period = 0
		}
	}
	for _, layer := range changed {
		s.adopt(layer)
	}
	return out
}

// drifts returns a layer's drift by span, longest last. The 90th percentile of the direction that drifts more counts.
func drifts(samples []Sample, layer int, eps float64) []Drift {
	type key struct {
		dir    gnn.Direction
		epochs int
	}
	rows := map[key][]float64{}
	for _, s := range samples {
		if s.Layer != layer {
			continue
		}
		k := key{s.Dir, s.Epochs}
		for _, bits := range s.Rows {
			rows[k] = append(rows[k], math.Float64frombits(bits))
		}
	}
	spans := map[int]Drift{}
	for k, x := range rows {
		d := spans[k.epochs]
		d.Layer, d.Epochs = layer, k.epochs
		d.Q90 = max(d.Q90, jaca.Percentile(x, 90))
		d.Rows += len(x)
		d.Under += jaca.CountWithin(x, eps)
		spans[k.epochs] = d
	}
	return slices.SortedFunc(maps.Values(spans), func(a, b Drift) int { return cmp.Compare(a.Epochs, b.Epochs) })
}
