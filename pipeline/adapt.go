package pipeline

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

// watcher measures on one part how far the rows that it sends drift between refreshes: on a fixed sample of them, before
// dropout.
type watcher struct {
	exchanges []*watched
	looks     func(layer, epoch int) (looks, anew bool) // of the controller
	stage     gpu.Buffer                                // sample rows on their way to the host
	lists     [][]int32                                 // that are being uploaded
}

// watched is one exchange.
type watched struct {
	*traffic
	rows  gpu.Ints // of the part, that are sampled
	width int
	host  []float32 // as they were when they were looked at last
	track jaca.Track
}

// watch makes a worker sample the rows that it sends. All parts together sample at least jaca.SampleRows of each exchange, if
// there are so many.
func (w *worker) watch(x *exchange, c *jaca.Controller, seed uint64) {
	n := sampleRows(len(w.peers))
	w.watcher = &watcher{looks: c.ShouldSample}
	var size int
	for _, r := range x.relays {
		if !r.ages {
			continue // features do not drift
		}
		sent := map[graph.NodeID]bool{}
		for _, s := range r.senders[w.index] {
			theirs := &r.readers[s.reader]
			for b := range theirs.direct {
				for _, v := range theirs.vertices(b, s.at) {
					sent[v] = true
				}
			}
		}
		for _, owners := range r.global {
			for _, v := range owners[w.index] {
				sent[v] = true
			}
		}
		ids := slices.Sorted(maps.Keys(sent))
		rows := make([]int32, 0, n)
		for _, k := range jaca.Sample(ids, n, seed) {
			rows = append(rows, w.localOf[ids[k]])
		}
		k := &watched{traffic: r.traffic, rows: upload(w.ld, "sample rows", rows), width: w.train.ProbeWidth(r.layer, r.dir)}
		k.track.Gradients = r.dir == gnn.Backward
		k.host = make([]float32, len(rows)*k.width)
		size = max(size, len(k.host))
		w.watcher.exchanges = append(w.watcher.exchanges, k)
		w.watcher.lists = append(w.watcher.lists, rows)
	}
	w.watcher.stage = w.ld.alloc(4*gpu.Bytes(size), "sample rows")
	w.train.Probe = w.watcher.look(w)
}

// look returns what the pass calls with the rows of each exchange before dropout: those of the sample go to the host when a
// period ends, and the controller wants to see them.
func (k *watcher) look(w *worker) func(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
	return func(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
		for _, l := range k.exchanges {
			if l.exchangeID != (exchangeID{layer, dir}) || len(l.host) == 0 {
				continue
			}
			if looks, _ := k.looks(layer, w.epoch); !looks {
				continue
			}
			if rows.Cols != l.width {
				panic(fmt.Sprintf("pipeline: %v: %d columns to sample, planned %d", l.exchangeID, rows.Cols, l.width))
			}
			q.Gather(gpu.Matrix{Buf: k.stage, Rows: l.rows.Len, Cols: l.width, LD: l.width}, rows, l.rows)
			q.Download(hostmem.Bytes(l.host), k.stage, 0)
		}
	}
}

// observe lets the controller look at the drift of every layer after an epoch, and puts its schedules into force.
//
// Drift of rows of all parts is put together in part order; the 90th percentile of the direction that drifts more counts.
func (t *Trainer) observe(epoch int) []Drift {
	p, o := t.periods, &t.o.Cache
	if p.controller == nil {
		return nil
	}
	var watchers []*watcher
	for _, w := range t.workers {
		watchers = append(watchers, w.watcher)
	}
	var out []Drift
	var changed []int
	for _, layer := range p.aging() {
		for _, d := range p.drifts(watchers, epoch, layer, o.Staleness.EPS) {
			if p.controller.Observe(epoch, layer, d.Epochs, d.Q90) {
				changed = append(changed, layer)
			}
			out = append(out, d)
		}
	}
	for i := range out {
		s := p.controller.Schedule(out[i].Layer)
		if out[i].Period = s.Period; o.Pipeline && s.Lag == 0 {
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
	rows := map[exchangeID]map[int][]float64{} // by exchange and span
	for _, w := range watchers {
		for _, l := range w.exchanges {
			if l.layer != layer || len(l.host) == 0 {
				continue
			}
			if anew {
				l.track.Forget()
			}
			if rows[l.exchangeID] == nil {
				rows[l.exchangeID] = map[int][]float64{}
			}
			for _, d := range l.track.Take(epoch, l.schedule(), l.host, l.width) {
				rows[l.exchangeID][d.Epochs] = append(rows[l.exchangeID][d.Epochs], d.Rows...)
			}
		}
	}
	spans := map[int]Drift{}
	for _, dir := range []gnn.Direction{gnn.Forward, gnn.Backward} {
		for epochs, x := range rows[exchangeID{layer, dir}] {
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
