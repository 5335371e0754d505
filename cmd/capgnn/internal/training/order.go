package training

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/graph/reorder"
	"capgnn/internal/npy"
	"capgnn/internal/number"
	"capgnn/profiler"
)

const (
	// cachedRows is the size in bytes of gathered rows up to which no order can help: they lie in a cache anyway.
	cachedRows = 16 << 20
	// orderGain is how much faster a sample must be for an order to be taken: less is noise.
	orderGain = 1.05
	// sampleWindows and sampleEntries say what the two orders are compared on: windows of rows, evenly spread, each of
	// which gathers several times what a last-level cache holds.
	sampleWindows = 8
	sampleEntries = 2 << 20
)

// arrangement is the decision about the order of a data set's vertices on a device, as it is cached.
type arrangement struct {
	Order   string  `json:"order"`
	Speedup float64 `json:"speedup"` // of gathers in a sample, over OrderNone; 0: not measured
	Seconds float64 `json:"seconds"` // to find the order and to measure
}

// Arrange decides the order of the vertices: --order, or for auto what was measured once.
func Arrange(ctx context.Context, t Forecaster) (Decisions, error) {
	t.Console.Enter(term.Ordering)
	start := time.Now()
	a, err := arrangement{Order: t.Config.Order}, error(nil)
	if a.Order == runfolder.OrderAuto {
		if a, t.rank, err = chooseOrder(ctx, &t); err != nil {
			return t.Decisions, err
		}
	}
	t.Config.Order, t.arranged = a.Order, a
	if a.Order == runfolder.OrderNone {
		return t.Decisions, nil
	}
	if t.rank == nil {
		if t.rank, err = ranksOf(ctx, &t); err != nil {
			return t.Decisions, err
		}
		t.arranged.Seconds = max(a.Seconds, time.Since(start).Seconds())
	}
	gain := ""
	if a.Speedup > 0 {
		gain = fmt.Sprintf(", %s times as fast on a sample", number.Ratio.Text(a.Speedup))
	}
	t.Console.Note("order: %s%s, found in %s", a.Order, gain, term.Duration(&t.arranged.Seconds))
	return t.Decisions, nil
}

// chooseOrder measures whether the community order pays, or returns what was measured before for this data set, width
// and device. It returns the order, too, where that had to be found.
func chooseOrder(ctx context.Context, t *Forecaster) (a arrangement, rank []int32, err error) {
	a.Order = runfolder.OrderNone
	gathered := int64(t.Data.Problem.Vertices()) * int64(t.Config.Hidden) * int64(t.Config.ElementType().Size())
	if gathered <= cachedRows {
		return a, nil, nil
	}
	opened, err := devices.Open(t.ownSpecs()[:1])
	if err != nil {
		return a, nil, err
	}
	if !t.tooSmall(opened[0]) { // else the run is refused
		a, rank, err = measureOrder(ctx, t, opened[0])
	}
	return a, rank, errors.Join(err, devices.CloseAll(opened))
}

func measureOrder(ctx context.Context, t *Forecaster, dev gpu.Device) (a arrangement, rank []int32, err error) {
	start, c, info := time.Now(), &t.Config, dev.Info()
	key := sha256.Sum256(fmt.Appendf(nil, "order 1 %s %s %s %s %d %d %s", c.DataSHA256, info.Model, info.Variant,
		t.Specs[0], info.Threads, c.Hidden, c.Storage))
	path := cachePath(fmt.Sprintf("order-%x.json", key[:16]))
	if diskcache.ReadJSON(path, &a) == nil && (a.Order == runfolder.OrderNone || a.Order == runfolder.OrderCommunity) {
		return a, nil, nil
	}
	a = arrangement{Order: runfolder.OrderNone}
	if rank, err = ranksOf(ctx, t); err != nil {
		return a, nil, err
	}
	g := t.Data.Problem.Graph
	a.Speedup, err = profiler.CompareGathers(ctx, dev, sampleRows(g, nil), sampleRows(g, rank), c.Hidden, c.ElementType())
	if oom := (*gpu.OutOfMemory)(nil); errors.As(err, &oom) { // then training will say what does not fit
		return a, nil, nil
	}
	if err != nil {
		return a, nil, err
	}
	if a.Speedup >= orderGain {
		a.Order = runfolder.OrderCommunity
	} else {
		rank = nil
	}
	a.Seconds = time.Since(start).Seconds()
	if path != "" {
		data, err := json.Marshal(a)
		if err = errors.Join(err, term.WriteFile(path, data)); err != nil {
			t.Console.Note("the order is not cached: %v", err)
		}
	}
	return a, rank, nil
}

