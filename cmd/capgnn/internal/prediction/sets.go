package prediction

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/internal/learn"
)

// CheckOnly refuses what --only does not go with.
func (p *Prediction) CheckOnly() error {
	switch {
	case p.Only == "":
	case !slices.Contains(runfolder.SetNames[:], p.Only):
		names := runfolder.SetNames[:]
		return term.Usagef("--only %s is not one of %s", term.Quoted(p.Only, names), strings.Join(names, ", "))
	case p.What == PCA:
		return term.Usagef("--only %s: --what %s is of all vertices: drop one of them", p.Only, PCA)
	case !p.writesText():
		return term.Usagef("--only %s: only a .csv says which vertex a row is of: add --out FILE.csv", p.Only)
	}
	return nil
}

// writesText reports whether rows are written with the numbers of their vertices.
func (p *Prediction) writesText() bool {
	return p.What != PCA && p.Out != "" && !strings.EqualFold(filepath.Ext(p.Out), ".npy")
}

// loadSets settles in which sets the vertices of the data set are: of the run's those that its folder keeps, of another one
// those that it gives, unless it is the run's at another place. Where that is not known there is no column of them. same
// reports whether the run's are of these vertices.
func (p *Prediction) loadSets(d *dataset.Dataset, vertices int, same func(*runfolder.Sets) bool) error {
	if !p.Ranks.Leads() || !p.writesText() {
		return nil
	}
	var err error
	if p.Other && d != nil && (d.Train != nil || d.Val != nil || d.Test != nil) {
		p.sets = &runfolder.Sets{Train: d.Train, Val: d.Val, Test: d.Test}
	} else if p.sets, err = p.Folder.ReadSets(vertices); p.sets != nil && !same(p.sets) {
		p.sets = nil
		err = fmt.Errorf("data set %s is not what %s was trained on, whose sets are of other vertices", p.Config.Dataset, p.Folder)
	}
	if p.Other && p.sets == nil {
		if err = nil; d == nil {
			err = fmt.Errorf("data set %s is in shards, and not what %s was trained on: its sets are not read", p.Config.Dataset, p.Folder)
		}
	}
	switch {
	case p.Only != "" && p.sets == nil && err == nil:
		err = errors.New("which vertices are in the set is not known: the data set has no split")
		fallthrough
	case p.Only != "" && err != nil:
		return term.Usagef("--only %s: %w", p.Only, err)
	case err != nil:
		p.Console.Note("note: %s: the .csv has no column split", term.OneLine(err))
	}
	return nil
}

// sameVertices reports whether the sets of the run are of the vertices of d: by their ids if they have any, which may be
// all that did not change, else by what the run was trained on. Ids of another data set may be the same numbers by chance.
func (p *Prediction) sameVertices(d *dataset.Dataset, sets *runfolder.Sets) bool {
	switch {
	case p.Other && p.Config.DataSHA256 == "":
		return false
	case p.Other:
	case sets.Names != nil:
		return slices.Equal(sets.Names, d.VertexNames)
	case sets.IDs != nil:
		return slices.Equal(sets.IDs, d.IDs)
	case p.Config.DataSHA256 == "":
		return true
	}
	q := p.problem(d)
	q.Labels, q.Targets, q.Classes = d.Labels, d.Targets, d.Classes
	q.Train, q.Val, q.Test = sets.Train, sets.Val, sets.Test
	given := d.Train != nil || slices.Contains(d.Val, true) || slices.Contains(d.Test, true)
	for _, m := range []struct {
		of   *[]bool
		file []bool
	}{{&q.Val, d.Val}, {&q.Test, d.Test}} {
		if given && m.file == nil { // the run had none, of which it keeps an empty one
			*m.of = nil
		}
	}
	return diskcache.Identify(q, diskcache.SumsOf(q)) == p.Config.DataSHA256
}

// problem returns graph and features of a data set.
func (p *Prediction) problem(d *dataset.Dataset) *learn.Problem {
	return &learn.Problem{
		Graph: d.Graph, Loops: datasets.LoopsOf(&p.Config),
		Features: learn.Features{Cols: d.Features.Cols, Dense: d.Features.Dense, Indptr: d.Features.Indptr, Indices: d.Features.Indices, Data: d.Features.Data},
		Classes:  p.model.Out,
	}
}
