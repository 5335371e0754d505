package pipeline

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/long"
	"capgnn/internal/meet"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// archive is the slow and plain truth about stale rows: every row of every epoch is kept on the host, and a reader gets the
// version that the schedule names. It stands in for the exchanges of a part, with their halo matrices.
type archive struct {
	tr   *Trainer
	w    *worker
	at   []halo.Placement
	past *history
	// version returns the epoch of a row that a dynamic policy names, of a part that has it as a halo row; nil: the policy is static.
	version func(id halo.ID, epoch, part, halo int) int
}

type history struct {
	mu   sync.Mutex
	cond *sync.Cond
	rows map[string][]byte // by exchange, epoch and part
}

func (s *history) put(key string, rows []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[key] = rows
	s.cond.Broadcast()
}

func (s *history) get(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.rows[key] == nil {
		s.cond.Wait()
	}
	return s.rows[key]
}

func (a archive) BeginEpoch(gpu.Queue) {}
func (a archive) EndEpoch(gpu.Queue)   {}
func (a archive) Lags() bool           { return false }

func (a archive) key(l halo.ID, epoch, part int) string { return fmt.Sprint(l, epoch, part) }

func (a archive) Begin(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
	host := make([]byte, rows.Rows*rows.Cols*rows.Type.Size()+1)
	if rows.Rows > 0 {
		if rows.LD != rows.Cols {
			panic("rows with gaps")
		}
		q.Download(host[:len(host)-1], rows.Buf, gpu.Bytes(rows.Off*rows.Type.Size()))
	}
	if err := q.Sync(); err != nil {
		meet.Stop(err)
	}
	epoch := a.tr.hub.Epoch
	a.past.put(a.rawKey(halo.ID{Layer: layer, Dir: dir}, epoch, a.w.index), slices.Clone(host))
	blur(&a.tr.o, halo.ID{Layer: layer, Dir: dir}, rows, host, a.sent(halo.ID{Layer: layer, Dir: dir}, rows.Rows), epoch)
	a.past.put(a.key(halo.ID{Layer: layer, Dir: dir}, epoch, a.w.index), host)
}

func (a archive) Wait(q gpu.Queue, layer int, dir gnn.Direction) gpu.Matrix {
	id, now := halo.ID{Layer: layer, Dir: dir}, a.tr.hub.Epoch
	index := slices.IndexFunc(a.at, func(p halo.Placement) bool { return p.ID == id })
	at, schedule, table := a.at[index], a.tr.halo.Schedules()[index], tableOf(a.tr.Caches(), id)
	halo := at.Halo
	size := halo.Cols * halo.Type.Size()
	if c := &a.tr.o.Cache; c.BackwardExact && dir == gnn.Backward && a.tr.plan.Ages(layer) && now >= c.ExactEpochs {
		q.Fill(halo, 0)
		return halo
	}
	for k, in := range a.incoming(id) {
		row, epoch := k, schedule.Fresh(now)
		if at.Row != nil {
			row = int(at.Row[k])
		}
		if row < 0 {
			continue
		}
		class := -1
		if table != nil && a.version != nil {
			epoch = a.version(id, now, a.w.index, k)
		} else if table != nil && table.Readers[a.w.index].Class[k] >= 0 {
			class = int(table.Readers[a.w.index].Class[k])
			epoch = schedule.Version(class, now)
		}
		from := a.past.get(a.key(id, epoch, in.owner))
		first := in.source * size
		if in.source < 0 || first+size > len(from) {
			continue // not exchanged: the owner has no such row in this layer
		}
		value := from[first : first+size]
		if class >= 0 && a.tr.o.Cache.Smoothing > 0 && schedule.Bound() > 0 {
			value = a.average(keptRow{id: id, vertex: in.vertex, owner: in.owner, first: first, cols: halo.Cols, dtype: halo.Type,
				published: table.Readers[a.w.index].Global[k] >= 0}, schedule, class, now)
		}
		q.Upload(halo.Buf, gpu.Bytes(halo.Off*halo.Type.Size()+row*size), value)
	}
	return halo
}

// incoming is where a halo row comes from.
type incoming struct {
	owner, source int // part, and row of its matrix; −1: none
	vertex        graph.NodeID
}

// incoming lists the halo rows of an exchange, by halo index. Gradients that are returned are of the parts that read a vertex of this one, by part and by
// their halo indices.
func (a archive) incoming(id halo.ID) []incoming {
	var out []incoming
	if !a.returns(id) {
		b := &a.w.part.In
		if id.Dir == gnn.Backward {
			b = &a.w.part.Out
		}
		for k, v := range b.IDs {
			out = append(out, incoming{ownerOf(b, k), int(a.tr.cut.LocalOf[v]), v})
		}
		return out
	}
	for j, p := range a.tr.layout.kept.Parts {
		rows := a.tr.workers[j].trainHalo.(archive).rowsRead(id.Layer)
		lo, hi := p.In.Owners.Of(a.w.index)
		for h := lo; h < hi; h++ {
			out = append(out, incoming{j, rows[h], p.In.IDs[h]})
		}
	}
	return out
}

