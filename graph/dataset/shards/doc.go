// Package shards keeps a data set that is cut into parts in a folder for each machine, and what all machines know of all parts in one more.
//
// Its nouns: a Cut is a data set with the part of every vertex and how the parts lie on machines; Write makes a folder of it; a Folder is what Open reads of one,
// a Shard the vertices of one machine, and Whole the graph and the labels of all, for sampled training, both mapped. docs/formats/shards.md describes the files.
//
// # Contract
//
// Writing. A folder appears under its name when it is complete, or not at all. Equal cuts give equal bytes. Beside the data set, which may be mapped, it takes a few
// numbers per vertex, the edges of one machine turned around where the graph is not symmetric, and what the tables of all parts hold.
//
// Mapping. Graph and features of a Shard are mapped and read-only until Close. A folder is replaced, never changed.
//
// Checking. Folders are untrusted input. Sizes of files and their SHA-256 must be those that were written, unless the caller knows that they were; numbers are
// checked against each other all the same. Whether edges and tables belong together, graph.SplitOutline sees.
//
// The paper has one machine. Halos and parts are those of its §2.2.
//
// # Usage
//
//	err := shards.Write("products.shards", &shards.Cut{Data: d, Part: plan.Part, Machines: []int{1, 1}, …}, nil)
//	f, err := shards.Open("products.shards", nil)
//	s, err := f.Shard(0, nil)
//	defer s.Close()
package shards
