package training

import (
	"context"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/graph/dataset"
)

// compareInitial compares the weights of --init, and the data of the run that they are of, with this run's, once these are read.
func (t *Run) compareInitial(context.Context) (err error) {
	path := t.Config.Init
	if path == "" || !t.Ranks.Leads() || t.Resume {
		return nil
	}
	if err := t.matchInitial(path); err != nil {
		return term.Usagef("--init %s: %w; or copy the file alone elsewhere, to take columns and classes by number", path, err)
	}
	tensors, err := gnn.ReadStateDict(path)
	if err == nil {
		err = gnn.CheckStateDict(t.network(), tensors)
	}
	if err != nil {
		return term.Usagef("--init %s: %w", path, err)
	}
	return nil
}

// loadInitial reads the weights to start from, nil if none are named. Those of a run come into the order of this data
// set by the names of columns and classes.
func (t *Run) loadInitial(model gnn.Config) (gnn.StateDict, error) {
	if t.Config.Init == "" || !t.Ranks.Leads() {
		return nil, nil
	}
	path := t.Config.Init
	if t.Resume {
		path = t.Dir.Initial() // in this order already
	}
	tensors, err := gnn.ReadStateDict(path)
	t.initial = gnn.NewWeights(model)
	if err == nil {
		err = t.initial.LoadStateDict(tensors)
	}
	if err != nil {
		return nil, term.Usagef("--init %s: %w", path, err)
	}
	t.initial.Reorder(model, t.initOrder[0], t.initOrder[1])
	return t.initial.StateDict(), nil
}

// matchInitial finds out where each column and class of the run that the weights in a file are of stands in this data
// set, and notes what else is not the same.
func (t *Run) matchInitial(path string) error {
	is, from := &t.Data.Names, runfolder.Beside(path)
	if from == "" {
		if is.Columns != nil || is.Classes != nil {
			t.Console.Note("note: there is no names.json next to --init %s: columns and classes are matched by number", path)
		}
		return nil
	}
	was, err := from.ReadNames()
	if err != nil {
		return err
	}
	made, err := from.NoteFeatures(&t.Config)
	if err != nil {
		return err
	}
	if made != "" {
		t.Console.Note("note: %s", made)
	}
	for k, side := range []struct {
		of       dataset.Named
		is, was  []string
		numbered bool
	}{{dataset.Columns, is.Columns, was.Columns, made != "" || t.Config.MakesFeatures()}, {dataset.Classes, is.Classes, was.Classes, false}} {
		order, err := dataset.MatchNames(side.of, side.is, side.was)
		if err != nil {
			return err
		}
		switch t.initOrder[k] = order; {
		case (side.is == nil) != (side.was == nil) && !side.numbered:
			t.Console.Note("note: the %s of %s or of %s have no names: they are matched by number", side.of.Several, from, t.Data.Name)
		case order != nil:
			t.Console.Note("note: the %s of %s are in another order than those of %s: the weights were reordered", side.of.Several, from, t.Data.Name)
		}
	}
	t.noteInitialEdges(from, &was)
	return t.noteInitialScale(from, &was, t.initOrder[0])
}

// noteInitialEdges says where edges of the run that weights are of have weights or directions that this data set's have not, or the reverse.
func (t *Run) noteInitialEdges(from runfolder.Dir, was *runfolder.DataNames) {
	is, data := &t.Data.Names, t.Data.Name
	with, without, cure := string(from), data, ""
	if is.Weighted {
		with, without, cure = data, string(from), " (--ignore-weights leaves them out)"
	}
	if is.Weighted != was.Weighted {
		t.Console.Note("note: the edges of %s have weights, those of %s have none: the weights of --init were trained on other sums over neighbours%s", with, without, cure)
	}
	if is.Symmetric == was.Symmetric {
		return
	}
	with, without, cure = data, string(from), ""
	if was.Symmetric {
		with, without, cure = string(from), data, " (--edges symmetric makes one of it)"
	}
	t.Console.Note("note: the graph of %s has every edge in both directions, and that of %s is directed%s", with, without, cure)
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
