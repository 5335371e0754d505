package prediction

import (
	"cmp"
	"fmt"
	"slices"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/graph/dataset"
	"capgnn/internal/shell"
)

// UseNames reads what the columns and the classes of the run are called whose weights are used.
func (p *Prediction) UseNames() (err error) {
	p.names, err = p.learned().ReadNames()
	return err
}

// UseResult reads the result of the run, if it is finished.
func (p *Prediction) UseResult() (err error) {
	p.result, err = p.Folder.ReadResult()
	return err
}

// sameWeights refuses a graph whose edges have weights for a run whose had none, and the reverse.
func (p *Prediction) sameWeights(weighted bool) error {
	switch {
	case p.names.Weighted == weighted:
		return nil
	case weighted:
		return fmt.Errorf("its edges have weights, those of %s have none: "+
			"leave them out with `capgnn data import --ignore-weights`, or train a run with weights", p.learned())
	}
	return fmt.Errorf("its edges have no weights, those of %s have some: "+
		"add them, or train a run with `capgnn train --ignore-weights`", p.learned())
}

// noteDirections says where one graph has every edge in both directions and the other has not.
func (p *Prediction) noteDirections() {
	is, was := p.Data.Names.Symmetric, p.names.Symmetric
	if !p.Ranks.Leads() || is == was {
		return
	}
	if is {
		p.Console.Note("note: the graph of %s is directed, and that of %s has every edge in both directions: it is predicted as it is", p.learned(), p.Data.Name)
		return
	}
	p.Console.Note("note: the graph of %s has every edge in both directions, and that of %s is directed: `capgnn data import %s --edges symmetric --out STORE` makes one to predict", p.learned(), p.Data.Name, shell.Word(p.Config.Dataset))
}

// noteScales says where the features of the run and of the data set may be of different scales, because one side was
// standardised before it was read.
func (p *Prediction) noteScales() {
	if !p.Ranks.Leads() || !p.elsewhere() {
		return
	}
	same := false
	if p.Learned != "" {
		same, _ = p.Learned.TrainedOn(p.Config.DatasetPath) // what is not known has the note
	}
	if note := runfolder.NoteScale(string(p.learned()), p.names.Standardized, p.scaling, p.Data.Name, p.Data.Names.Standardized, p.Data.Scaling, same); note != "" {
		p.Console.Note("note: %s", note)
	}
}

// learned is the folder of the run that the weights come from.
func (p *Prediction) learned() runfolder.Dir { return cmp.Or(p.Learned, p.Folder) }

// elsewhere reports whether other data are predicted than those that the weights come from.
func (p *Prediction) elsewhere() bool { return p.Other || p.Learned != "" }

// noteNames says where columns and classes are taken by their numbers because one side has no names.
func (p *Prediction) noteNames(d *dataset.Dataset) {
	if p.Alone && (p.names.Columns != nil || p.names.Classes != nil) {
		p.Console.Note("note: there is no names.json next to --weights %s: its columns and classes are taken to be those of %s", p.Weights, p.Folder)
	}
	made := ""
	if p.Learned != "" {
		made, _ = p.Learned.NoteFeatures(&p.Config) // what is not known has the note of names
	}
	switch {
	case made != "":
		p.Console.Note("note: %s", made)
	case d.Features.Present() && (d.ColumnNames == nil) != (p.names.Columns == nil) && !p.Config.MakesFeatures():
		side := map[bool]string{true: "the run's", false: "the data set's"}[p.names.Columns == nil]
		p.Console.Note("note: %s columns of features have no names: they are matched by number", side)
	}
	if p.elsewhere() && p.names.Classes == nil && d.ClassNames != nil {
		p.Console.Note("note: the run's classes have no names: class k is called as in the data set")
	}
	if p.names.Classes != nil && d.ClassNames != nil {
		if others := p.otherClasses(d); others > 0 {
			p.Console.Note("note: the run does not have %d of the data set's classes: no vertex is predicted to be of them", others)
		}
	}
}

// otherCount is the error of labels of more or fewer classes than the model gives: it names one that only one side has.
func (p *Prediction) otherCount(d *dataset.Dataset) error {
	has, lacks, more, fewer := "data set", "run", d.Classes, p.model.Out
	if more < fewer {
		has, lacks, more, fewer = lacks, has, fewer, more
	}
	which := fmt.Sprint(fewer)
	if p.names.Classes != nil && d.ClassNames != nil && has == "data set" {
		of := p.classes()
		k := slices.IndexFunc(d.ClassNames, func(name string) bool { _, known := of[name]; return !known })
		which = fmt.Sprintf("%.60q", d.ClassNames[max(k, 0)])
	}
	return fmt.Errorf("the data set has %d classes, the model of %s gives %d: class %s of the %s is not in the %s: "+
		"predict without labels (they are not needed), or with those of the run's classes alone", d.Classes, p.Folder, p.model.Out, which, has, lacks)
}

// knowsClasses reports whether the data set names classes that all are the run's. They may be fewer, and in another
// order.
func (p *Prediction) knowsClasses(d *dataset.Dataset) bool {
	return d.ClassNames != nil && p.names.Classes != nil && p.otherClasses(d) == 0
}

// otherClasses returns how many classes of the data set the run does not name.
func (p *Prediction) otherClasses(d *dataset.Dataset) (others int) {
	of := p.classes()
	for _, name := range d.ClassNames {
		if _, known := of[name]; !known {
			others++
		}
	}
	return others
}

// classes returns the run's by name; of equal names the first.
func (p *Prediction) classes() map[string]int32 {
	of := make(map[string]int32, len(p.names.Classes))
	for c, name := range p.names.Classes {
		if _, twice := of[name]; !twice {
			of[name] = int32(c)
		}
	}
	return of
}

// classNames returns what the classes of the answer are called: as the run's, else as the data set's; nil: only
// numbers are known.
func (p *Prediction) classNames() []string {
	if p.names.Classes != nil {
		return p.names.Classes
	}
	return p.Data.Names.Classes
}

// classesByName returns the labels of a data set as classes of the run, by their names where both sides have them. A
// class that the run does not have is none.
func (p *Prediction) classesByName(d *dataset.Dataset) []int32 {
	if d.Labels == nil || d.ClassNames == nil || p.names.Classes == nil || slices.Equal(d.ClassNames, p.names.Classes) {
		return d.Labels
	}
	run, of := p.classes(), make([]int32, len(d.ClassNames))
	for c, name := range d.ClassNames {
		class, known := run[name]
		if of[c] = class; !known {
			of[c] = -1
		}
	}
	out := make([]int32, len(d.Labels))
	for v, y := range d.Labels {
		if out[v] = -1; y >= 0 {
			out[v] = of[y]
		}
	}
	return out
}
