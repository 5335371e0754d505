// Package runfile has the schema of result.json and metrics.jsonl: one struct for what writes and for what reads
// them.
//
// Its nouns: a Result is result.json; an Epoch is a line of metrics.jsonl. docs/formats/run.md describes the files.
//
// Contract: times are in seconds, sizes in bytes, shares in [0, 1]; pointers are nil where a value is not defined or
// not there. Readers bound what they read, and keys that they do not know are no error.
//
//	result, err := runfile.ReadResult(resultFile)
//	epochs, err := runfile.ReadEpochs(metricsFile)
package runfile
