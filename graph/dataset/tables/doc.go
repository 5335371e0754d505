// Package tables makes a data set of two tables with names in them, as databases and spreadsheets write them: `capgnn data tables`.
//
// Its nouns: Tables says which columns of which files are ids, classes and features; Written says what became of them.
//
// # Contract
//
// Reading. Fields stand between commas, semicolons or tabs and may be quoted; files may be gzip. They are untrusted input: a fault
// names file, line and column, and what to do about it; all columns that are no numbers are one error. A line has at most
// 16 MiB.
//
// Writing. WriteCSV writes a CSV folder that formats.Load reads, with the names in files beside. It does not clean up after an
// error: the caller makes the folder, and gives it its name.
//
// Vertices are numbered in the order of their lines, classes by name, features by column and name. Equal tables give equal files.
//
// # Usage
//
//	t := tables.Tables{Nodes: "papers.csv", Edges: "citations.csv", Label: "field", Drop: []string{"title"}}
//	written, err := t.WriteCSV(dir)
package tables
