package shards

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// Cut is a data set that is to be kept in shards.
type Cut struct {
	Data     *dataset.Dataset // with features and labels
	Seeds    []bool           // vertices that contribute to a loss
	Part     []int32          // part of every vertex, none empty
	Machines []int            // how many parts each machine has, in order
	Plan     []byte           // the file of the plan
	Head     Head             // PlanKey, sums and options of reading; Write fills in the rest
}

// CheckNew says why a folder cannot be made under a name: there is something already.
func CheckNew(dir string) error {
	if err := cmp.Or(regular.CheckPlace(dir), regular.CheckFolder(filepath.Clean(dir))); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case len(list) > 0:
		return fmt.Errorf("%s: the folder exists and is not empty: remove it, or choose another", dir)
	}
	return nil
}

// Write makes the folder dir of a cut; watch, which may be nil, is told how far each file is. dir must not exist yet, unless it is empty.
func Write(dir string, c *Cut, watch dataset.Watch) error {
	if err := CheckNew(dir); err != nil {
		return err
	}
	w := newWriter(c)
	w.watch = watch
	return atomicfile.Folder(dir, func(tmp string) error {
		for m := range c.Machines {
			if err := w.machine(filepath.Join(tmp, machineDir(m)), m); err != nil {
				return err
			}
		}
		if err := w.whole(filepath.Join(tmp, graphDir)); err != nil {
			return err
		}
		return w.common(filepath.Join(tmp, commonDir))
	})
}

// writer writes the files of a cut.
type writer struct {
	*Cut
	head      Head
	watch     dataset.Watch
	symmetric bool
	place     []int32          // of every vertex, among the vertices of its machine
	machines  []int            // of every part: its machine
	own       [][]graph.NodeID // vertices of each machine, part by part, ascending in each
	other     []int32          // number of vertices of other machines in the shard that is being written, plus one; else 0
	turned    *graph.Rows      // rows of the transpose, of the machine turnedOf
	turnedOf  int
}

func newWriter(c *Cut) *writer {
	g := c.Data.Graph
	w := &writer{Cut: c, head: c.Head, symmetric: g.Symmetric(), place: make([]int32, g.Rows()), own: make([][]graph.NodeID, len(c.Machines)), other: make([]int32, g.Rows()), turnedOf: -1}
	w.head.Version, w.head.Weighted = version, g.Weights != nil
	for m, parts := range c.Machines {
		w.head.Machines = append(w.head.Machines, Machine{First: len(w.machines), Parts: parts, Files: map[string]file{}})
		w.machines = append(w.machines, slices.Repeat([]int{m}, parts)...)
	}
	members := make([][]graph.NodeID, len(w.machines))
	for v, p := range c.Part {
		members[p] = append(members[p], graph.NodeID(v))
	}
	for p, list := range members {
		m := w.machines[p]
		for _, v := range list {
			w.place[v] = int32(len(w.own[m]))
			w.own[m] = append(w.own[m], v)
		}
	}
	return w
}

// back returns the rows of the transpose for the vertices of a machine.
func (w *writer) back(machine int) *graph.Rows {
	if w.turnedOf != machine {
		at := slices.Clone(w.place)
		for v, p := range w.Part {
			if w.machines[p] != machine {
				at[v] = -1
			}
		}
		w.turned, w.turnedOf = nil, machine // what was there may go before
		w.turned = w.Data.Graph.TransposeFor(at, len(w.own[machine]))
	}
	return w.turned
}

// machine writes the shard of a machine.
func (w *writer) machine(dir string, m int) error {
	d, f, own := w.Data, &filer{dir: dir, watch: w.watch, files: map[string]file{}}, w.own[m]
	whole := &graph.Rows{CSR: d.Graph}
	others := w.rows(f, "", own, m, whole)
	if !w.symmetric {
		w.rows(f, outDir+"/", own, m, w.back(m))
	}
	ids := slices.Concat(own, others)
	w.features(f, ids)
	w.answers(f, own)
	edges := int64(0)
	for _, v := range own {
		edges += int64(len(d.Graph.Row(int(v))))
	}
	meta := map[string]any{"capgnn_store": 1, "vertices": len(ids), "edges": edges, "features": d.Features.Cols, "sparse": d.Features.Sparse()}
	if d.Graph.Weights != nil {
		meta["weighted"] = true
	}
	f.json("meta.json", meta)
	f.json(Mark, mark{Version: w.head.Version, Plan: w.head.Plan, Graph: w.head.Graph, Machine: m, Machines: len(w.Machines)})
	h := &w.head.Machines[m]
	h.Vertices, h.Others, h.Files = len(own), len(others), f.files
	return f.err
}

// pieceRows is the number of feature rows that are written at a time.
const pieceRows = 256

