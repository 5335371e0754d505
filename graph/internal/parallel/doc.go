// Package parallel does the blocks of a stage on several goroutines, for generators and orders that take seconds: it reports
// progress and ends with its context. Work that takes less is done by graph.EachBlock.
package parallel
