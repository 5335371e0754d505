package layered

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/gpu/host"
	"capgnn/gpu/sim"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// plain returns a task of 400 vertices, and weights.
func plain(t testing.TB, kind named.Kind) (*learn.Problem, named.Model, *gnn.Weights) {
	t.Helper()
	g, err := synth.Random(400, 3000, true, 5)
	if err != nil {
		t.Fatal(err)
	}
	m := named.Model{Kind: kind, Layers: 3, Hidden: 16, In: 10, Out: 5, Heads: 4, Alpha: 0.3, Theta: 0.7, Seed: 3}
	p := &learn.Problem{Graph: g, Loops: graph.LoopsAdded, Classes: 5, Features: learn.Features{Cols: 10, Dense: make([]float32, 4000)}}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range p.Features.Dense {
		p.Features.Dense[i] = float32(r.NormFloat64())
	}
	w := gnn.NewWeights(netOf(m))
	w.Init(3)
	return p, m, w
}

// spread assigns vertices to parts in turn.
func spread(n, parts int) []int32 {
	part := make([]int32, n)
	for v := range part {
		part[v] = int32(v % parts)
	}
	return part
}

// drop takes chunks and does nothing with them.
func drop([]graph.NodeID, []float32) error { return nil }

// A vertex whose in-neighbours do not fit a device is an error that names it, what they take and what is left; one that fits is evaluated, alone
// in its chunk where that is larger than others may be.
func TestHub(t *testing.T) {
	const n = 3000
	edges := make([]graph.Edge, 0, 2*n)
	for u := range graph.NodeID(n) {
		edges = append(edges, graph.Edge{From: u, To: 7}, graph.Edge{From: (u + 1) % n, To: u})
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	m := named.Model{Kind: named.GAT, Layers: 2, Hidden: 32, In: 8, Out: 3, Heads: 2}
	p := &learn.Problem{Graph: g, Classes: 3, Features: learn.Features{Cols: 8, Dense: make([]float32, 8*n)}}
	w := gnn.NewWeights(netOf(m))
	w.Init(1)
	open := func(memory gpu.Bytes) []gpu.Device {
		d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: memory, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return []gpu.Device{d}
	}
	o := Options{Model: netOf(m), Devices: open(4 << 20), Part: make([]int32, n), ChunkBytes: 100_000}
	bounds, err := Bounds(p, o)
	if err != nil || bounds.Devices[0] < 4*32*n || bounds.Devices[0] > 4<<20 {
		t.Fatalf("%v, %v: want what a hub's rows take", bounds, err)
	}
	if bounds.Hubs[0] != 7 {
		t.Errorf("the hub is vertex %d, want 7", bounds.Hubs[0])
	}
	evaluated(t, p, o, w)
	o.Devices = open(1 << 20)
	_, err = New(context.Background(), p, o)
	var large *TooLarge
	var oom *gpu.OutOfMemory
	if !errors.As(err, &large) || !errors.As(err, &oom) || large.Vertex != 7 || large.Neighbours != n || oom.Need != bounds.Devices[0] || oom.Have != 1<<20 {
		t.Errorf("%v", err)
	}
	if used := o.Devices[0].Memory().Used; used != 0 {
		t.Errorf("%d bytes left behind", used)
	}
}

// A device without the memory for chunks is an error, and nothing is left of what was taken.
func TestOutOfMemory(t *testing.T) {
	p, m, _ := plain(t, named.SAGE)
	for at := range 8 {
		good := cpus(t, 1)[0]
		bad := faulty.Wrap(cpus(t, 1)[0], faulty.Faults{NoMemoryAt: at + 1})
		_, err := New(context.Background(), p, Options{Model: netOf(m), Devices: []gpu.Device{good, bad}, Part: spread(400, 2)})
		var oom *gpu.OutOfMemory
		if !errors.As(err, &oom) {
			t.Errorf("allocation %d: %v", at, err)
		}
		if a, b := good.Memory().Used, bad.Memory().Used; a+b != 0 {
			t.Errorf("allocation %d: %d bytes left behind", at, a+b)
		}
	}
}

// A fault of one device ends all parts with it; what a call was lent is not used behind it; nothing leaks.
func TestFaults(t *testing.T) {
	p, m, w := plain(t, named.GCN)
	for name, f := range map[string]faulty.Faults{
		"lost":    {Lost: faulty.Point{Queue: "evaluation", At: 20}},
		"copies":  {Lost: faulty.Point{Queue: "evaluation copies", At: 9}},
		"stalled": {Stall: faulty.Point{Queue: "evaluation", At: 20}},
	} {
		before := runtime.NumGoroutine()
		devices := cpus(t, 1, 1, 1)
		bad := faulty.Wrap(devices[1], f)
		devices[1] = bad
		e, err := New(context.Background(), p, Options{Model: netOf(m), Devices: devices, Part: spread(400, 3), ChunkBytes: 20_000, WaitDeadline: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		err = e.Logits(context.Background(), w, drop)
		if !errors.Is(err, gpu.ErrDeviceLost) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "cpu:1") {
			t.Errorf("%s: %v", name, err)
		}
		if again := e.Logits(context.Background(), w, drop); again == nil {
			t.Errorf("%s: evaluated all the same", name)
		}
		e.Close()
		bad.Release()
		for _, d := range devices {
			d.Close()
		}
		settled(t, name, before)
	}
}

// settled waits until there are no more goroutines than before.
func settled(t *testing.T, name string, before int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%s: %d goroutines, %d before:\n%s", name, runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

// Logits ends within a chunk of the end of its context or an error of emit, with that error; the next call gives all logits.
func TestStopped(t *testing.T) {
	p, m, w := plain(t, named.GIN)
	e, err := New(context.Background(), p, Options{Model: netOf(m), Devices: cpus(t, 1, 1), Part: spread(400, 2), ChunkBytes: 20_000, Tables: poisoned})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	want := logits(t, e, w)
	before := runtime.NumGoroutine()
	for after := range 9 {
		full := errors.New("no room for rows")
		calls := 0
		err := e.Logits(context.Background(), w, func([]graph.NodeID, []float32) error {
			if calls++; calls > after {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || calls != after+1 {
			t.Errorf("%d calls: %v", calls, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		calls = 0
		err = e.Logits(ctx, w, func([]graph.NodeID, []float32) error {
			if calls++; calls > after {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || calls > after+2 {
			t.Errorf("%d calls, canceled after %d: %v", calls, after, err)
		}
		if !slices.Equal(logits(t, e, w), want) {
			t.Errorf("other logits after call %d was stopped", after)
		}
	}
	settled(t, "stopped", before)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Logits(ctx, w, drop); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Tables that cannot be had are an error; tables in files leave nothing in their folder and give the logits of those in memory.
func TestTables(t *testing.T) {
	p, m, w := plain(t, named.SAGE)
	o := Options{Model: netOf(m), Devices: cpus(t, 1), Part: make([]int32, 400), Precomputed: true, Tables: poisoned}
	want := evaluated(t, p, o, w)
	for at := range 3 {
		made := 0
		o.Tables = func(name string, size int64) (Memory, error) {
			if made++; made > at {
				return nil, fmt.Errorf("%s: no space", name)
			}
			return poisoned(name, size)
		}
		e, err := New(context.Background(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Logits(context.Background(), w, drop); err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("table %d: %v", at, err)
		}
		o.Tables = poisoned
		e.Close()
	}
	dir := t.TempDir()
	o.Tables = files(dir)
	e, err := New(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(logits(t, e, w), want) {
		t.Error("tables in files give other logits")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v in the folder of tables", left, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	for room, inFiles := range map[gpu.Bytes]bool{0: false, 40 * 400: true, 400 * 400: false} {
		_, err := TablesIn(dir+"/none", room)("table", 40*400)
		if (err != nil) != inFiles {
			t.Errorf("of %d bytes of room: %v", room, err)
		}
	}
	o.Tables = files(dir + "/none")
	if e, err = New(context.Background(), p, o); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Aggregated(context.Background()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Devices that are slow, far away or simulated give the bits of others.
func TestUnequalDevices(t *testing.T) {
	p, m, w := plain(t, named.SAGE)
	o := Options{Model: netOf(m), Devices: cpus(t, 1, 1, 1), Part: spread(400, 3), ChunkBytes: 30_000}
	o.Part[0], o.Part[1], o.Part[2] = 0, 0, 0
	want := evaluated(t, p, o, w)
	slow, err := host.Open(host.Spec{Name: "cpu:1", Threads: 1, Slow: 3, Link: 50e6, Latency: 100 * time.Microsecond, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	card := sim.Cards()[0]
	simulated, err := sim.Open(sim.Config{Name: "sim:0", Model: card.Model, Clock: sim.NewClock(), Rates: card.Rates(), Memory: 64 << 20, Arithmetic: true, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer simulated.Close()
	o.Devices[1], o.Devices[2] = slow, simulated
	if !slices.Equal(evaluated(t, p, o, w), want) {
		t.Error("other bits")
	}
}

// What is wrong with a problem and options is said before anything is taken.
func TestInvalid(t *testing.T) {
	p, m, _ := plain(t, named.GAT)
	for want, edit := range map[string]func(o *Options){
		"no device":                       func(o *Options) { o.Devices = nil },
		"399 part entries for 400":        func(o *Options) { o.Part = o.Part[1:] },
		"vertex 3: part 2 is outside":     func(o *Options) { o.Part[3] = 2 },
		"the model reads 11 features":     func(o *Options) { m := m; m.In = 11; o.Model = netOf(m) },
		"aggregated features are neither": func(o *Options) { o.Precomputed = true },
		"chunks of -1 bytes":              func(o *Options) { o.ChunkBytes = -1 },
		"there is no model":               func(o *Options) { o.Model = gnn.Config{} },
	} {
		o := Options{Model: netOf(m), Devices: cpus(t, 1, 1), Part: spread(400, 2)}
		edit(&o)
		if _, err := New(context.Background(), p, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
