package dataset

import (
	"fmt"

	"capgnn/graph"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/npy"
	"capgnn/internal/room"
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
	Edges       string   // Auto, Symmetric, Directed or Reversed; "" = Auto
	Standardize string   // Auto, StandardizeNone or StandardizeTrain; "" = Auto: train for GraphSAINT folders, none for others
	Scaling     *Scaling // standardise with these, whatever Standardize says; nil: as it says
	Features    string   // FeaturesStored, FeaturesDegree, FeaturesOneHot or FeaturesRandom:WIDTH; "" = FeaturesStored
	Seed        uint64   // of FeaturesRandom
	// Training names the rows to standardise with where the files have no train_mask; nil: that is an error.
	Training func(vertices int, labels []int32) (train []bool, err error)
	MaskRow  int   // heterophilous-graphs files: which of their splits, from 0; anywhere else it must be 0
	Compact  bool  // edge lists without features and labels: number the ids that occur, ascending; elsewhere an error
	Watch    Watch // told how far reading has come; nil: nobody
}

// standardises reports whether features of a format that is not standardised by default are to be.
func (o Options) standardises() bool { return o.Standardize == StandardizeTrain || o.Scaling != nil }

// Watch is told how many bytes of a file, or of an array in one, have been read or written, of how many: about every MiB,
// and at the end of each. What is read twice is told twice. An error of it ends the work and is returned.
type Watch = npy.Watch

// watchBytes is about what lies between two calls of a Watch.
const watchBytes = textfile.WatchBytes

// openArchive opens a .npz whose arrays report to Watch.
func (o Options) openArchive(path string) (*npy.Archive, error) {
	z, err := npy.OpenArchive(path)
	if err == nil {
		z.Watch(o.Watch)
	}
	return z, err
}

// openArray opens a .npy that reports to Watch.
func (o Options) openArray(path string) (*npy.Array, error) {
	a, err := npy.Open(path)
	if err == nil {
		a.Watch(o.Watch)
	}
	return a, err
}

func (o Options) validate() error {
	switch o.Edges {
	case "", Auto, Symmetric, Directed, Reversed:
	default:
		return fmt.Errorf("edges %q: want %s, %s, %s or %s", o.Edges, Auto, Symmetric, Directed, Reversed)
	}
	if err := CheckFeatures(o.Features); err != nil {
		return err
	}
	if o.makes() && (o.Standardize == StandardizeTrain || o.Scaling != nil) {
		return fmt.Errorf("standardize: features made from the graph (%s) are not standardised: leave one of them away", o.Features)
	}
	if o.MaskRow < 0 {
		return fmt.Errorf("split %d: splits are numbered from 0", o.MaskRow)
	}
	switch o.Standardize {
	case "", Auto, StandardizeNone, StandardizeTrain:
		return nil
	}
	return fmt.Errorf("standardize %q: want %s, %s or %s", o.Standardize, Auto, StandardizeNone, StandardizeTrain)
}

// fromMatrix returns the graph of a matrix A with A[i][j] = edge i → j, whose rows are normal. It takes a's arrays over.
func (o Options) fromMatrix(a *graph.CSR) (*graph.CSR, error) {
	switch o.Edges {
	case Directed:
		if err := room.For(4*a.Edges() + 16*int64(a.Rows())); err != nil {
			return nil, err
		}
		return a.Transpose(), nil
	case Reversed:
		return a, nil
	}
	return symmetrised(a)
}

// noteEdges says how the number of edges changed.
func (d *Dataset) noteEdges(c edgeCounts) {
	if merged := c.stored - c.normal; merged > 0 {
		d.note("%d repeated edges merged", merged)
	}
	if added := d.Graph.Edges() - c.normal; added > 0 {
		d.note("%d edges stored in one direction only were made symmetric (--edges directed keeps them as stored)", added)
	}
}
