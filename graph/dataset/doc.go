// Package dataset says what a model learns from: a graph with features, labels and splits.
//
// Its nouns: a Dataset is all of it in memory; a Features is dense or sparse input rows, a Scaling what they were
// standardised with; Options says how to read, and a Watch how far that has come; a FormatError says which file is wrong and
// where. Package formats reads data sets, stores maps and writes the native store, tables makes a data set of tables with names,
// fetch goes from names of published sets to paths.
//
// # Contract
//
// Validate checks every invariant. What formats.Load returns has passed it.
//
// Lifetime. Large arrays of a native store are memory-mapped and read-only: Graph and Features are valid until Close. A
// store is replaced by renaming, so a mapped one never changes.
//
// Features. MakeFeatures makes features of the graph, in place of those of the files or where there are none; Options.Features says
// which. Stores are written as standardised.
//
// Sets. Train, Val and Test are what the files say, and SettleSets completes it: a given validation or test set is never trained on. A Draw says how data without sets are split.
//
// Split, Draw and MakeFeatures are functions of their arguments and a seed: the same on every machine. Nothing reads the environment or
// prints; what a user should see is in Dataset.Notes.
//
// # Usage
//
//	d, err := formats.Load(path, dataset.Options{Draw: &dataset.Draw{Shares: dataset.DefaultFractions, Seed: 1}})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
package dataset
