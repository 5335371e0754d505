package training

import (
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/graph/dataset"
)

// loadInitial reads the weights to start from, nil if none are named. Those of a run come into the order of this data
// set by the names of columns and classes.
func (t *Run) loadInitial(model gnn.Config) (_ gnn.StateDict, err error) {
	if t.Config.Init == "" || !t.leads() {
		return nil, nil
	}
	path, columns, classes := t.Config.Init, []int(nil), []int(nil)
	if t.Resume {
		path = t.Dir.Initial() // in this order already
	} else if columns, classes, err = t.matchInitial(path); err != nil {
		return nil, term.Usagef("--init %s: %w; or copy the file alone elsewhere, to take columns and classes by number", path, err)
	}
	tensors, err := gnn.ReadStateDict(path)
	t.initial = gnn.NewWeights(model)
	if err == nil {
		err = t.initial.LoadStateDict(tensors)
	}
	if err != nil {
		return nil, term.Usagef("--init %s: %w", path, err)
	}
	t.initial.Reorder(model, columns, classes)
	return t.initial.StateDict(), nil
}

// matchInitial returns where each column and class of the run that the weights in a file are of stands in this data
// set; nil: in the same place, or only numbers are known.
func (t *Run) matchInitial(path string) (columns, classes []int, err error) {
	is, from := t.Data.Names, runfolder.Beside(path)
	if from == "" {
		if is.Columns != nil || is.Classes != nil {
			t.Console.Note("note: no names.json is beside --init %s: columns and classes are taken by their numbers", path)
		}
		return nil, nil, nil
	}
	was, _, err := from.KeptNames()
	if err != nil {
		return nil, nil, err
	}
	for _, side := range []struct {
		of       dataset.Named
		is, was  []string
		to       *[]int
		numbered bool
	}{{dataset.Columns, is.Columns, was.Columns, &columns, t.Config.MakesFeatures()}, {dataset.Classes, is.Classes, was.Classes, &classes, false}} {
		if *side.to, err = dataset.MatchNames(side.of, side.is, side.was); err != nil {
			return nil, nil, err
		}
		switch {
		case (side.is == nil) != (side.was == nil) && !side.numbered:
			t.Console.Note("note: the %s of %s or of %s have no names: they are compared by their numbers", side.of.Several, from, t.Data.Name)
		case *side.to != nil:
			t.Console.Note("note: the %s of %s stand in another order than those of %s: the weights were put into the order of these", side.of.Several, from, t.Data.Name)
		}
	}
	return columns, classes, t.noteInitialScale(from, &was, columns)
}

// noteInitialScale says where the run that weights are of read features of another scale; columns are those of matchInitial.
func (t *Run) noteInitialScale(from runfolder.Dir, was *runfolder.DataNames, columns []int) error {
	with, err := from.ReadScaling()
	if err == nil && with != nil && columns != nil {
		if err = with.Check(len(columns)); err == nil {
			with = with.Reordered(columns)
		}
	}
	if err != nil || t.Config.MakesFeatures() {
		return err
	}
	same, err := from.TrainedOn(t.Config.DatasetPath)
	note := runfolder.NoteScale(string(from), was.Standardized, with, t.Data.Name, t.Data.Names.Standardized, t.Data.Scaling, same)
	if note != "" && err == nil {
		t.Console.Note("note: %s", note)
	}
	return err
}
