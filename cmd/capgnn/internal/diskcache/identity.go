package diskcache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math/bits"
	"slices"

	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
)

// Sums are the hex SHA-256 of what is large in a data set: the graph, loops as they were read and weights with it, and the features. Equal arrays
// have equal sums, whatever file they came from.
type Sums struct {
	Graph    string `json:"graph"`
	Features string `json:"features"`
}

// SumOf computes the sum of a graph.
func SumOf(g *graph.CSR) string {
	h := sha256.New()
	fmt.Fprintf(h, "capgnn graph 2 vertices=%d\n", g.Rows())
	hashArray(h, "indptr", g.Indptr)
	hashArray(h, "indices", g.Indices)
	if g.Weights != nil {
		hashArray(h, "weights", g.Weights)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// SumsOf computes the sums of a problem.
func SumsOf(p *learn.Problem) Sums {
	f := &p.Features
	x := sha256.New()
	fmt.Fprintf(x, "capgnn features 2 vertices=%d columns=%d sparse=%t\n", p.Vertices(), f.Cols, f.Sparse())
	hashArray(x, "x", f.Dense)
	hashArray(x, "x_indptr", f.Indptr)
	hashArray(x, "x_indices", f.Indices)
	hashArray(x, "x_data", f.Data)
	return Sums{Graph: SumOf(p.Graph), Features: hex.EncodeToString(x.Sum(nil))}
}

// CountDegrees returns how many vertices have 0, 1, 2–3, 4–7, … in-neighbours, loops as they are stored.
func CountDegrees(g *graph.CSR) []int {
	var n [mostDegrees]int
	longest := 0
	for v := range g.Rows() {
		k := bits.Len64(uint64(g.Indptr[v+1] - g.Indptr[v]))
		n[k]++
		longest = max(longest, k)
	}
	return slices.Clone(n[:longest+1])
}

// mostDegrees is how many counts of CountDegrees there are at most.
const mostDegrees = 65

// Identify returns the hex SHA-256 of a problem with these sums: graph, features, labels and splits. Equal problems train
// alike, whatever file they came from.
func Identify(p *learn.Problem, s Sums) string {
	h := sha256.New()
	fmt.Fprintf(h, "capgnn problem 2 graph=%s loops=%v features=%s classes=%d\n", s.Graph, p.Loops, s.Features, p.Classes)
	hashArray(h, "y", p.Labels)
	hashArray(h, "targets", p.Targets)
	for name, mask := range [...][]bool{p.Train, p.Val, p.Test} {
		bits := make([]uint8, len(mask))
		for v, in := range mask {
			if in {
				bits[v] = 1
			}
		}
		hashArray(h, fmt.Sprint("mask", name), bits)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashedPiece is the length of the pieces of an array that are hashed apart, on all processors, in bytes.
const hashedPiece = 1 << 20

// hashArray feeds one named array to h: its length, and the SHA-256 of every piece of its little-endian bytes.
func hashArray[T hostmem.Numeric](h hash.Hash, name string, xs []T) {
	fmt.Fprintf(h, "%s %d\n", name, len(xs))
	raw := hostmem.Bytes(xs)
	digests := make([][sha256.Size]byte, (len(raw)+hashedPiece-1)/hashedPiece)
	graph.EachBlock(len(digests), 1, func(k, _ int) {
		piece := raw[k*hashedPiece : min(len(raw), (k+1)*hashedPiece)]
		if !hostmem.LittleEndian() {
			piece = swapped(piece, len(raw)/len(xs))
		}
		digests[k] = sha256.Sum256(piece)
	})
	for _, d := range digests {
		h.Write(d[:])
	}
}

// swapped returns a copy of elements of this many bytes each, with the bytes of each in reverse.
func swapped(raw []byte, size int) []byte {
	out := slices.Clone(raw)
	for i := 0; i < len(out); i += size {
		slices.Reverse(out[i : i+size])
	}
	return out
}