// features writes the feature rows of vertices.
func (w *writer) features(f *filer, ids []graph.NodeID) {
	x := &w.Data.Features
	if !x.Sparse() {
		f.pieces("x", []int{len(ids), x.Cols}, func(put func(any) error) error {
			buf := make([]float32, 0, pieceRows*x.Cols)
			for some := range slices.Chunk(ids, pieceRows) {
				buf = buf[:0]
				for _, v := range some {
					buf = append(buf, x.Dense[int(v)*x.Cols:][:x.Cols]...)
				}
				if err := put(buf); err != nil {
					return err
				}
			}
			return nil
		})
		return
	}
	indptr := make([]int64, 1, len(ids)+1)
	for _, v := range ids {
		indptr = append(indptr, indptr[len(indptr)-1]+x.Indptr[v+1]-x.Indptr[v])
	}
	f.array("x_indptr", nil, indptr)
	entries := []int{int(indptr[len(ids)])}
	f.pieces("x_indices", entries, func(put func(any) error) error {
		err := put([]int32{})
		for _, v := range ids {
			if err == nil {
				err = put(x.Indices[x.Indptr[v]:x.Indptr[v+1]])
			}
		}
		return err
	})
	f.pieces("x_data", entries, func(put func(any) error) error {
		err := put([]float32{})
		for _, v := range ids {
			if err == nil {
				err = put(x.Data[x.Indptr[v]:x.Indptr[v+1]])
			}
		}
		return err
	})
}

// answers writes labels and masks of the parts' own vertices.
func (w *writer) answers(f *filer, own []graph.NodeID) {
	d := w.Data
	f.labels(ownPrefix+"y", d, own)
	for _, k := range d.Masks() {
		if *k.Of == nil {
			continue
		}
		mask := make([]bool, len(own))
		for i, v := range own {
			mask[i] = (*k.Of)[v]
		}
		f.array(ownPrefix+k.Key, nil, mask)
	}
}

// labels writes labels or targets of vertices.
func (f *filer) labels(key string, d *dataset.Dataset, ids []graph.NodeID) {
	if d.Targets != nil {
		targets := make([]uint8, 0, len(ids)*d.Classes)
		for _, v := range ids {
			targets = append(targets, d.Targets[int(v)*d.Classes:][:d.Classes]...)
		}
		f.array(key, []int{len(ids), d.Classes}, targets)
		return
	}
	labels := make([]int64, len(ids))
	for k, v := range ids {
		labels[k] = int64(d.Labels[v])
	}
	f.array(key, nil, labels)
}

// ownPrefix begins the names of arrays of a shard that have the parts' own vertices only.
const ownPrefix = "own_"

// common writes what all machines need, when their shards are written.
func (w *writer) common(dir string) error {
	d, f, h := w.Data, &filer{dir: dir, watch: w.watch, files: map[string]file{}}, &w.head
	var back func(part int) *graph.Rows
	if !w.symmetric {
		back = func(part int) *graph.Rows { return w.back(w.machines[part]) }
	}
	o := graph.OutlineOf(d.Graph, back, w.Seeds, w.Part, len(w.machines))
	f.write(planFile, func(out io.Writer) error {
		_, err := out.Write(w.Plan)
		return err
	})
	f.array("in_degree", nil, o.InDegree)
	f.array("loops", nil, o.Loops)
	f.array("hops", nil, o.Hops)
	writeFringes(f, "in", o.In)
	if !w.symmetric {
		f.array("out_degree", nil, o.OutDegree)
		writeFringes(f, "out", o.Out)
	}
	if s := o.Weights; s != nil {
		for k, of := range []any{s.In, s.Out, s.InAny, s.OutAny, s.Loop} {
			f.array(weightTables[k], nil, of)
		}
	}
	if d.IDs != nil && d.VertexNames == nil {
		f.array(idsKey, nil, d.IDs)
	}
	for file, names := range map[string][]string{classesFile: d.ClassNames, columnsFile: d.ColumnNames, idsFile: d.VertexNames} {
		if names != nil {
			f.json(file, names)
		}
	}
	h.Name, h.Vertices, h.Edges = d.Name, d.Graph.Rows(), d.Graph.Edges()
	h.Features, h.FeatureEntries, h.Sparse = d.Features.Cols, int64(len(d.Features.Dense)+len(d.Features.Data)), d.Features.Sparse()
	h.Classes, h.MultiLabel, h.Symmetric, h.Scaling, h.Masks = d.Classes, d.MultiLabel(), w.symmetric, d.Scaling, []string{}
	for _, k := range d.Masks() {
		if *k.Of != nil {
			h.Masks = append(h.Masks, k.Key)
		}
	}
	h.Files = maps.Clone(f.files)
	f.json(headFile, h)
	return f.err
}

// Files of names, of common.
const (
	classesFile = "classes.json"
	columnsFile = "columns.json"
	idsFile     = "ids.json" // ids of vertices that are texts
	idsKey      = "ids"      // those that are numbers, an array
)

// writeFringes writes the halo vertices of all parts in one direction.
func writeFringes(f *filer, key string, side []graph.Fringe) {
	at := make([]int64, 1, len(side)+1)
	for _, s := range side {
		at = append(at, at[len(at)-1]+int64(len(s.IDs)))
	}
	f.array(key+"_halo_at", nil, at)
	total := []int{int(at[len(side)])}
	for name, of := range map[string]func(s *graph.Fringe) any{
		"_halo":       func(s *graph.Fringe) any { return s.IDs },
		"_halo_edges": func(s *graph.Fringe) any { return s.Edges },
		"_halo_hops":  func(s *graph.Fringe) any { return s.Hops },
	} {
		if name == "_halo_hops" && key == "out" {
			continue
		}
		f.pieces(key+name, total, func(put func(any) error) error {
			for k := range side {
				if err := put(of(&side[k])); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
