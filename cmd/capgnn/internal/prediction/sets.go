package prediction

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
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
// those that it gives. Where that is not known there is no column of them.
func (p *Prediction) loadSets(d *dataset.Dataset, vertices int) error {
	if !p.leads() || !p.writesText() {
		return nil
	}
	var err error
	if !p.Other {
		p.sets, err = p.Folder.ReadSets(vertices)
	} else if d != nil && (d.Train != nil || d.Val != nil || d.Test != nil) {
		p.sets = &runfolder.Sets{Train: d.Train, Val: d.Val, Test: d.Test}
	}
	switch {
	case p.Only != "" && p.sets == nil && err == nil:
		err = errors.New("which vertices are in the set is not known: the data set has no split, or an older version made the run")
		fallthrough
	case p.Only != "" && err != nil:
		return term.Usagef("--only %s: %w", p.Only, err)
	case err != nil:
		p.Console.Note("note: %s: the .csv has no column split", term.OneLine(err))
	}
	return nil
}
