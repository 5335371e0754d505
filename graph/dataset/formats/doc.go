// Package formats reads data sets: it finds out what lies at a path, and reads it. A format has a file here, named after it.
//
// Its nouns: Load reads a data set; Wanted says how a file that was not read would have to be called.
//
// # Contract
//
// Reading. Load finds out what lies at a path: the native store (a folder), one .npz with the store's keys, a
// gnn-benchmark or heterophilous-graphs .npz, an edge list or MatrixMarket matrix (text or gzip), or a Planetoid, GraphSAINT, OGB,
// DGL Reddit, DGL CSV or CSV folder. Files of other programs are told by their first bytes, whatever their names are; the error names
// them and says how to write what is read. What Load returns has passed Validate: rows sorted, repeats
// merged, every index in range, every feature finite, every length right.
//
// Trust. Files may be truncated or hostile: the result is an error with file, and byte offset and line where there are
// some, never a panic; memory grows with the bytes that are there, never with a number that a file states, and what the
// system would not give is an error too (*room.Short inside). An edge list
// may name ids up to 64 for each edge and 2^20, unless Options.Compact numbers those that occur. Offsets in a gzip file
// are those of the text in it; text that inflates more than 256 times is refused beyond 16 MiB.
//
// CSV folders. edges.csv holds two columns of vertex ids, from and to. Optional are features, labels, train, val and test,
// as NAME.npy, NAME.csv or NAME.csv.gz: features one row per vertex; labels one class per line (-1 or nan: none), or a row
// of 0 and 1 for several classes; train, val and test one 0 or 1 per vertex, or a list of different vertices. A list as
// long as there are vertices, all of it 0 or 1, is taken as the former, which can be wrong for two vertices only. Text is
// separated by commas, tabs or blanks and may begin with a line of names, but has no column of row numbers. Sparse features
// are a SciPy matrix, features.npz, or lists by vertex, features.json.
//
// Files that are not read. Dataset.Files and Unread list what of a folder was read and what not, with what it looks like by
// its name, so that nobody trains without features that are there under another name.
//
// Memory. Load takes what the data set takes, and little beside: edges are read twice and built, sorted and made symmetric
// where they lie; text is measured before it is read; arrays of an archive are inflated into place. The result may be as
// large as memory, except for a mapped store.
//
// Direction. Graph lists in-neighbours. Files that hold a matrix A with A[i][j] = edge i → j are transposed, or made
// symmetric, as Options.Edges says; loops stay as stored. Edge lists, CSV folders, DGL CSV folders and MatrixMarket files that do
// not say that they are symmetric are directed by default, with a note.
//
// Features. Values become float32. Options.Standardize centres and scales every column by mean and deviation of the training rows,
// by default only for GraphSAINT folders, as in their publication, or by Options.Scaling; or it divides every row by the sum of its absolute values.
//
// Equal files give equal data sets.
//
// # Source
//
// The paper takes its data from DGL and OGB; formats are those of the data sets' own publications.
//
// # Usage
//
//	path, _, err := fetch.Resolve("coauthor_physics", roots)
//	if err != nil {
//		return err
//	}
//	d, err := formats.Load(path, dataset.Options{})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
package formats
