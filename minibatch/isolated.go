package minibatch

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/trainer"
	"capgnn/minibatch/sample"
	"capgnn/pipeline/chunks"
)

// Isolated has parts draw neighbours within two chunks of the graph (package chunks). The roots of a part are its
// targets; layer 0 draws from all neighbours, unless AllLayers. Devices are workers, which take turns if there are
// more chunks.
type Isolated struct {
	chunks.Isolated
	Of []int32 // chunk of every vertex
}

func (o *Options) checkIsolated(p *learn.Problem) (errs []error) {
	i := o.Isolated
	if i == nil {
		return nil
	}
	bad := func(format string, a ...any) {
		errs = append(errs, fmt.Errorf("isolated parts: "+format, a...))
	}
	errs = append(errs, i.Check(len(o.Devices), p.Vertices())...)
	if len(i.Of) != p.Vertices() {
		bad("%d chunk entries for %d vertices", len(i.Of), p.Vertices())
	} else if errs == nil {
		if _, err := chunks.New(i.Of, i.Count(len(o.Devices))); err != nil {
			errs = append(errs, err)
		}
	}
	if o.Sampling.Place != Batch || o.Shares != nil {
		bad("their roots are their targets: there is no place, and no share, to choose")
	}
	return append(errs, trainer.CheckIsolated(&i.Isolated, o.Model, o.Storage)...)
}

// isolation is what isolated parts share: what they hold when. It is read-only, but for what Trainer.hold prepares.
type isolation struct {
	*chunks.Turns[*pair] // the table is of ÂX, where each rank has all of it
	p                    *learn.Problem
	edges                [][]int64 // among the members of two chunks, in one direction
	steps                []int     // by phase: its first step in an epoch; and behind the last one
	fanout               int       // of roots
	hops                 int       // that are drawn within pairs
}

// unheld is before the first pairs.
var unheld = chunks.Moment{Phase: -1}

// newIsolation prepares isolated parts; nil where parts are not isolated. Options are valid.
func newIsolation(p *learn.Problem, o *Options) *isolation {
	if o.Isolated == nil {
		return nil
	}
	s := &isolation{p: p, fanout: o.Sampling.Fanout[0], hops: len(o.Sampling.Fanout)}
	i, workers, err := o.Isolated, len(o.Devices), error(nil)
	s.Turns, err = chunks.NewTurns(i.Isolated, i.Of, o.own(), workers, o.Epochs, p.Trains, s.pairOf)
	if err != nil {
		panic(err)
	}
	if s.Held = unheld; !s.AllLayers {
		s.hops--
	}
	s.edges = s.Pieces.Between(p.Graph)
	s.steps = []int{0}
	for phase := range s.Course.Count() {
		most := 0
		for shift := 1; shift <= s.Course.Shifts(); shift++ {
			n := 0
			for worker := range s.Course.Workers {
				n += s.targets(s.Course.Part(phase, worker), shift)
			}
			most = max(most, n)
		}
		s.steps = append(s.steps, s.steps[phase]+(most+o.Sampling.BatchSize-1)/o.Sampling.BatchSize)
	}
	return s
}

// targets returns how many a part has in a super-epoch; −1: there is no part.
func (s *isolation) targets(part, shift int) int {
	if part < 0 {
		return 0
	}
	at := s.Course.Pair(part, shift)
	if s.Targets == chunks.Both {
		return s.Course.Training[at.Base] + s.Course.Training[at.Added]
	}
	return s.Course.Training[at.Base]
}

func (s *isolation) phase(batch int) int {
	last := s.Course.Count() - 1
	return sort.Search(last, func(phase int) bool { return batch < s.steps[phase+1] })
}

// at returns what parts hold in a step of an epoch.
func (s *isolation) at(epoch, batch int) chunks.Moment {
	return chunks.Moment{Shift: s.Course.Shift(epoch), Phase: s.phase(batch)}
}

