package halo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/jaca"
)

// netOf returns a model of settings that are right.
func netOf(m named.Model) gnn.Config { return named.Config(m, gnn.NewModel) }

// team is the parts of a run without a model: rows of a known content are exchanged, and every halo row is looked at.
type team struct {
	plan   *Plan
	ends   []*Endpoint
	train  []*Exchange
	hub    *meet.Hub
	cancel context.CancelCauseFunc
	memory []*teamMemory
	closed func()
	open   []gpu.Device
	first  int             // epoch
	rows   [][2]gpu.Matrix // by part: what it sends forward and backward, one exchange after the other
}

// alone hides peer access: rows between such devices go through host memory.
type alone struct{ gpu.Device }

type aloneQueue struct{ gpu.Queue }

func (d alone) NewQueue(name string) gpu.Queue { return aloneQueue{d.Device.NewQueue(name)} }

// teamMemory is a part's memory.
type teamMemory struct {
	dev  gpu.Device
	q    gpu.Queue
	bufs []gpu.Buffer
	err  error
}

func (m *teamMemory) Alloc(size gpu.Bytes, name string) gpu.Buffer {
	b, err := m.dev.Alloc(size, name)
	if m.err = errors.Join(m.err, err); err == nil {
		m.bufs = append(m.bufs, b)
	}
	return b
}

func (m *teamMemory) Upload(name string, list []int32) gpu.Ints {
	if len(list) == 0 {
		return gpu.Ints{}
	}
	b := m.Alloc(4*gpu.Bytes(len(list)), name)
	m.q.Upload(b, 0, hostmem.Bytes(list))
	return gpu.Ints{Buf: b, Len: len(list)}
}

func (m *teamMemory) Pin(_ string, size gpu.Bytes) []byte { return make([]byte, size) }

const teamWidth = 8

// newTeam returns parts of a random graph, of three layers, that exchange by the options.
func newTeam(t *testing.T, o Options, parts int, peers bool) *team {
	t.Helper()
	x, config := gatherTeam(t, o, parts, peers, graph.Range{Lo: 0, Hi: parts})
	config.Facts = config.OwnFacts()
	x.place(t, config)
	return x
}