// returns reports whether the rows of an exchange are gradients that are returned.
func (a archive) returns(id halo.ID) bool {
	return id.Dir == gnn.Backward && a.tr.plan.Layers[id.Layer].Returns
}

// rowsRead returns, by halo index, the row of the forward halo matrix of a layer.
func (a archive) rowsRead(layer int) []int {
	out := make([]int, len(a.tr.layout.kept.Parts[a.w.index].In.IDs))
	k := slices.IndexFunc(a.at, func(p halo.Placement) bool { return p.ID == halo.ID{Layer: layer, Dir: gnn.Forward} })
	for h := range out {
		if out[h] = h; a.at[k].Row != nil {
			out[h] = int(a.at[k].Row[h])
		}
	}
	return out
}

// sent returns the vertices of the rows that a part offers in an exchange.
func (a archive) sent(id halo.ID, rows int) []graph.NodeID {
	if !a.returns(id) {
		return a.w.part.Inner
	}
	out := make([]graph.NodeID, rows)
	for h, row := range a.rowsRead(id.Layer) {
		if row >= 0 {
			out[row] = a.tr.layout.kept.Parts[a.w.index].In.IDs[h]
		}
	}
	return out
}

// tableOf returns the table of an exchange; nil: its rows have no slots.
func tableOf(p *jaca.Plan, id halo.ID) *jaca.Table {
	if p == nil {
		return nil
	}
	for _, t := range p.Tables {
		if t.Layer == id.Layer && t.Dir == id.Dir {
			return t
		}
	}
	return nil
}

// ownerOf returns the part that owns a halo row.
func ownerOf(b *graph.Block, k int) int {
	for o, owner := range b.Owners.Parts {
		if k < b.Owners.At[o+1] {
			return int(owner)
		}
	}
	panic("no owner")
}

// replaceByHistory puts the plain truth in place of a trainer's exchanges.
func replaceByHistory(tr *Trainer) {
	s := &history{rows: map[string][]byte{}}
	s.cond = sync.NewCond(&s.mu)
	version := versions(tr)
	for _, w := range tr.workers {
		w.trainHalo = archive{tr, w, w.trainHalo.(*halo.Exchange).Placements(), s, version}
	}
}

// staleCase is a way to keep rows.
type staleCase struct {
	policy        jaca.Policy
	local, global string
	staleness     int
	pipeline      bool
	peers         bool
	halo          halo.Encoding
	gamma         float64
}

func (c staleCase) String() string {
	return fmt.Sprintf("%s/%s,%s/s=%d/pipeline=%t/peers=%t/%v/smoothing=%g", c.policy, c.local, c.global, c.staleness, c.pipeline, c.peers, c.halo, c.gamma)
}

func (c staleCase) cache(t testing.TB) halo.Options {
	size := func(s string) jaca.Size {
		v, err := jaca.ParseSize(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return halo.Options{Policy: c.policy, Local: size(c.local), Global: size(c.global), Staleness: jaca.Staleness{Bound: c.staleness}, Pipeline: c.pipeline,
		HaloType: c.halo, Smoothing: c.gamma, Host: hostmem.LockOptions{Heap: true}}
}

func (c staleCase) devices(t *testing.T, n int) []gpu.Device {
	if c.peers {
		return cpus(t, n)
	}
	return islands(t, n)
}

// staleCases are combinations that between them use every way of a row.
func staleCases() []staleCase {
	var out []staleCase
	for _, policy := range []jaca.Policy{jaca.JACA, jaca.Paper, jaca.None, jaca.LowOverlap} {
		for _, size := range [][2]string{{"auto", "auto"}, {"30%", "40%"}, {"0", "50%"}, {"50%", "0"}} {
			if policy == jaca.None && size[0] != "auto" {
				continue
			}
			for _, s := range []int{1, 2, 4} {
				for _, pipeline := range []bool{false, true} {
					for _, peers := range []bool{false, true} {
						out = append(out, staleCase{policy, size[0], size[1], s, pipeline, peers, halo.FP32, 0})
					}
				}
			}
		}
	}
	return out
}

// kindOf returns the model that case n of a list is tried with.
func kindOf(n int) gnn.Kind { return gnn.Kinds[(n+n/4+n/16)%len(gnn.Kinds)] }

// staleValues returns the values of such cases, for takes.
func staleValues(cases []staleCase) [][]any {
	var out [][]any
	for n, c := range cases {
		out = append(out, []any{kindOf(n), c.policy, c.local + "," + c.global, c.staleness, c.pipeline, c.peers, c.halo, c.gamma})
	}
	return out
}

// Rows that are kept, cached on the host, sent ahead or sent at once: the weights are those of the plain truth, bit for bit.
func TestStaleRowsAreThoseOfTheSchedule(t *testing.T) {
	const parts, epochs = 3, 9
	cases := staleCases()
	for n, c := range staleCases() {
		if n%2 == 0 {
			c.halo = []halo.Encoding{halo.BF16, halo.Int8}[n/2%2]
			cases = append(cases, c)
		}
	}
	taken := takes(t, 3, staleValues(cases))
	for n, c := range cases {
		if !taken[n] {
			continue
		}
		kind := kindOf(n)
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			hashes := [2]string{}
			for k := range hashes {
				tr := newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.Cache = epochs, c.cache(t)
				})
				if k == 1 {
					replaceByHistory(tr)
				}
				hashes[k] = run(t, tr).WeightsSHA
			}
			if hashes[0] != hashes[1] {
				t.Error("weights differ from those with the rows that the schedule names")
			}
		})
	}
}