// span returns which targets of a worker's part are its roots in a step, and which part that is; −1: none.
func (s *isolation) span(epoch, batch, worker int) (part, lo, hi int) {
	at := s.at(epoch, batch)
	first, steps, before := s.steps[at.Phase], s.steps[at.Phase+1]-s.steps[at.Phase], 0
	part = s.Course.Part(at.Phase, worker)
	for w := range worker {
		before += s.targets(s.Course.Part(at.Phase, w), at.Shift)
	}
	n, from, k := s.targets(part, at.Shift), before%max(1, steps), batch-first
	if n == 0 || steps == 0 {
		return part, 0, 0
	}
	return part, (n*k + from) / steps, (n*(k+1) + from) / steps
}

// most returns how many roots a worker has in a step, at most.
func (s *isolation) most(worker int) (most int) {
	for phase := range s.Course.Count() {
		steps := max(1, s.steps[phase+1]-s.steps[phase])
		for shift := 1; shift <= s.Course.Shifts(); shift++ {
			most = max(most, (s.targets(s.Course.Part(phase, worker), shift)+steps-1)/steps)
		}
	}
	return most
}

// order puts the targets of a part in the order of an epoch.
func (s *isolation) order(part, epoch int, seed uint64, into []graph.NodeID) []graph.NodeID {
	at := s.Course.Pair(part, s.Course.Shift(epoch))
	held := []int{at.Base}
	if s.Targets == chunks.Both {
		held = append(held, at.Added)
	}
	list := make([]graph.NodeID, 0, s.targets(part, s.Course.Shift(epoch)))
	for _, k := range held {
		for _, v := range s.Pieces.Members[k] {
			if s.Train[v] {
				list = append(list, v)
			}
		}
	}
	return sample.Order(list, seed, uint32(epoch), into)
}

// pair is what a worker holds: its part's two chunks.
type pair struct {
	*chunks.View
	s           *isolation
	part, shift int        // −1: there is no part
	graph       *graph.CSR // edges among the chunks' vertices
	covered     chunks.Coverage
	weights     chunks.Weights // of edges
}

// pairOf makes what a part holds in a super-epoch; −1: there is no part.
func (s *isolation) pairOf(part, shift int) *pair {
	if part < 0 {
		return &pair{s: s, part: part, shift: shift, graph: s.p.Graph, covered: chunks.Coverage{Ratio: 1}}
	}
	v := s.Pieces.View(s.p.Graph, s.Course.Pair(part, shift))
	x := &pair{View: v, s: s, part: part, shift: shift, graph: v.Graph(), covered: v.Coverage(s.Targets, s.Train)}
	if s.Correction.EdgeWeights() {
		x.weights = v.Weights(s.Correction, s.Targets, s.Train)
	}
	return x
}

// within has a sampler draw what the pair's worker reads.
func (x *pair) within(s *sample.Sampler) { s.Within(x.graph, x.s.hops, !x.s.Correction.EdgeWeights()) }

// weighRoots writes what the losses of roots weigh, by the coverage of what is drawn: of these roots (Grappa, Eq. 7
// and 10), and of the neighbours that they keep (Eq. 12, in which a sum below 1 counts as 1: see chunks.Resampling).
func (x *pair) weighRoots(into []float32, roots []graph.NodeID) {
	covered, resampled := 0.0, 0.0
	for i, v := range roots {
		at := x.Index(v)
		ratio := x.Ratio(at)
		into[i] = float32(ratio)
		covered += ratio
		if k := min(int(x.Local[at]), x.s.fanout); k > 0 {
			resampled += (1/ratio - 1) * float64(k)
		}
	}
	factor := covered / float64(max(1, len(roots)))
	switch x.s.Correction {
	case chunks.Node:
		return
	case chunks.Resampling:
		factor = 1 / max(1, resampled)
	}
	for i := range into {
		into[i] = float32(factor)
	}
}

// weighEdges multiplies the values of a block's entries, or, turned, of those of its transpose, by what the correction
// makes of edges.
func (x *pair) weighEdges(val []float32, b *sample.Block, ids []graph.NodeID, turned bool) {
	for r := range b.Rows {
		for e := b.Begin[r]; e < b.Begin[r+1]; e++ {
			v, u := ids[r], ids[b.Indices[e]]
			if turned {
				v, u = u, v
			}
			val[e] *= x.Edge(&x.weights, u, v)
		}
	}
}

