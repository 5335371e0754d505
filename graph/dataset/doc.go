// Package dataset reads and writes what a model learns from: a graph with features, labels and splits.
//
// Its nouns: a Dataset is all of it in memory; a Features is dense or sparse input rows; Options says how to read; a
// FormatError says which file is wrong and where.
//
// # Contract
//
// Reading. Load finds out what lies at a path: the native store (a folder), one .npz with the store's keys, a
// gnn-benchmark .npz, a Planetoid or a GraphSAINT folder. Other known formats are named in the error. What Load returns
// has passed Validate: rows sorted, repeats merged, every index in range, every feature finite, every length right.
//
// Trust. Files may be truncated or hostile: the result is an error with file, and byte offset where there is one, never a
// panic; memory grows with the bytes that are there, never with a number that a file states.
//
// Lifetime. Large arrays of a native store are memory-mapped and read-only: Graph and Features are valid until Close. A
// store is replaced by renaming, so a mapped one never changes.
//
// Direction. Graph lists in-neighbours. Files that hold a matrix A with A[i][j] = edge i → j are transposed, or made
// symmetric, as Options.Edges says; loops stay as stored.
//
// Features. Values become float32. Options.Standardize centres and scales every column by mean and deviation of the
// training rows; by default only for GraphSAINT folders, as in their publication. Stores are written as standardised.
//
// Equal files give equal datasets, and equal datasets give equal bytes when written. Nothing reads the environment or
// prints; what a user should see is in Dataset.Notes.
//
// # Source
//
// DESIGN.md 8. The paper takes its data from DGL and OGB; formats are those of the data sets' own publications.
//
// # Usage
//
//	path, err := dataset.Resolve("coauthor_physics", roots)
//	if err != nil {
//		return err
//	}
//	d, err := dataset.Load(path, dataset.Options{})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	if d.Train == nil {
//		d.Train, d.Val, d.Test, err = dataset.Split(d.Graph.Rows(), d.Labels, seed, dataset.DefaultFractions)
//	}
package dataset