// At staleness 0 nothing depends on what is kept where.
func TestExactWhateverIsCached(t *testing.T) {
	const parts = 4
	type exactCase struct {
		staleCase
		kind     gnn.Kind
		directed bool
	}
	var cases []exactCase
	var values [][]any
	for n, kind := range gnn.Kinds {
		for k, c := range append(staleCases(), dynamicCases()...) {
			if c.staleness > 1 {
				continue
			}
			c.staleness, c.halo = 0, halo.Encoding((k+n)%3)
			cases = append(cases, exactCase{c, kind, n%2 == 0})
			values = append(values, []any{kind, c.policy, c.local + "," + c.global, c.pipeline, c.peers, c.halo})
		}
	}
	train := func(c exactCase) string {
		p, m := task{share: 0.2, directed: c.directed}.make(t, c.kind)
		tr := newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) { o.Epochs, o.Cache = 4, c.cache(t) })
		defer tr.Close()
		return run(t, tr).WeightsSHA
	}
	want := map[string]string{} // by model and encoding, without caches
	for i, taken := range takes(t, 3, values) {
		if !taken {
			continue
		}
		c, name := cases[i], fmt.Sprint(cases[i].kind, " ", cases[i].halo)
		if want[name] == "" {
			plain := c
			plain.policy, plain.peers = jaca.None, !c.peers
			want[name] = train(plain)
		}
		if train(c) != want[name] {
			t.Errorf("%s, %v: weights differ from those without caches", c.kind, c.staleCase)
		}
	}
}

// Periods that follow drift change nothing but which version is used: the weights are those of the plain truth.
func TestAdaptiveRowsAreThoseOfTheSchedule(t *testing.T) {
	t.Parallel()
	const parts, epochs = 3, 60
	for n, kind := range gnn.Kinds {
		for _, pipeline := range []bool{false, true} {
			if pipeline != (n%2 > 0) && !long.Wanted() {
				continue
			}
			p, m := task{share: 0.2}.make(t, kind)
			m.Dropout, m.Layers = 0, 4
			hashes, periods := [2]string{}, map[int]bool{}
			for k := range hashes {
				tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs = epochs
					o.Optimizer.LR = 0.001
					o.Cache = staleCase{policy: jaca.Paper, local: "50%", global: "30%", pipeline: pipeline}.cache(t)
					o.Cache.Staleness = jaca.Staleness{Bound: 8, EPS: 0.2}
					o.OnEpoch = func(e EpochStats) error {
						for _, d := range e.Drift {
							periods[d.Period] = true
						}
						return nil
					}
				})
				if k == 1 {
					replaceByHistory(tr)
				}
				hashes[k] = run(t, tr).WeightsSHA
			}
			if hashes[0] != hashes[1] {
				t.Errorf("%s, pipeline %t: weights differ from those with the rows that the schedule names", kind, pipeline)
			}
			if len(periods) < 2 && n == 0 {
				t.Errorf("%s, pipeline %t: periods %v: nothing adapted", kind, pipeline, periods)
			}
			t.Log(kind, pipeline, periods)
		}
	}
}

// A part may read none of its halo rows in a layer in which others read some.
func TestPartThatReadsNothing(t *testing.T) {
	const parts = 3
	for _, kind := range gnn.Kinds {
		p, m := task{}.make(t, kind)
		m.Layers = 2
		alone, other := -1, -1 // vertices that train
		part := scatterParts(p.Vertices(), parts)
		for v := range p.Vertices() {
			switch {
			case p.Targets == nil && p.Labels[v] < 0:
			case alone < 0:
				alone, p.Train[v] = v, true
				for _, u := range p.Graph.Row(v) {
					part[u] = part[v]
				}
			case other < 0 && part[v] != part[alone]:
				other, p.Train[v] = v, true
			}
		}
		hashes := map[string]bool{}
		for _, policy := range []jaca.Policy{jaca.None, jaca.JACA, jaca.Paper} {
			for _, c := range []staleCase{{policy, "auto", "auto", 0, true, true, halo.FP32, 0}, {policy, "0", "auto", 0, true, false, halo.FP32, 0}, {policy, "auto", "0", 0, true, false, halo.FP32, 0}} {
				tr := newTrainer(t, p, m, c.devices(t, parts), part, func(o *Options) { o.Epochs, o.Cache = 3, c.cache(t) })
				hashes[run(t, tr).WeightsSHA] = true
			}
		}
		if len(hashes) != 1 {
			t.Errorf("%v: %d different weights", kind, len(hashes))
		}
	}
}
