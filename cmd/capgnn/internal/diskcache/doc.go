// Package diskcache keeps on disk what runs prepare, and what is known of data sets that were read before. All of it can be
// made again.
//
// Its nouns: a Cache, which keeps prepared pieces (pipeline.Prepared) by key, bounded by $CAPGNN_CACHE_LIMIT; Sums, the
// SHA-256 of what is large in a data set, remembered by path, size and time of its files; plans of parts (package rapa).
//
// # Contract
//
// Equal arrays have equal sums, whatever file they came from; Identify makes one sum of a whole problem. What cannot be read
// or kept is noted and made again: no error of a cache ends a run. Files appear whole and carry checksums; what was used
// longest ago goes first. Another build of the program takes nothing of this one.
//
// It imports package term, pipeline, rapa, hostmem, graph and gpu. Begin with cache.go; the format is in cachefile.go.
//
//	prepared, err := diskcache.Open(k) // nil: nothing is kept
//	sums, degrees := prepared.Recall(path, options, started, problem)
package diskcache
