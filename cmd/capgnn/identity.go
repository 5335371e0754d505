package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"

	"capgnn/pipeline"
)

// identify returns the hex SHA-256 of a problem: graph, features, labels and splits. Equal problems train alike, whatever
// file they came from.
func identify(p *pipeline.Problem) string {
	h := sha256.New()
	f := &p.Features
	fmt.Fprintf(h, "capgnn problem 1 vertices=%d features=%d sparse=%t classes=%d\n", p.Vertices(), f.Cols, f.Sparse(), p.Classes)
	u32, u64 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	float := func(b []byte, x float32) []byte { return u32(b, math.Float32bits(x)) }
	hashArray(h, "indptr", p.Graph.Indptr, func(b []byte, x int64) []byte { return u64(b, uint64(x)) })
	hashArray(h, "indices", p.Graph.Indices, func(b []byte, x int32) []byte { return u32(b, uint32(x)) })
	hashArray(h, "x", f.Dense, float)
	hashArray(h, "x_indptr", f.Indptr, func(b []byte, x int64) []byte { return u64(b, uint64(x)) })
	hashArray(h, "x_indices", f.Indices, func(b []byte, x int32) []byte { return u32(b, uint32(x)) })
	hashArray(h, "x_data", f.Data, float)
	hashArray(h, "y", p.Labels, func(b []byte, x int32) []byte { return u32(b, uint32(x)) })
	hashArray(h, "targets", p.Targets, func(b []byte, x uint8) []byte { return append(b, x) })
	for name, mask := range [...][]bool{p.Train, p.Val, p.Test} {
		hashArray(h, fmt.Sprint("mask", name), mask, func(b []byte, x bool) []byte {
			if x {
				return append(b, 1)
			}
			return append(b, 0)
		})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashArray feeds one named array to h, in pieces of 64 Ki elements.
func hashArray[T any](h hash.Hash, name string, xs []T, put func([]byte, T) []byte) {
	fmt.Fprintf(h, "%s %d\n", name, len(xs))
	var b []byte
	for i, x := range xs {
		if b = put(b, x); i&0xFFFF == 0xFFFF {
			h.Write(b)
			b = b[:0]
		}
	}
	h.Write(b)
}
