package shards_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/graph/dataset/shards"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// FuzzFolder reads folders in one of whose files bytes were replaced, as if their sums were right: an error, or a data set that is cut without a panic.
func FuzzFolder(f *testing.F) {
	type written struct {
		cut   *shards.Cut
		files map[string]string
		names []string
	}
	var all []written
	for k := range 6 {
		c := cutOf(f, 12, uint64(k), []int{1, 2}, k%2 == 1, k >= 2, k == 3)
		if k >= 4 {
			weigh(c, uint64(k))
		}
		if c.Data.IDs = make([]int64, len(c.Part)); k%2 == 1 {
			c.Data.IDs, c.Data.VertexNames = nil, strings.Split("abcdefghijkl", "")
		}
		w := written{cut: c, files: contents(f, write(f, c))}
		for name := range w.files {
			w.names = append(w.names, name)
		}
		slices.Sort(w.names)
		all = append(all, w)
		for i, name := range w.names {
			if k >= 4 && !strings.Contains(name, "weigh") {
				continue
			}
			f.Add(uint8(k), uint8(i), uint16(130), []byte{1, 0, 0, 0})
			f.Add(uint8(k), uint8(i), uint16(128), []byte{255, 255, 255, 255, 255, 255, 255, 255})
		}
	}
	f.Fuzz(func(t *testing.T, which, file uint8, at uint16, value []byte) {
		w := all[int(which)%len(all)]
		dir := t.TempDir()
		for name, text := range w.files {
			raw := []byte(text)
			if name == w.names[int(file)%len(w.names)] {
				copy(raw[min(int(at), len(raw)):], value)
			}
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		use(t, w.cut, dir)
	})
}

// use does with a folder what a run does.
func use(t *testing.T, c *shards.Cut, dir string) {
	known := shards.Options{Known: true}
	folder, err := shards.Open(dir, known)
	if err != nil || folder.Vertices != len(c.Part) || folder.Parts() != 3 { // as callers compare them with the plan
		return
	}
	if ids, names, err := folder.IDs(); err == nil && max(len(ids), len(names)) != len(c.Part) {
		t.Fatalf("%d ids and %d names of %d vertices", len(ids), len(names), len(c.Part))
	}
	o, err := folder.Outline(c.Part)
	if err != nil {
		return
	}
	s := learn.NewShards(*o, folder.Edges, folder.FeatureEntries)
	p := &learn.Problem{Shards: s, Classes: folder.Classes, Features: learn.Features{Cols: folder.Features}}
	if p.Labels = []int32{}; folder.MultiLabel {
		p.Labels, p.Targets = nil, []uint8{}
	}
	if p.Features.Indptr = nil; folder.Sparse {
		p.Features.Indptr = []int64{}
	}
	sampled := *p
	if whole, err := folder.MapWhole(o, known); err == nil {
		defer whole.Data.Close()
		sampled.WithGraph(whole.Data.Graph, whole.Data.Labels, whole.Data.Targets, whole.Entries)
	}
	for m := range folder.Machines {
		h, err := folder.Shard(m, known)
		if err != nil {
			return
		}
		defer h.Close()
		x, own := &h.In.Features, folder.Machines[m].Vertices
		l := &learn.Shard{Parts: folder.Machines[m].Range(), Own: own, IDs: narrow(h.In.IDs), In: h.In.Graph, Out: h.Out.Graph, OutIDs: narrow(h.Out.IDs), OutWeights: h.OutWeights, Labels: h.Labels.Labels, Targets: h.Labels.Targets,
			Features: learn.Features{Cols: x.Cols, Dense: x.Dense, Indptr: x.Indptr, Indices: x.Indices, Data: x.Data}}
		if s.Add(l) != nil {
			return
		}
		if sampled.Graph != nil && sampled.SuitsGraph(l) != nil {
			sampled.Graph = nil
		}
	}
	if sampled.Graph != nil {
		sample(t, &sampled)
	}
	cut, err := graph.SplitOutline(&s.Outline, s.RowsOf, graph.LoopsAdded, graph.Range{Lo: 0, Hi: 3}, true, 2, nil)
	if err != nil {
		return
	}
	if err := cut.Validate(); err != nil {
		t.Fatalf("a folder that was taken makes a cut that is not valid: %v", err)
	}
	p.Scaling(named.Config(named.Model{Kind: named.GCN, Layers: 1, In: 1, Out: 1}, gnn.NewModel), cut.InDegree, cut.OutDegree)
	for _, part := range cut.Parts {
		if ids := part.Inner; p.Weighted() {
			of := func(r int) graph.NodeID { return ids[r] }
			p.Weigh(nil, part.In.Inner.Indptr, part.In.Inner.Indices, of, ids, false)
			p.Weigh(nil, part.Out.Inner.Indptr, part.Out.Inner.Indices, of, ids, true)
			p.Weigh(nil, part.In.Halo.Indptr, part.In.Halo.Indices, func(k int) graph.NodeID { return ids[part.In.Halo.List[k]] }, part.In.IDs, false)
			p.Weigh(nil, part.Out.Halo.Indptr, part.Out.Halo.Indices, func(k int) graph.NodeID { return ids[part.Out.Halo.List[k]] }, part.Out.IDs, true)
		}
		for _, v := range append(slices.Clone(part.Inner), part.In.IDs...) {
			p.FillFeatures(make([]float32, folder.Features), v)
		}
		task, err := learn.Of(nil, p)
		if err != nil {
			t.Fatalf("a folder that was taken has no task: %v", err)
		}
		task.Count(new(learn.Evidence), part.Inner, make([]float32, len(part.Inner)*folder.Classes))
	}
}

// sample reads what steps read.
func sample(t *testing.T, p *learn.Problem) {
	if err := p.ValidateInput(); err != nil {
		t.Fatalf("a graph that was taken is not valid: %v", err)
	}
	row := make([]float32, p.Features.Cols)
	p.TrainingByClass()
	for v := range p.Vertices() {
		for _, u := range p.Graph.Row(v) {
			p.FillFeatures(row, u)
			if p.Features.Sparse() {
				columns, values := make([]int32, p.Features.Cols), make([]float32, p.Features.Cols)
				if n := p.CopySparse(columns, values, u); int64(n) != p.Features.Indptr[u+1]-p.Features.Indptr[u] {
					t.Fatalf("vertex %d has %d entries", u, n)
				}
			}
		}
	}
}

func narrow(ids []int64) []graph.NodeID {
	out := make([]graph.NodeID, len(ids))
	for k, v := range ids {
		if out[k] = graph.NodeID(v); int64(out[k]) != v {
			out[k] = -1
		}
	}
	return out
}