// takeOrder finds what settings only name: the order of rows that a run has decided on.
func (t *Run) takeOrder(ctx context.Context) (err error) {
	if t.Config.Order == runfolder.OrderCommunity {
		t.rank, err = ranksOf(ctx, &t.Forecaster)
	}
	return err
}

// ranksOf returns the rank of every vertex in the community order, from the cache if it is there.
func ranksOf(ctx context.Context, t *Forecaster) ([]int32, error) {
	g, sum := t.Data.Problem.Graph, t.Data.Sums.Graph
	if sum == "" {
		sum = diskcache.SumOf(g)
	}
	key := sha256.Sum256(fmt.Appendf(nil, "rank 2 %s %s", sum, runfolder.OrderCommunity))
	path := cachePath(fmt.Sprintf("rank-%x.npy", key[:16]))
	rank, err := readRanks(path, g.Rows())
	if err == nil {
		return rank, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Console.Note("%v: it is made again", err)
	}
	bar := t.Console.Begin("order", 1, term.UnitShare, 2*time.Second)
	defer bar.End()
	if rank, err = reorder.Community(ctx, g, devices.Cores()); err != nil {
		return nil, err
	}
	if path != "" {
		if err := npy.WriteFile(path, []int{len(rank)}, rank); err != nil {
			t.Console.Note("the order is not cached: %v", err)
		}
	}
	return rank, nil
}

// readRanks reads a cached order of n vertices and checks that it is one. fs.ErrNotExist: there is none.
func readRanks(path string, n int) ([]int32, error) {
	if path == "" || !term.Exists(path) {
		return nil, fs.ErrNotExist
	}
	a, err := npy.Open(path)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 1 || a.Len() != n {
		return nil, a.Fault(-1, fmt.Errorf("has shape %v, want [%d]", a.Shape, n))
	}
	rank, err := a.Int32()
	if err != nil {
		return nil, err
	}
	seen := make([]bool, n)
	for v, r := range rank {
		if r < 0 || int(r) >= n || seen[r] {
			return nil, a.Fault(v, fmt.Errorf("rank %d of vertex %d is out of range or taken", r, v))
		}
		seen[r] = true
	}
	return rank, nil
}

// sampleRows returns windows of the graph's rows as they lie in an order; nil: as they are numbered.
func sampleRows(g *graph.CSR, rank []int32) profiler.Sample {
	n := g.Rows()
	at := make([]graph.NodeID, n) // vertex at each rank
	for v := range n {
		at[place(rank, graph.NodeID(v))] = graph.NodeID(v)
	}
	s := profiler.Sample{Indptr: []int64{0}, Cols: n}
	for w := range sampleWindows {
		end := len(s.Indices) + sampleEntries/sampleWindows
		for r := n * w / sampleWindows; r < n*(w+1)/sampleWindows && len(s.Indices) < end; r++ {
			first := len(s.Indices)
			for _, u := range g.Row(int(at[r])) {
				s.Indices = append(s.Indices, place(rank, u))
			}
			slices.Sort(s.Indices[first:])
			s.Indptr = append(s.Indptr, int64(len(s.Indices)))
		}
	}
	return s
}

func place(rank []int32, v graph.NodeID) int32 {
	if rank == nil {
		return v
	}
	return rank[v]
}

// cachePath returns where a cached file lies, "" if nothing can be cached.
func cachePath(name string) string {
	dir, err := term.CacheFolder()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, name)
}
