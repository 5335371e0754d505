package layered

import (
	"slices"
	"sync"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/meet"
)

// process is one of two that evaluate together in this one.
type process struct {
	table  *Table
	tables gpu.Bytes // that it has made
	logits map[graph.NodeID][]float32
}

// meeting lets two processes wait for each other.
type meeting struct {
	mu    sync.Mutex
	here  int
	round chan struct{}
}

func (m *meeting) wait() {
	m.mu.Lock()
	m.here++
	round := m.round
	if m.here == 2 {
		m.here, m.round = 0, make(chan struct{})
		close(round)
	}
	m.mu.Unlock()
	<-round
}

// Two processes, each with some of the parts, compute the bits of one, and each has rows of its own vertices and of those that they read, no others.
func TestProcesses(t *testing.T) {
	n := 0
	for k := 0; n < 30; k++ {
		d := draw(t, k)
		if parts := len(d.o.Devices); parts > 1 {
			n++
			if d.o.ChunkBytes == 0 {
				d.o.ChunkBytes = 1 << 20
			}
			if n%2 == 0 {
				d.o.Rows = make([]bool, d.p.Vertices())
				for v := range d.o.Rows {
					d.o.Rows[v] = v%11 == 0
				}
			}
			together(t, &d, 1+k%(parts-1))
		}
		for _, dev := range d.o.Devices {
			dev.Close()
		}
	}
}

func together(t *testing.T, d *drawn, first int) {
	width := d.o.Model.Out
	one, err := New(t.Context(), d.p, d.o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[graph.NodeID][]float32{}
	for v, rows := graph.NodeID(0), logits(t, one, d.w); int(v) < d.p.Vertices(); v++ {
		if d.o.Rows == nil || d.o.Rows[v] {
			want[v] = rows[int(v)*width:][:width]
		}
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	both, need := [2]process{}, neededOf(d.p, &d.o)
	meeting := meeting{round: make(chan struct{})}
	var all sync.WaitGroup
	for i := range both {
		x, other, o := &both[i], &both[1-i], d.o
		o.Devices = slices.Clone(d.o.Devices)
		mine := graph.Range{Lo: 0, Hi: first}
		if i == 1 {
			mine = graph.Range{Lo: first, Hi: len(o.Devices)}
		}
		for part := range o.Devices {
			if !mine.Has(part) {
				o.Devices[part] = nil
			}
		}
		o.Tables = func(name string, size int64) (Memory, error) {
			x.tables += gpu.Bytes(size)
			return poisoned(name, size)
		}
		o.Complete = func(_ *meet.Hub, layer int, table *Table) error {
			x.table = table
			meeting.wait()
			for part := range o.Devices {
				ids, mem := table.Others(part)
				for k, v := range ids {
					if !need.has(layer, v) {
						t.Errorf("%s: layer %d does not compute vertex %d, which is asked for", d.names, layer, v)
					}
					copy(mem[k*table.Row:], other.table.Of(v))
				}
			}
			meeting.wait()
			return nil
		}
		bound, err := Bounds(d.p, o)
		if err != nil {
			t.Fatal(err)
		}
		e, err := New(t.Context(), d.p, o)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { // ends with the evaluation
			x.logits = map[graph.NodeID][]float32{}
			if err := e.Logits(t.Context(), d.w, func(ids []graph.NodeID, rows []float32) error {
				for k, v := range ids {
					x.logits[v] = slices.Clone(rows[k*width:][:width])
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if most := placedBytes(d, &o, mine); x.tables != bound.Tables+bound.Sums || x.tables != most {
				t.Errorf("%s: tables take %d bytes, %d are announced, %d needed", d.names, x.tables, bound.Tables+bound.Sums, most)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for v, row := range want {
		of := &both[0]
		if int(d.o.Part[v]) >= first {
			of = &both[1]
		}
		if !slices.Equal(of.logits[v], row) {
			t.Fatalf("%s: vertex %d has %v, in one process %v", d.names, v, of.logits[v], row)
		}
	}
	if got := len(both[0].logits) + len(both[1].logits); got != len(want) {
		t.Errorf("%s: %d vertices came, want %d", d.names, got, len(want))
	}
}

// placedBytes counts the rows of tables by looking at every edge.
func placedBytes(d *drawn, o *Options, mine graph.Range) (n gpu.Bytes) {
	need, own := neededOf(d.p, o), 0
	for _, part := range o.Part {
		if mine.Has(int(part)) {
			own++
		}
	}
	if o.Precomputed {
		n = 4 * gpu.Bytes(own) * gpu.Bytes(o.Model.In)
	}
	_, tasks := planTasks(d.p, o, need, o.ChunkBytes)
	most := [2]int{}
	for i := range tasks {
		t := &tasks[i]
		if t.layer < 0 || t.layer == o.Model.Layers-1 {
			continue
		}
		rows := map[graph.NodeID]bool{}
		for v, part := range o.Part {
			if v := graph.NodeID(v); mine.Has(int(part)) && need.has(t.layer, v) {
				rows[v] = true
			}
			if !mine.Has(int(part)) || !need.has(t.layer+1, graph.NodeID(v)) {
				continue
			}
			for _, u := range d.p.Graph.Row(v) {
				rows[u] = true
			}
		}
		most[t.layer%2] = max(most[t.layer%2], len(rows)*t.out*t.outType.Size())
	}
	return n + gpu.Bytes(most[0]+most[1])
}
