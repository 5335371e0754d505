package runfolder

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/internal/regular"
	"capgnn/internal/shell"
)

// DataNames are what a run keeps of its data set, to compare others with.
type DataNames struct {
	Columns  []string `json:"columns"`  // of the features; null: only their numbers are known
	Classes  []string `json:"classes"`  // null: only their numbers are known
	Weighted bool     `json:"weighted"` // edges have weights, which the run did not leave out
	// Symmetric says that every edge is there in both directions.
	Symmetric bool `json:"symmetric"`
	// Standardized is Dataset.Standardised.
	Standardized string `json:"standardized"`
}

// maxNamesBytes bounds names.json, which has as many names as features have columns.
const maxNamesBytes = 1 << 30

// WriteNames keeps the names of a run.
func (d Dir) WriteNames(n *DataNames) error {
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("format names: %w", err)
	}
	return term.WriteFile(d.names(), append(data, '\n'))
}

// ReadNames returns what WriteNames kept.
func (d Dir) ReadNames() (n DataNames, err error) {
	remedy := "restore that file, or use another run"
	if d.HoldsRun() {
		remedy = fmt.Sprintf("restore that file, or train anew with `capgnn train --config %s`", shell.Word(d.Config()))
	}
	text, err := regular.ReadFile(d.names(), maxNamesBytes)
	if err != nil {
		return n, term.Usagef("read names: %w: %s", err, remedy)
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return n, term.Usagef("read names %s: %w: %s", d.names(), err, remedy)
	}
	n.Columns, n.Classes = dataset.Composed(n.Columns), dataset.Composed(n.Classes)
	return n, nil
}

// Beside returns the folder in which a file of weights lies if it keeps names of what they were trained on, else "".
func Beside(weights string) Dir {
	if d := Dir(filepath.Dir(weights)); term.Exists(d.names()) || d.HoldsRun() {
		return d
	}
	return ""
}

// TrainedOn reports whether the run, if the folder holds one, is on the data set at path.
func (d Dir) TrainedOn(path string) (bool, error) {
	if !d.HoldsRun() {
		return false, nil
	}
	cfg := Default()
	err := d.ReadConfig(&cfg)
	return path != "" && cfg.DatasetPath == path, err
}

// NoteFeatures says where the features that the run in a folder learned of are not those that c says, because one of the two
// made them of the graph; "": they are, or there is no run.
func (d Dir) NoteFeatures(c *Config) (string, error) {
	if !d.HoldsRun() {
		return "", nil
	}
	was := Default()
	if err := d.ReadConfig(&was); err != nil {
		return "", err
	}
	said := func(c *Config) string {
		switch {
		case !c.MakesFeatures():
			return "those of its data set"
		case strings.HasPrefix(c.Features, dataset.FeaturesRandom):
			return fmt.Sprintf("--features %s of seed %d", c.Features, c.Seed)
		}
		return "--features " + c.Features
	}
	switch before, now := said(&was), said(c); {
	case before != now:
		return fmt.Sprintf("the features of %s are %s, and here %s: a column is something else in each, and its weights know nothing of these", d, before, now), nil
	case c.MakesFeatures() && c.Features != dataset.FeaturesDegree && c.DatasetPath != was.DatasetPath:
		return fmt.Sprintf("%s match vertices by number: vertex v is taken as vertex v of the graph of %s", now, d), nil
	}
	return "", nil
}

// NoteScale says where the features of a run, which kept was and with of them, and those of a data set may be of
// different scales; "": they are of one, or it is not known. Those of a run on the same data set are what they were.
func NoteScale(run, was string, with *dataset.Scaling, data, is string, by *dataset.Scaling, same bool) string {
	switch {
	case was == dataset.StandardizeTrain && with == nil && !same:
		return fmt.Sprintf("the features of %s were standardised when their store was written, which has no mean and deviation: "+
			"those of %s may be of another scale. "+
			"Import with --standardize none and train with --standardize train: such a run keeps both", run, data)
	case is != was:
		said := func(how string) string {
			if how == "" {
				return "as stored"
			}
			return "standardised (" + how + ")"
		}
		return fmt.Sprintf("the features of %s are %s, and those of %s %s: they may be of another scale", run, said(was), data, said(is))
	case with != nil && by != nil && !reflect.DeepEqual(with, by):
		return fmt.Sprintf("the features of %s were standardised with another mean and deviation than those of %s: they may be of another scale", run, data)
	}
	return ""
}