// gatherTeam returns the parts of a range, which nothing has been planned for.
func gatherTeam(t *testing.T, o Options, parts int, peers bool, own graph.Range) (*team, Config) {
	t.Helper()
	const n = 90
	g, err := synth.Random(n, 3*n, parts == 3, 11)
	if err != nil {
		t.Fatal(err)
	}
	part, seeds := make([]int32, n), make([]bool, n)
	for v := range part {
		part[v], seeds[v] = int32((v*7+v/3)%parts), v%3 > 0
	}
	c, err := graph.SplitRange(g, 0, part, parts, own, graph.Needed(g, seeds, 3, nil), 3, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	x := &team{}
	ctx, x.cancel = context.WithCancelCause(context.Background())
	x.hub = meet.NewHub(ctx, time.Minute)
	for i := own.Lo; i < own.Hi; i++ {
		var dev gpu.Device
		dev, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		x.open = append(x.open, dev)
		if !peers {
			dev = alone{dev}
		}
		e := &Endpoint{Part: i, Device: dev, Waits: &meet.Waits{Hub: x.hub, Part: i, Device: dev.Info().Name}, Compute: dev.NewQueue("compute"),
			Local: dev.NewQueue("local"), Prefetch: dev.NewQueue("prefetch"), Out: dev.NewQueue("out")}
		m := &teamMemory{dev: dev, q: e.Compute}
		e.Memory, x.memory, x.ends = m, append(x.memory, m), append(x.ends, e)
	}
	Connect(x.ends, parts, false)
	order := gnn.Plan{Input: gnn.Precomputed, Layers: make([]gnn.LayerPlan, 3)}
	model := named.Model{Kind: named.SAGE, Layers: 3, Hidden: teamWidth, In: teamWidth, Out: teamWidth, Seed: 5}
	return x, Config{Options: o, Model: netOf(model), Order: order, Cuts: Cuts{c, c}, Ends: x.ends, Hub: x.hub, Log: slog.New(slog.DiscardHandler)}
}

// place plans what the parts exchange, and gives them their memory.
func (x *team) place(t *testing.T, config Config) {
	t.Helper()
	var err error
	if x.plan, err = NewPlan(config); err != nil {
		t.Fatal(err)
	}
	for i, m := range x.memory {
		train, _ := x.plan.Attach(x.ends[i].Part)
		x.train = append(x.train, train)
		var rows [2]gpu.Matrix
		for k := range rows {
			inner := len(config.Cuts.Whole.Parts[x.ends[i].Part].Inner)
			rows[k] = gpu.Matrix{Buf: m.Alloc(4*gpu.Bytes(inner*teamWidth), "rows"), Rows: inner, Cols: teamWidth, LD: teamWidth}
		}
		x.rows = append(x.rows, rows)
		if m.err != nil {
			t.Fatal(m.err)
		}
	}
	x.closed = func() {
		x.cancel(errors.New("closed"))
		for _, e := range x.ends {
			e.Waits.Settle(queuesOf(e)...)
		}
		for i, m := range x.memory {
			for _, b := range m.bufs {
				b.Free()
			}
			if err := x.open[i].Close(); err != nil {
				t.Error(err)
			}
		}
		x.plan.Close()
	}
}

// content is a row of an epoch as its owner makes it.
func content(id ID, epoch int, v graph.NodeID) float32 {
	return float32(int(v)*4096 + epoch*64 + id.Layer*8 + int(id.Dir))
}

// epochs runs epochs on all parts. Every row that a part reads is compared with that of the epoch that the schedule names.
func (x *team) epochs(n int) error {
	for epoch := x.first; epoch < x.first+n; epoch++ {
		x.hub.Epoch = epoch
		errs, done := make([]error, len(x.ends)), make(chan struct{})
		for i := range x.ends {
			go func() {
				if errs[i] = x.part(i, epoch); errs[i] != nil {
					x.cancel(errs[i])
				}
				done <- struct{}{}
			}()
		}
		for range x.ends {
			<-done
		}
		err := meet.RootCause(errs, 0, func(err error) bool {
			var version *hostmem.VersionFault
			return errors.As(err, &version)
		})
		if err != nil {
			return fmt.Errorf("epoch %d: %w", epoch, err)
		}
		x.plan.EndEpoch(epoch)
	}
	return nil
}

// part runs an epoch on one part.
func (x *team) part(i, epoch int) error {
	e, train := x.ends[i], x.train[i]
	var wrong error
	err := meet.Guard(func() {
		train.BeginEpoch(e.Compute)
		for _, at := range train.Placements() {
			x.fill(i, at.ID, epoch)
			train.Begin(e.Compute, at.Layer, at.Dir, x.rows[i][at.Dir])
			halo := train.Wait(e.Compute, at.Layer, at.Dir)
			got := make([]float32, halo.Rows*halo.Cols)
			for _, row := range x.read(i, at) { // the rows between them belong to other exchanges
				if row >= 0 {
					e.Compute.Download(hostmem.Bytes(got[row*halo.Cols:][:halo.Cols]), halo.Buf, 4*gpu.Bytes(halo.Off+row*halo.LD))
				}
			}
			if err := e.Waits.Settle(e.Compute); err != nil {
				meet.Stop(err)
			}
			wrong = errors.Join(wrong, x.compare(i, at, epoch, got))
		}
		train.EndEpoch(e.Compute)
	})
	if err == nil && (wrong != nil || !train.Lags()) {
		err = e.Waits.Settle(queuesOf(e)...)
	}
	if err == nil {
		err = wrong
	}
	return err
}

// fill writes the rows of a part.
func (x *team) fill(i int, id ID, epoch int) {
	m := x.rows[i][id.Dir]
	host := make([]float32, m.Rows*m.Cols)
	for r, v := range x.plan.Cuts.Whole.Parts[x.ends[i].Part].Inner {
		for j := range teamWidth {
			host[r*teamWidth+j] = content(id, epoch, v) + float32(j)/16
		}
	}
	x.ends[i].Compute.Upload(m.Buf, 0, hostmem.Bytes(host))
}

// block returns a part's halo rows of a direction.
func (x *team) block(i int, dir gnn.Direction) *graph.Block {
	if dir == gnn.Backward {
		return &x.plan.Cuts.Whole.Parts[x.ends[i].Part].Out
	}
	return &x.plan.Cuts.Whole.Parts[x.ends[i].Part].In
}

// read returns, by halo index, the rows of the halo matrix that a layer reads; −1: it does not exchange this one.
func (x *team) read(i int, at Placement) []int {
	b := x.block(i, at.Dir)
	rows := make([]int, len(b.IDs))
	for h := range rows {
		switch rows[h] = h; {
		case int(b.Levels[h]) < at.Layer+1:
			rows[h] = -1
		case at.Row != nil:
			rows[h] = int(at.Row[h])
		}
	}
	return rows
}

// compare compares the rows that a part has read with those that it should have.
func (x *team) compare(i int, at Placement, now int, got []float32) error {
	b := x.block(i, at.Dir)
	k := slices.IndexFunc(x.train[i].Placements(), func(p Placement) bool { return p.ID == at.ID })
	schedules := x.plan.Schedules()
	for h, row := range x.read(i, at) {
		if row < 0 {
			continue
		}
		schedule, o := schedules[k], 0
		for h >= b.Owners.At[o+1] {
			o++
		}
		across := x.plan.rank(int(b.Owners.Parts[o])) != x.plan.rank(x.ends[i].Part)
		if across {
			schedule = schedules[len(schedules)/2+k]
		}
		v, epoch := b.IDs[h], schedule.Fresh(now)
		if p := x.plan.Caches(); p != nil {
			for _, table := range p.Tables {
				if table.Layer == at.Layer && table.Dir == at.Dir && table.Readers[x.ends[i].Part].Class[h] >= 0 {
					class := int(table.Readers[x.ends[i].Part].Class[h])
					if across {
						class -= table.Period
					}
					epoch = schedule.Version(class, now)
				}
			}
		}
		if want := content(at.ID, epoch, v); got[row*teamWidth] != want || got[row*teamWidth+teamWidth-1] != want+float32(teamWidth-1)/16 {
			return fmt.Errorf("epoch %d, part %d, %v: halo row %d is %v, want %v of epoch %d", now, x.ends[i].Part, at.ID, h, got[row*teamWidth:][:teamWidth], want, epoch)
		}
	}
	return nil
}

// teamCase is a way to keep rows.
type teamCase struct {
	local, global   string
	staleness       int
	pipeline, peers bool
}

func (c teamCase) String() string {
	return fmt.Sprintf("%s,%s/s=%d/pipeline=%t/peers=%t", c.local, c.global, c.staleness, c.pipeline, c.peers)
}

// teamCases are those in which refreshes are broken.
func teamCases() []teamCase {
	var out []teamCase
	for _, size := range [][2]string{{"30%", "40%"}, {"0", "50%"}, {"50%", "0"}, {"auto", "auto"}} {
		for _, pipeline := range []bool{false, true} {
			for _, peers := range []bool{false, true} {
				out = append(out, teamCase{size[0], size[1], 3, pipeline, peers})
			}
		}
	}
	return out
}

// run runs epochs of three parts; edit may change them before.
func (c teamCase) run(t *testing.T, edit func(*team)) error {
	t.Helper()
	size := func(s string) jaca.Size {
		v, err := jaca.ParseSize(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	x := newTeam(t, Options{Policy: jaca.Paper, Local: size(c.local), Global: size(c.global), Staleness: c.staleness, Pipeline: c.pipeline,
		Host: hostmem.LockOptions{Heap: true}}, 3, c.peers)
	defer x.closed()
	if edit != nil {
		edit(x)
	}
	return x.epochs(9)
}

// Every halo row that a part reads is the row of its vertex, of the epoch that the schedule names.
func TestRowsAreThoseOfTheSchedule(t *testing.T) {
	for _, c := range teamCases() {
		if err := c.run(t, nil); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		c.staleness = 0
		if err := c.run(t, nil); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// queuesOf are all that exchanges of a part use.
func queuesOf(e *Endpoint) []gpu.Queue {
	all := []gpu.Queue{e.Compute, e.Local, e.Prefetch, e.Out}
	if e.Fresh[0] != nil {
		all = append(all, e.Fresh[:]...)
	}
	return all
}
