package synth

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"capgnn/graph"
	"capgnn/graph/internal/parallel"
)

// Streams of one seed, in the upper bits so that they meet neither those of the other generators nor the numbers of rounds
// and blocks below them.
const (
	streamVertices uint64 = (iota + 1) << 56
	streamEdges
	streamPrototypes
	streamFeatures
	streamSets
	streamTargets
	streamTypes
)

// maxPairs bounds the undirected edges of a nested block model.
const maxPairs = math.MaxInt32

// Nested is a degree-corrected block model of two levels: communities inside classes.
type Nested struct {
	Vertices    int     // 1 to 2³¹-1
	Pairs       int64   // undirected edges; the graph stores each in both directions
	Classes     int     // 1 to Vertices; where there are many communities, the largest has about five times the vertices of the smallest
	Community   int     // vertices of a community, about; every class has at least one
	InCommunity float64 // share of edges drawn inside a community
	InClass     float64 // share of edges drawn inside a class, but not by community
	Tail        float64 // probability of the next octave of degree weights: 0.5 is a Pareto tail of exponent 1, 0.25 of 2
	Octaves     int     // 0 to 16: weights differ by at most 2^(Octaves+1)
	Seed        uint64
}

// Options says how a generator works; no field changes a result. The zero value is usable.
type Options struct {
	Threads int // 0 = GOMAXPROCS
	// Progress is called after each block of a stage, by one goroutine at a time; nil: not.
	Progress func(stage string, done, total int)
}

// Communities draws a graph of the nested block model.
//
// Returns: a symmetric graph without loops, and the class of every vertex. It has exactly s.Pairs undirected edges unless the
// model is too dense for that many, and then all that maxRounds rounds found. Ids are in random order.
//
// Method: communities of equal size are dealt to classes; vertices get integer weights with a Pareto tail. For each pair the
// first end is drawn by weight; the second, by weight, in the same community, the same class or the whole graph. Pairs are
// drawn in blocks with a random stream each, so threads decide nothing; repeats are merged and made up for by further
// rounds; what is then too much is dropped evenly. Only integers and exact comparisons decide: a seed gives the same graph
// on every 64-bit platform. Memory: 8 bytes per pair drawn and 16 per pair kept.
//
// Why: communities give clustering and cuts, classes give homophily, weights give hubs, each to be chosen alone.
//
// Source: Karrer and Newman, "Stochastic blockmodels and community structure in networks", 2011; the nesting is that of
// Lancichinetti and Fortunato's hierarchical benchmark, 2009. Sampling by alias tables: Vose, 1991.
func Communities(ctx context.Context, s Nested, how Options) (*graph.CSR, []int32, error) {
	if err := s.validate(); err != nil {
		return nil, nil, err
	}
	c := parallel.New(ctx, how.Threads, how.Progress)
	m := newNest(s)
	half, err := m.drawPairs(c, s)
	if err != nil {
		return nil, nil, err
	}
	thin(half, s.Pairs)
	g := mirror(half)
	return g, m.class, ctx.Err()
}

func (s Nested) validate() error {
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	switch {
	case s.Vertices < 1 || s.Vertices > maxVertices:
		return fmt.Errorf("nested block model: %d vertices are not in [1, %d]", s.Vertices, maxVertices)
	case s.Classes < 1 || s.Classes > s.Vertices:
		return fmt.Errorf("nested block model: %d classes are not in [1, %d]", s.Classes, s.Vertices)
	case s.Pairs < 0 || float64(s.Pairs) > float64(s.Vertices)*float64(s.Vertices-1)/2 || s.Pairs > maxPairs:
		return fmt.Errorf("nested block model: %d undirected edges do not fit %d vertices, or are more than %d", s.Pairs, s.Vertices, maxPairs)
	case s.Community < 1:
		return fmt.Errorf("nested block model: communities of %d vertices; want 1 or more", s.Community)
	case !share(s.InCommunity) || !share(s.InClass) || s.InCommunity+s.InClass > 1:
		return fmt.Errorf("nested block model: shares of edges %g and %g are not in [0, 1] or sum to more than 1", s.InCommunity, s.InClass)
	case !share(s.Tail) || s.Octaves < 0 || s.Octaves > 16:
		return fmt.Errorf("nested block model: tail %g is not in [0, 1] or octaves %d not in [0, 16]", s.Tail, s.Octaves)
	}
	return nil
}

// stream returns the random numbers of one block of one stage.
func stream(seed, stage uint64, block int) *rand.PCG { return rand.NewPCG(seed, stage|uint64(block)) }

// threshold returns the bound below which a uniform 32-bit word lies with probability p.
func threshold(p float64) uint64 { return uint64(p * (1 << 32)) }
