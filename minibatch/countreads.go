package minibatch

import (
	"slices"

	"capgnn/graph"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// read is what a part reads at once.
type read struct {
	remote []graph.NodeID // rows of other parts, each once, in the order in which they are read
	counts Counts         // roots, edges, rows read and local
}

// reader draws what one part reads, step by step.
type reader struct {
	t       *Trace
	part    int
	roots   *roots // of its own: readers may be in different epochs
	sampler *sample.Sampler
	stack   sample.Stack
	now     []graph.NodeID // roots that are drawn
	read    []int32        // by vertex: the last turn that read it, plus 1
	first   int            // the step of kept[0]
	kept    []read
}

func (t *Trace) reader(part int) *reader {
	return &reader{t: t, part: part, roots: newRoots(t.p, t.o), sampler: sample.New(sample.Topology{Graph: t.p.Graph, Loops: t.p.Loops}, t.rules),
		read: make([]int32, t.p.Vertices())}
}

// at returns what a turn reads. Turns are drawn once, and kept until drop says that those before one are not asked for again.
func (r *reader) at(turn int) *read {
	for r.first+len(r.kept) <= turn {
		r.kept = append(r.kept, r.draw(r.first+len(r.kept)))
	}
	return &r.kept[turn-r.first]
}

func (r *reader) drop(before int) {
	r.kept = slices.Delete(r.kept, 0, before-r.first)
	r.first = before
}

// draw samples what the part asks for at once: the units of a step, or with Hop and without gathering one of them.
func (r *reader) draw(turn int) (x read) {
	t, step := r.t, turn/r.t.turns
	for unit := range r.roots.units {
		if t.turns == 1 || turn%t.turns == unit {
			r.now = r.roots.of(step, r.part, unit, r.now)
			r.unit(step, int32(turn)+1, &x)
		}
	}
	return x
}

// away reports whether the home of a vertex is another part.
func (r *reader) away(v graph.NodeID) bool { return r.t.o.Part != nil && int(r.t.o.Part[v]) != r.part }

// unit adds what the roots in r.now read. A row counts once, whichever of the roots that are drawn together read it.
func (r *reader) unit(step int, stamp int32, x *read) {
	r.sampler.Draw(&r.stack, uint32(step), r.now)
	x.counts.Roots += int64(len(r.now))
	x.counts.Edges += r.stack.Edges
	for _, v := range r.stack.IDs {
		if r.read[v] == stamp {
			continue
		}
		r.read[v] = stamp
		x.counts.Rows.Read++
		if r.away(v) {
			x.remote = append(x.remote, v)
		} else {
			x.counts.Rows.Local++
		}
	}
}

// world is what policies know, of a run of so many turns.
func (r *reader) world(turns int) rowcache.World {
	t := r.t
	return rowcache.World{
		Vertices: t.p.Vertices(), Remote: remoteOf(t.o, r.part), Steps: t.Steps * t.turns, Halo: rowcache.Halo(t.p.Graph, t.o.Part, int32(r.part)),
		Degree: func(v graph.NodeID) int { return len(t.p.Graph.Row(int(v))) },
		Ahead: func(turn int) ([]graph.NodeID, bool) {
			if turn >= turns {
				return nil, false
			}
			return r.at(turn).remote, true
		},
	}
}
