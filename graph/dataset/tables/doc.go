// Package tables makes a data set of tables with names in them, as databases and spreadsheets write them: `capgnn data tables`.
//
// Its nouns: Tables says which columns of which files are ids, classes and features; Written says what became of them.
//
// # Contract
//
// Reading. Fields stand between commas, semicolons, tabs, bars or blanks and may be quoted; files may be gzip. They are
// untrusted input: a fault names file, line and column, and what to do about it; all columns that are no features are one
// error. What may be understood in two ways is a note. A line has at most 16 MiB. The table of vertices is read twice, and
// once more for means of columns, and for lists: first to see what its columns hold, then to write it. Ids, names and classes are kept in
// memory, rows only where they go to a binary file.
//
// Writing. WriteCSV writes a CSV folder that formats.Load reads, with the names in files beside. It does not clean up after an
// error: the caller makes the folder, and gives it its name.
//
// Vertices are numbered in the order of their lines, classes by value or name, features by column and name. Equal tables give
// equal files.
//
// # Usage
//
//	t := tables.Tables{Nodes: "papers.csv", Edges: "citations.csv", Label: "field", Drop: []string{"title"}}
//	written, err := t.WriteCSV(dir)
package tables
