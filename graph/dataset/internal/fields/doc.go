// Package fields reads the fields of a dataset.Dataset that several formats hold alike: matrices, features, labels and names of
// classes.
//
// Its nouns: Arrays are named arrays, of an .npz or of a Folder of .npy files, which are mapped; ReadCSR, ReadDense, ReadSparse,
// ReadLabels and ReadTargets read one field of them; FeatureLists are sparse features in JSON; ReadNames and WriteNames go between a
// data set and the names in files beside it; Number, Whole, Truth and Unknown say what a field of a table means; Ranges tell
// in which columns float32 would lose differences.
//
// # Contract
//
// Trust. Arrays are untrusted input: shapes, row pointers, columns, classes and values are checked before they are used. An error
// is a *dataset.FormatError with file, array and byte.
//
// Lifetime. Mapped arrays are the data set's (Keep): valid until its Close. An array is mapped if it lies in a Folder
// and has the type that the data set has; else it is read, converted and, for features, noted.
//
// # Usage
//
//	z, err := fields.OpenArchive(opt, path)
//	...
//	err = fields.ReadSparse(d, z, fields.CSRArrays{Indptr: "x_indptr", Indices: "x_indices", Column: "column"}, "x_data", n, cols)
package fields
