package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"capgnn/graph"
)

// digest is a platform-independent fingerprint of a graph.
func digest(g *graph.CSR) string {
	h := sha256.New()
	for _, x := range g.Indptr {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(x)))
	}
	for _, x := range g.Indices {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(x)))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func TestBlocks(t *testing.T) {
	const n, classes, degree, pIn = 4000, 5, 12.0, 0.8
	g, block, err := Blocks(n, classes, degree, pIn, 7)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	if !g.Symmetric() || !g.Equal(g.WithoutLoops()) {
		t.Fatal("graph is not symmetric or has loops")
	}
	inside, maxDegree := int64(0), 0
	size := make([]int, classes)
	for v := range n {
		size[block[v]]++
		maxDegree = max(maxDegree, len(g.Row(v)))
		for _, u := range g.Row(v) {
			if block[u] == block[v] {
				inside++
			}
		}
	}
	for b, s := range size {
		if s != n/classes {
			t.Errorf("block %d has %d vertices, want %d", b, s, n/classes)
		}
	}
	// Merged repeats lie inside blocks (800 vertices, about 4 000 pairs drawn by weight) and are a few per cent of them.
	if mean := float64(g.Edges()) / n; mean < 0.85*degree || mean > degree {
		t.Errorf("mean degree is %.2f, want at most %g and at least 85 %% of it", mean, degree)
	}
	if share := float64(inside) / float64(g.Edges()); math.Abs(share-pIn) > 0.04 {
		t.Errorf("share of edges inside blocks is %.3f, want %g ± 0.04", share, pIn)
	}
	if float64(maxDegree) < 4*degree {
		t.Errorf("largest degree is %d: no hubs", maxDegree)
	}
}

func TestGeneratorsRepeatAndDiffer(t *testing.T) {
	gens := map[string]func(seed uint64) (*graph.CSR, error){
		"blocks": func(s uint64) (*graph.CSR, error) { g, _, err := Blocks(300, 3, 6, 0.7, s); return g, err },
		"rmat":   func(s uint64) (*graph.CSR, error) { return RMAT(8, 8, s) },
		"random": func(s uint64) (*graph.CSR, error) { return Random(200, 900, true, s) },
	}
	// Fingerprints of seed 1, computed on linux/amd64: any platform that differs breaks repeatability of demo and tests.
	want := map[string]string{"blocks": "62450fd48addb83f", "rmat": "c354e46875850e15", "random": "af466c1b6e080ac6"}
	for name, gen := range gens {
		a, err := gen(1)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := gen(1)
		c, _ := gen(2)
		if !a.Equal(b) {
			t.Errorf("%s: equal seeds differ", name)
		}
		if a.Equal(c) {
			t.Errorf("%s: different seeds agree", name)
		}
		if err := a.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := digest(a); got != want[name] {
			t.Errorf("%s: fingerprint %s, want %s", name, got, want[name])
		}
	}
}

func TestRandomCounts(t *testing.T) {
	for _, tc := range []struct {
		n, m     int
		directed bool
		bad      bool
	}{
		{0, 0, true, false}, {1, 0, false, false}, {5, 20, true, false}, {5, 10, false, false},
		{5, 21, true, true}, {5, 11, false, true}, {1, 1, true, true}, {3, -1, true, true}, {60, 200, false, false},
	} {
		g, err := Random(tc.n, tc.m, tc.directed, 3)
		if (err != nil) != tc.bad {
			t.Errorf("n=%d m=%d directed=%v: error %v", tc.n, tc.m, tc.directed, err)
		}
		if err != nil {
			continue
		}
		want := int64(tc.m)
		if !tc.directed {
			want *= 2
		}
		if g.Edges() != want || !tc.directed && !g.Symmetric() || g.Validate() != nil || !g.Equal(g.WithoutLoops()) {
			t.Errorf("n=%d m=%d directed=%v: %d edges, want %d, no loops, symmetric if undirected", tc.n, tc.m, tc.directed, g.Edges(), want)
		}
	}
}

func TestRMATShape(t *testing.T) {
	g, err := RMAT(10, 8, 5)
	if err != nil {
		t.Fatal(err)
	}
	d := g.InDegree()
	if g.Rows() != 1024 || g.Edges() > 8*1024 || g.Edges() < 4*1024 || int(slices.Max(d)) < 10*8 {
		t.Errorf("%d vertices, %d edges, largest in-degree %d: not a heavy-tailed graph of 2^10 vertices", g.Rows(), g.Edges(), slices.Max(d))
	}
	if _, err := RMAT(31, 1, 0); err == nil {
		t.Error("scale 31 was accepted")
	}
}

func TestGeneratorArguments(t *testing.T) {
	for name, err := range map[string]error{
		"no vertices":      third(Blocks(0, 1, 1, 0.5, 0)),
		"too many classes": third(Blocks(3, 4, 1, 0.5, 0)),
		"nan degree":       third(Blocks(3, 1, math.NaN(), 0.5, 0)),
		"pIn above 1":      third(Blocks(3, 1, 1, 1.5, 0)),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if g, _, err := Blocks(1, 1, 1, 1, 0); err != nil || g.Edges() != 0 {
		t.Errorf("one vertex: %v", err)
	}
	if _, _, _, err := Words([]int32{0}, 2, 1, 1, 0.5, 0); err == nil {
		t.Error("fewer columns than blocks were accepted")
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

func TestWordsAndLabels(t *testing.T) {
	const n, classes, cols = 3000, 4, 200
	_, block, err := Blocks(n, classes, 2, 0.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	indptr, indices, data, err := Words(block, classes, cols, 20, 0.5, 9)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&graph.CSR{Indptr: indptr, Indices: indices, Cols: cols}).Validate(); err != nil {
		t.Fatal(err)
	}
	inTopic, total := 0.0, 0.0
	for v := range n {
		row := 0.0
		for e := indptr[v]; e < indptr[v+1]; e++ {
			row += float64(data[e])
			if off := (int(indices[e]) - int(block[v])*cols/classes + cols) % cols; off < 2*cols/classes {
				inTopic += float64(data[e])
			}
		}
		if row != 20 {
			t.Fatalf("vertex %d has %g words, want 20", v, row)
		}
		total += row
	}
	// signal + (1-signal)·(window share 1/2) = 0.75; standard error √(0.75·0.25/60000) = 0.0018, five of them
	if share := inTopic / total; math.Abs(share-0.75) > 0.009 {
		t.Errorf("share of topic words is %.4f, want 0.75", share)
	}
	labels := FlipLabels(block, classes, 0.2, 3)
	flipped := 0
	for v := range n {
		if labels[v] < 0 || labels[v] >= classes {
			t.Fatalf("label %d of vertex %d", labels[v], v)
		}
		if labels[v] != block[v] {
			flipped++
		}
	}
	// five standard errors of a binomial share
	if share := float64(flipped) / n; math.Abs(share-0.2) > 5*math.Sqrt(0.2*0.8/n) {
		t.Errorf("%.3f of the labels are flipped, want 0.2", share)
	}
}
