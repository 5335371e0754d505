package dataset

import (
	"fmt"

	"capgnn/internal/npy"
)

// Values of Options.Edges.
const (
	// Auto is directed for stores, their .npz and edge lists, symmetric for all other formats.
	Auto = "auto"
	// Symmetric takes every stored edge in both directions.
	Symmetric = "symmetric"
	// Directed takes edges as the file means them: an entry (i, j) of a matrix and a line "i j" are i → j, row v of a store
	// lists the in-neighbours of v.
	Directed = "directed"
	// Reversed turns every edge of Directed round.
	Reversed = "reversed"
)

// Options says how to read a data set. The zero value is usable.
type Options struct {
	Edges         string   // Auto, Symmetric, Directed or Reversed; "" = Auto
	IgnoreWeights bool     // read edges as if they had no weights
	Standardize   string   // Auto, StandardizeNone, StandardizeTrain or StandardizeRows; "" = Auto: train for GraphSAINT folders, none for others
	Scaling       *Scaling // standardise with these, whatever Standardize says; nil: as it says
	Columns       []string // names of the columns of a run: stored features are put into their order, where they have names; nil: they stay as they lie
	Features      string   // FeaturesStored, FeaturesDegree, FeaturesOneHot or FeaturesRandom:WIDTH; "" = FeaturesStored
	Seed          uint64   // of FeaturesRandom
	Draw          *Draw    // how training, validation and test vertices are drawn where the files have none; nil: there are none
	AllowOverlap  bool     // sets of the files may have vertices in common
	SetsAsGiven   bool     // sets are not looked at, as nothing is learned: they stay as the files have them, and Draw does nothing
	Numbered      bool     // the files must have numbered splits, as heterophilous-graphs files do, of which MaskRow counts
	MaskRow       int      // of numbered splits: which, from 0; of other files it must be 0
	Compact       bool     // edge lists without features and labels: number the ids that occur, ascending; elsewhere an error
	// Known: the files are those that were read before with the same IgnoreWeights, and were right. Values of a store that stay in its files are not looked
	// through again; what could lead outside an array is.
	Known bool
	Watch Watch // told how far reading has come; nil: nobody
}

// Standardises reports whether features of a format that is not standardised by default are to be.
func (o Options) Standardises() bool {
	return o.Standardize == StandardizeTrain || o.Standardize == StandardizeRows || o.Scaling != nil
}

// ByRows reports whether each row of features is scaled by itself.
func (o Options) ByRows() bool { return o.Standardize == StandardizeRows && o.Scaling == nil }

// Watch is told how many bytes of a file, or of an array in one, have been read or written, of how many: about every MiB,
// and at the end of each. What is read twice is told twice. An error of it ends the work and is returned.
type Watch = npy.Watch

// Validate reports what is wrong with the options, whatever they are for.
func (o Options) Validate() error {
	switch o.Edges {
	case "", Auto, Symmetric, Directed, Reversed:
	default:
		return fmt.Errorf("edges %q: want %s, %s, %s or %s", o.Edges, Auto, Symmetric, Directed, Reversed)
	}
	if o.Features != "" {
		if err := CheckFeatures(o.Features); err != nil {
			return err
		}
	}
	if o.MakesFeatures() && o.Standardises() {
		return fmt.Errorf("standardize: features made from the graph (%s) are not standardised: drop one of them", o.Features)
	}
	if o.MaskRow < 0 {
		return fmt.Errorf("split %d: splits are numbered from 0", o.MaskRow)
	}
	switch o.Standardize {
	case "", Auto, StandardizeNone, StandardizeTrain, StandardizeRows:
		return nil
	}
	return fmt.Errorf("standardize %q: want %s, %s, %s or %s", o.Standardize, Auto, StandardizeNone, StandardizeTrain, StandardizeRows)
}
