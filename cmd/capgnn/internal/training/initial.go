package training

import (
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/graph/dataset"
)

// compareInitial compares the weights of --init, and the data of the run that they are of, with this run's.
func (in *Input) compareInitial(c *runfolder.Config) error {
	path := c.Init
	if path == "" || in.Resume {
		return nil
	}
	if err := in.matchInitial(c); err != nil {
		return term.Usagef("--init %s: %w; or copy the file alone elsewhere, to take columns and classes by number",
			path, err)
	}
	tensors, err := gnn.ReadStateDict(path)
	if err == nil {
		err = gnn.CheckStateDict(in.network(c), tensors)
	}
	if err != nil {
		return term.Usagef("--init %s: %w", path, err)
	}
	return nil
}

// readInitial reads the weights of --init from a file. Those of a run come into the order of this data set by the names
// of columns and classes.
func (in *Input) readInitial(c *runfolder.Config, path string, model gnn.Config) error {
	tensors, err := gnn.ReadStateDict(path)
	in.initial = gnn.NewWeights(model)
	if err == nil {
		err = in.initial.LoadStateDict(tensors)
	}
	if err != nil {
		return term.Usagef("--init %s: %w", path, err)
	}
	for i, to := range in.initOrder { // of features, and of classes
		wider, err := c.Network(model.In+1-i, model.Out+i, model.Multi)
		if err == nil { // a program of a file has its widths
			in.initial.Reorder(wider, to)
		}
	}
	return nil
}

// matchInitial finds out where each column and class of the run that the weights in a file are of stands in this data
// set, and notes what else is not the same.
func (in *Input) matchInitial(c *runfolder.Config) error {
	is, from := &in.Data.Names, runfolder.Beside(c.Init)
	if from == "" {
		if is.Columns != nil || is.Classes != nil {
			in.Console.Note("note: there is no names.json next to --init %s: columns and classes are matched by number", c.Init)
		}
		return nil
	}
	was, err := from.ReadNames()
	if err != nil {
		return err
	}
	made, err := from.NoteFeatures(c)
	if err != nil {
		return err
	}
	if made != "" {
		in.Console.Note("note: %s", made)
	}
	for k, side := range []struct {
		of       dataset.Named
		is, was  []string
		numbered bool
	}{
		{dataset.Columns, is.Columns, was.Columns, made != "" || c.MakesFeatures()},
		{dataset.Classes, is.Classes, was.Classes, false},
	} {
		order, err := dataset.MatchNames(side.of, side.is, side.was)
		if err != nil {
			return err
		}
		switch in.initOrder[k] = order; {
		case (side.is == nil) != (side.was == nil) && !side.numbered:
			in.Console.Note("note: the %s of %s or of %s have no names: they are matched by number",
				side.of.Several, from, in.Data.Name)
		case order != nil:
			in.Console.Note("note: the %s of %s are in another order than those of %s: the weights were reordered",
				side.of.Several, from, in.Data.Name)
		}
	}
	in.noteInitialEdges(from, &was)
	return in.noteInitialScale(c, from, &was)
}

// noteInitialEdges says where edges of the run that weights are of have weights or directions that this data set's have
// not, or the reverse.
func (in *Input) noteInitialEdges(from runfolder.Dir, was *runfolder.DataNames) {
	is, data := &in.Data.Names, in.Data.Name
	with, without, cure := string(from), data, ""
	if is.Weighted {
		with, without, cure = data, string(from), " (--ignore-weights leaves them out)"
	}
	if is.Weighted != was.Weighted {
		in.Console.Note("note: the edges of %s have weights, those of %s have none: "+
			"the weights of --init were trained on other sums over neighbours%s", with, without, cure)
	}
	if is.Symmetric == was.Symmetric {
		return
	}
	with, without, cure = data, string(from), ""
	if was.Symmetric {
		with, without, cure = string(from), data, " (--edges symmetric makes one of it)"
	}
	in.Console.Note("note: the graph of %s has every edge in both directions, and that of %s is directed%s",
		with, without, cure)
}

// noteInitialScale says where the run that weights are of read features of another scale.
func (in *Input) noteInitialScale(c *runfolder.Config, from runfolder.Dir, was *runfolder.DataNames) error {
	columns := in.initOrder[0]
	with, err := from.ReadScaling()
	if err == nil && with != nil && columns != nil {
		if err = with.Check(len(columns)); err == nil {
			with = with.Reordered(columns)
		}
	}
	if err != nil || c.MakesFeatures() {
		return err
	}
	same, err := from.TrainedOn(c.DatasetPath)
	note := runfolder.NoteScale(string(from), was.Standardized, with, in.Data.Name, in.Data.Names.Standardized,
		in.Data.Scaling, same)
	if note != "" && err == nil {
		in.Console.Note("note: %s", note)
	}
	return err
}