// hold brings the pairs of a step's moment to the workers of this process, whose samplers are idle, and begins to make
// those behind them.
func (t *Trainer) hold(step int) {
	s := t.roots.isolation
	if s == nil {
		return
	}
	s.Hold(step/t.roots.steps, s.phase(step%t.roots.steps), func(take func() []*pair) error {
		began := time.Now()
		for i, x := range take() {
			t.workers[i].stage.pair = x
		}
		if s.Held != unheld { // the first pairs are no switch
			t.switching += time.Since(began)
		}
		return nil
	})
	for _, w := range t.workers {
		for _, x := range w.samplers {
			w.stage.pair.within(x)
		}
	}
}

// bytes is what pairs of some workers take at most, those that are held and those behind them, and what all share.
func (s *isolation) bytes(own graph.Range) gpu.Bytes {
	n := int64(len(s.Train))
	all := 13 * n // place, train, members of chunks, and workers of vertices
	for worker := own.Lo; worker < own.Hi; worker++ {
		most := int64(0)
		for _, part := range s.Course.PartsOf(worker) {
			for shift := 1; shift <= s.Course.Shifts(); shift++ {
				at := s.Course.Pair(part, shift)
				size := 20 * int64(len(s.Pieces.Members[at.Base])+len(s.Pieces.Members[at.Added])) // of the view, and weights
				if s.Course.Chunks > 2 {
					size += 8*(n+1) + 4*s.within(at)
				}
				most = max(most, size)
			}
		}
		all += 2 * most
	}
	return gpu.Bytes(all)
}

// stretch returns the first step of an epoch from one on whose phase has targets, and the one behind the last of that
// phase.
func (s *isolation) stretch(epoch, from int) (first, end int) {
	for from < s.steps[len(s.steps)-1] && s.Course.Share(s.at(epoch, from)) == 0 {
		from = s.steps[s.phase(from)+1]
	}
	return from, s.steps[s.phase(from)+1]
}

// horizon returns the step of a run behind the last one that samples what parts hold in a step.
func (s *isolation) horizon(step, steps int) int {
	epoch := step / steps
	if s.Course.Count() > 1 {
		return epoch*steps + s.steps[s.phase(step%steps)+1]
	}
	for epoch++; epoch < s.Course.Schedule.Epochs && s.Course.Shift(epoch) == s.Course.Shift(epoch-1); epoch++ {
	}
	return epoch * steps
}

// within returns how many edges are among the members of a pair.
func (s *isolation) within(at chunks.Pair) int64 {
	a, b := at.Base, at.Added
	return s.edges[a][a] + s.edges[a][b] + s.edges[b][a] + s.edges[b][b]
}

// mostProbed is how many super-epochs are looked at to see how large steps are, and how many pairs of a worker for how
// large they can get.
const mostProbed = 4

// largest returns the first steps of a run in which a worker holds the pairs that have the most edges.
func (s *isolation) largest(worker, steps int) (list []int) {
	size := map[int]int64{} // by step
	for phase := range s.Course.Count() {
		part := s.Course.Part(phase, worker)
		for epoch := range s.Course.Schedule.Epochs {
			if shift := s.Course.Shift(epoch); part >= 0 && (epoch == 0 || shift != s.Course.Shift(epoch-1)) {
				step := epoch*steps + s.steps[phase]
				size[step] = s.within(s.Course.Pair(part, shift))
				list = append(list, step)
			}
		}
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b)) })
	return list[:min(mostProbed, len(list))]
}

// spread returns which step is the k-th of so many that are sampled before a run: they are of several super-epochs.
func (s *isolation) spread(batch, k, all, steps int) int {
	if batch >= steps {
		return batch
	}
	epochs := s.Course.Schedule.Epochs
	some := min(mostProbed, s.Course.Shifts(), epochs)
	return batch + epochs*(k*some/all)/some*steps
}

// look has a sampler and a stage look at a step of a run, and returns how many edges the pair has if it was made anew.
func (s *isolation) look(x *sample.Sampler, g *stage, batch, steps int) (edges int64) {
	at := s.at(batch/steps, batch%steps)
	if part := s.Course.Part(at.Phase, g.part); g.pair == nil || g.pair.part != part || g.pair.shift != at.Shift {
		g.pair = s.pairOf(part, at.Shift)
		edges = g.pair.graph.Edges()
	}
	g.pair.within(x)
	return edges
}
