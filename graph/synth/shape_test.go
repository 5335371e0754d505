package synth

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/internal/long"
)

var update = flag.Bool("update", false, "write the table of docs/formats/synth.md anew")

// shapeSeed is the seed that the presets are measured with.
const shapeSeed = 1

// shapeScales are the scales at which the presets are measured: about 20 000 vertices each.
var shapeScales = map[string]float64{
	"reddit-like": 0.05, "products-like": 0.01, "flickr-like": 0.25, "yelp-like": 0.03, "amazonproducts-like": 0.01, "papers-like": 0.0002, "corafull-like": 1,
}

// shape is what a preset is documented and checked by.
type shape struct {
	degrees              []int32 // ascending
	tail                 float64 // slope of the log-log plot of the share of vertices with a degree ≥ x, from the 90th percentile
	clustering, likeness float64
	// scores of a rule that knows the prototypes: without edges, one hop, one hop over half the edges, two hops
	own, near, half, far float64
	// two hops and the count over neighbours: over all edges, over nine of ten, over half of them; far where nothing counts
	all, most, some float64
}

// wholeTable says that every preset is measured: with CAPGNN_LONG=1, and to write the table anew.
func wholeTable() bool { return long.Wanted() || *update }

// TestPresetShapes: hubs, communities, homophily and what a classifier that knows the prototypes can reach, for each preset.
func TestPresetShapes(t *testing.T) {
	var table strings.Builder
	table.WriteString("| preset | scale | vertices | directed edges | degree: median, mean, p99, max | tail slope | clustering | edge homophily | own row | one hop, half the edges | one hop | two hops | and counting, half the edges | and counting, 9 of 10 edges | and counting | ceiling |\n")
	table.WriteString("|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, p := range Presets() {
		scale, ok := shapeScales[p.Name]
		if !ok {
			continue // topology only
		}
		if !wholeTable() && p.Name != "flickr-like" && p.Name != "corafull-like" {
			continue
		}
		p, err := p.Scaled(scale)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Make(context.Background(), shapeSeed, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Graph.Validate(); err != nil || !d.Graph.Symmetric() || !d.Graph.Equal(d.Graph.WithoutLoops()) {
			t.Fatalf("%s: %v, or not symmetric, or with loops", p.Name, err)
		}
		if got, want := d.Graph.Edges(), 2*p.Pairs; got != want {
			t.Errorf("%s: %d directed edges, want %d", p.Name, got, want)
		}
		s := measureShape(p, d)
		n := len(s.degrees)
		mean := float64(d.Graph.Edges()) / float64(n)
		fmt.Fprintf(&table, "| %s | %g | %d | %d | %d, %.1f, %d, %d | %.2f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", p.Name, scale, n, d.Graph.Edges(),
			s.degrees[n/2], mean, s.degrees[n*99/100], s.degrees[n-1], s.tail, s.clustering, s.likeness, s.own, s.half, s.near, s.far, s.some, s.most, s.all, d.Ceiling)
		checkShape(t, p, d, s, mean)
	}
	compareDoc(t, table.String())
}

// checkShape holds what the documentation promises of every preset.
func checkShape(t *testing.T, p Preset, d *Data, s shape, mean float64) {
	t.Helper()
	random := mean / float64(len(s.degrees)) // clustering of a uniform graph
	for _, c := range []struct {
		what string
		ok   bool
		got  float64
	}{
		{"largest degree over the mean, want 5 or more", float64(s.degrees[len(s.degrees)-1]) >= 5*mean, float64(s.degrees[len(s.degrees)-1]) / mean},
		{"clustering over that of a uniform graph, want 3 or more", s.clustering >= 3*random, s.clustering / random},
		{"ceiling, want at most 0.95", d.Ceiling <= 0.95, d.Ceiling},
		{"score of own rows below that of one hop by 0.1", s.own < s.near-0.1, s.near - s.own},
		{"score of half the edges below that of all by 0.02", s.half < s.near-0.02, s.near - s.half},
		{"counting over 9 of 10 edges costs 0.01, where counts matter", d.Types == nil || s.most < s.all-0.01, s.all - s.most},
		{"class alone costs 0.03, where counts matter", d.Types == nil || s.far < s.all-0.03, s.all - s.far},
		// five standard errors of a share over the vertices
		{"no score is above the ceiling", s.all < d.Ceiling+5*math.Sqrt(0.25/float64(len(s.degrees))), s.all},
	} {
		if !c.ok {
			t.Errorf("%s: %s: %.3f", p.Name, c.what, c.got)
		}
	}
}

// compareDoc compares the table with the one in the documentation, or writes it there.
func compareDoc(t *testing.T, table string) {
	t.Helper()
	const path, begin, end = "../../docs/formats/synth.md", "<!-- measured -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i, j := bytes.Index(text, []byte(begin)), bytes.Index(text, []byte(end))
	if i < 0 || j < i {
		t.Fatalf("%s has no lines %q and %q", path, begin, end)
	}
	i += len(begin)
	if *update {
		if err := os.WriteFile(path, slices.Concat(text[:i], []byte(table), text[j:]), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got := string(text[i:j]); wholeTable() && got != table || !wholeTable() && !holdsLines(got, table) {
		t.Errorf("the table of %s is not what is measured: run go test ./graph/synth -run TestPresetShapes -update\n%s", path, table)
	}
}

// holdsLines says that every line of part is one of text.
func holdsLines(text, part string) bool {
	have := strings.Split(text, "\n")
	for line := range strings.SplitSeq(part, "\n") {
		if !slices.Contains(have, line) {
			return false
		}
	}
	return true
}

func measureShape(p Preset, d *Data) shape {
	s := shape{degrees: d.Graph.InDegree()}
	slices.Sort(s.degrees)
	s.tail = tailSlope(s.degrees)
	s.clustering = clustering(d.Graph, 2000)
	s.likeness = likeness(d)
	own := classScores(p, d)
	near := averaged(d.Graph, own, p.Classes, 1)
	s.own, s.near = score(p, d, best(own, p.Classes)), score(p, d, best(near, p.Classes))
	s.half = score(p, d, best(averaged(d.Graph, own, p.Classes, 2), p.Classes))
	far := best(averaged(d.Graph, near, p.Classes, 1), p.Classes)
	s.far = score(p, d, far)
	s.all, s.most, s.some = s.far, s.far, s.far
	if d.Types != nil {
		bound := UpperQuantile(NeighbourTypes(d.Graph, d.Types), p.Local)
		counting := func(g *graph.CSR) float64 { return score(p, d, Reassign(far, NeighbourTypes(g, d.Types), bound)) }
		s.all, s.most, s.some = counting(d.Graph), counting(sparser(d.Graph, 10, 9)), counting(sparser(d.Graph, 2, 1))
	}
	return s
}

// sparser returns g with `keep` of every `of` entries of a row.
func sparser(g *graph.CSR, of, keep int) *graph.CSR {
	out := &graph.CSR{Indptr: make([]int64, len(g.Indptr)), Cols: g.Cols}
	for v := range g.Rows() {
		for i, u := range g.Row(v) {
			if (i+v)%of < keep {
				out.Indices = append(out.Indices, u)
			}
		}
		out.Indptr[v+1] = int64(len(out.Indices))
	}
	return out
}

// best returns the class of the highest score of every row.
func best(x []float64, classes int) []int32 {
	out := make([]int32, len(x)/classes)
	for v := range out {
		row := x[v*classes : (v+1)*classes]
		for c := range row {
			if row[c] > row[out[v]] {
				out[v] = int32(c)
			}
		}
	}
	return out
}

// tailSlope fits log(share of vertices with a degree ≥ x) over log x by least squares, over the upper tenth but for the
// last ten vertices.
func tailSlope(degrees []int32) float64 {
	n := len(degrees)
	var sx, sy, sxx, sxy, m float64
	for i := n * 9 / 10; i < n-10; i++ {
		x, y := math.Log(float64(degrees[i])), math.Log(float64(n-i)/float64(n))
		sx, sy, sxx, sxy, m = sx+x, sy+y, sxx+x*x, sxy+x*y, m+1
	}
	return (m*sxy - sx*sy) / (m*sxx - sx*sx)
}

// clustering estimates the mean local clustering coefficient (0 where the degree is below 2) from `samples` vertices, with
// 50 pairs of neighbours each.
func clustering(g *graph.CSR, samples int) float64 {
	r := rand.New(rand.NewPCG(1, 0))
	sum := 0.0
	for range samples {
		row := g.Row(r.IntN(g.Rows()))
		if len(row) < 2 {
			continue
		}
		closed := 0
		for range 50 {
			i := r.IntN(len(row))
			j := (i + 1 + r.IntN(len(row)-1)) % len(row)
			if _, ok := slices.BinarySearch(g.Row(int(row[i])), row[j]); ok {
				closed++
			}
		}
		sum += float64(closed) / 50
	}
	return sum / float64(samples)
}

// likeness is the edge homophily: the share of edges whose ends have one label; multi-label: the mean Jaccard index.
func likeness(d *Data) float64 {
	sum := 0.0
	for v := range d.Graph.Rows() {
		for _, u := range d.Graph.Row(v) {
			if d.Labels != nil {
				if d.Labels[u] == d.Labels[v] {
					sum++
				}
				continue
			}
			both, any := 0, 0
			for l := range d.Classes {
				a, b := d.Targets[v*d.Classes+l], d.Targets[int(u)*d.Classes+l]
				both, any = both+int(a&b), any+int(a|b)
			}
			if any > 0 {
				sum += float64(both) / float64(any)
			}
		}
	}
	return sum / float64(d.Graph.Edges())
}

// classScores returns the product of every vertex's features with the prototype of every class. Being linear, averaging
// scores over neighbours equals averaging features.
func classScores(p Preset, d *Data) []float64 {
	n, classes := d.Graph.Rows(), p.Classes
	out := make([]float64, n*classes)
	if d.Indptr != nil {
		topic := p.Cols / classes
		for v := range n {
			for e := d.Indptr[v]; e < d.Indptr[v+1]; e++ {
				c := int(d.Indices[e]) / topic
				// a word in window c belongs to the topics c and c-1
				out[v*classes+c%classes] += float64(d.Data[e])
				out[v*classes+(c+classes-1)%classes] += float64(d.Data[e])
			}
		}
		return out
	}
	last := 0 // columns that say nothing about the class
	if d.Types != nil {
		last = typeColumns
	}
	proto := Prototypes(classes, p.Cols, shapeSeed)
	for v := range n {
		row := d.Dense[v*p.Cols : (v+1)*p.Cols]
		for c := range classes {
			sum := float32(0)
			for j, w := range proto[c*p.Cols : (c+1)*p.Cols-last] {
				sum += row[j] * float32(w)
			}
			out[v*classes+c] = float64(sum)
		}
	}
	return out
}

// averaged returns the mean of x over a vertex and every step-th of its neighbours.
func averaged(g *graph.CSR, x []float64, cols, step int) []float64 {
	out := make([]float64, len(x))
	for v := range g.Rows() {
		row := out[v*cols : (v+1)*cols]
		copy(row, x[v*cols:])
		count := 1.0
		for i := 0; i < len(g.Row(v)); i += step {
			u := int(g.Row(v)[i])
			for c, f := range x[u*cols : (u+1)*cols] {
				row[c] += f
			}
			count++
		}
		for c := range row {
			row[c] /= count
		}
	}
	return out
}

// score is accuracy, or micro-F1 of the sets that go with the guessed classes.
func score(p Preset, d *Data, guess []int32) float64 {
	var sets []uint8
	if d.Targets != nil {
		sets, _ = Sets(p.Classes, p.Labels, p.Set, shapeSeed)
	}
	right, hit, sum := 0, 0, 0
	for v, c := range guess {
		if d.Labels != nil {
			if d.Labels[v] == c {
				right++
			}
			continue
		}
		for l := range p.Labels {
			y, z := int(d.Targets[v*p.Labels+l]), int(sets[int(c)*p.Labels+l])
			hit, sum = hit+y*z, sum+y+z
		}
	}
	if d.Labels != nil {
		return float64(right) / float64(len(guess))
	}
	return 2 * float64(hit) / float64(sum)
}
