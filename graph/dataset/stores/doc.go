// Package stores reads and writes the native store: a folder of .npy arrays that are mapped, not read, and meta.json.
//
// Its nouns: Write makes a store, Load maps one, LoadArchive reads the same arrays out of one .npz; Keys and MetaFile are the names
// of the files. docs/formats describes them.
//
// # Contract
//
// Writing. A store appears under its name when it is complete, or not at all. Equal data sets give equal bytes.
//
// Mapping. Graph and features of Load are mapped and read-only until Close of the data set. A store is replaced by renaming, so a
// mapped one never changes. Arrays of another type or order than Write's, as other programs write them, are read and converted.
//
// Checking. Stores are untrusted input like any file: arrays are checked against each other and against what meta.json announces;
// what it does not say is taken from the arrays. The result still needs Validate, as of all formats.
//
// # Usage
//
//	if err := stores.Write("cora", d, nil); err != nil {
//		return err
//	}
//	d, err := stores.Load("cora", dataset.Options{})
package stores
