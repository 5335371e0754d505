package datasets

import (
	"math/bits"
	"slices"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
)

// Info is what `data info` prints.
type Info struct {
	Name      string       `json:"name"`
	Path      string       `json:"path"`
	Format    string       `json:"format"`
	Vertices  int          `json:"vertices"`
	Edges     int64        `json:"edges"` // directed, loops included
	Loops     int64        `json:"loops"`
	Isolated  int          `json:"isolated"`   // vertices without a neighbour other than themselves, in either direction
	Symmetric bool         `json:"symmetric"`  // every edge has its reverse
	InDegree  Degrees      `json:"in_degree"`  // loops count
	OutDegree Degrees      `json:"out_degree"` // equal to in_degree where symmetric
	Weights   *weightInfo  `json:"weights"`    // of edges; null: all are 1
	Features  *featureInfo `json:"features"`   // null: none
	Labels    *labelInfo   `json:"labels"`     // null: none
	Splits    splitInfo    `json:"splits"`
	Homophily *float64     `json:"edge_homophily"` // null: no labels, or no edge between labelled vertices
	Files     []string     `json:"files"`          // of its folder that were read; null: it is no folder
	Unread    []unread     `json:"unread"`
	Notes     []string     `json:"notes"`
}

// unread is a file that was not read, and what would be read in its place.
type unread struct {
	dataset.Unread
	Wanted string `json:"wanted"`
}

// Degrees is the distribution of degrees over the vertices. Percentiles are nearest ranks.
type Degrees struct {
	Min    int     `json:"min"`
	Median int     `json:"median"`
	Mean   float64 `json:"mean"`
	P90    int     `json:"p90"`
	P99    int     `json:"p99"`
	Max    int     `json:"max"`
	Log2   []int   `json:"log2_histogram"` // vertices of degree 0, 1, 2–3, 4–7, …
}

type weightInfo struct {
	Min  float32 `json:"min"`
	Max  float32 `json:"max"`
	Mean float64 `json:"mean"`
	// Symmetric says that an edge and its reverse weigh the same, where both are there.
	Symmetric bool `json:"symmetric"`
}

type featureInfo struct {
	Columns  int     `json:"columns"`
	Sparse   bool    `json:"sparse"`   // as stored
	Nonzeros int64   `json:"nonzeros"` // values other than 0
	Density  float64 `json:"density"`  // nonzeros per vertex and column
}

type labelInfo struct {
	Classes    int      `json:"classes"`
	Multi      bool     `json:"multi_label"`
	Names      []string `json:"names"`      // of the classes; null: only their numbers are known
	Sizes      []int    `json:"sizes"`      // vertices of each class, class 0 first
	Unlabelled int      `json:"unlabelled"` // multi-label: vertices with no class at all
}

// splitInfo holds the vertices of each split; null: the data has no such mask.
type splitInfo struct {
	Train  *int `json:"train"`
	Val    *int `json:"val"`
	Test   *int `json:"test"`
	Stored int  `json:"stored"` // numbered splits in the file, of which --split chooses; 0: not of this kind
}

// Describe measures a data set. Cost: a few passes over its edges and features.
func Describe(d *dataset.Dataset) *Info {
	g := d.Graph
	info := &Info{
		Name: d.Name, Path: d.Source, Format: d.Format, Vertices: g.Rows(), Edges: g.Edges(), Notes: d.Notes,
		Files: d.Files, Unread: []unread{},
		Splits: splitInfo{Train: inMask(d.Train), Val: inMask(d.Val), Test: inMask(d.Test), Stored: d.Splits},
	}
	if info.Notes == nil {
		info.Notes = []string{}
	}
	for _, u := range d.Unread {
		info.Unread = append(info.Unread, unread{u, formats.Wanted(d, u.Looks)})
	}
	in, out := g.InDegree(), g.OutDegree()
	for v := range g.Rows() {
		loop := int32(0)
		if _, found := slices.BinarySearch(g.Row(v), graph.NodeID(v)); found {
			loop = 1
			info.Loops++
		}
		if in[v] == loop && out[v] == loop {
			info.Isolated++
		}
	}
	info.Symmetric = g.Symmetric()
	info.Weights = describeWeights(g)
	info.Features, info.Labels, info.Homophily = describeFeatures(d), describeLabels(d), homophily(d)
	info.InDegree, info.OutDegree = describeDegrees(in), describeDegrees(out)
	return info
}

func inMask(mask []bool) *int {
	if mask == nil {
		return nil
	}
	n := 0
	for _, in := range mask {
		if in {
			n++
		}
	}
	return &n
}

// describeDegrees sorts d.
func describeDegrees(d []int32) Degrees {
	slices.Sort(d)
	n := len(d)
	rank := func(percent int) int { return int(d[max(0, (n*percent+99)/100-1)]) }
	out := Degrees{Min: int(d[0]), Median: rank(50), P90: rank(90), P99: rank(99), Max: int(d[n-1])}
	out.Log2 = make([]int, bits.Len32(uint32(d[n-1]))+1)
	sum := 0
	for _, x := range d {
		sum += int(x)
		out.Log2[bits.Len32(uint32(x))]++
	}
	out.Mean = float64(sum) / float64(n)
	return out
}

func describeWeights(g *graph.CSR) *weightInfo {
	if g.Weights == nil {
		return nil
	}
	info := &weightInfo{Min: slices.Min(g.Weights), Max: slices.Max(g.Weights), Symmetric: true}
	sum := 0.0
	for v := range graph.NodeID(g.Rows()) {
		for k, u := range g.Row(int(v)) {
			w := g.Weights[g.Indptr[v]+int64(k)]
			sum += float64(w)
			if _, back := slices.BinarySearch(g.Row(int(u)), v); back && g.Weight(v, u) != w {
				info.Symmetric = false
			}
		}
	}
	info.Mean = sum / float64(len(g.Weights))
	return info
}

func describeFeatures(d *dataset.Dataset) *featureInfo {
	f := &d.Features
	if !f.Present() {
		return nil
	}
	info := &featureInfo{Columns: f.Cols, Sparse: f.Sparse()}
	values := f.Dense
	if f.Sparse() {
		values = f.Data
	}
	for _, x := range values {
		if x != 0 {
			info.Nonzeros++
		}
	}
	if f.Cols > 0 {
		info.Density = float64(info.Nonzeros) / float64(d.Graph.Rows()) / float64(f.Cols)
	}
	return info
}

func describeLabels(d *dataset.Dataset) *labelInfo {
	if d.Labels == nil && d.Targets == nil {
		return nil
	}
	info := &labelInfo{Classes: d.Classes, Multi: d.MultiLabel(), Names: d.ClassNames, Sizes: make([]int, d.Classes)}
	for _, y := range d.Labels {
		if y < 0 {
			info.Unlabelled++
			continue
		}
		info.Sizes[y]++
	}
	for row := range slices.Chunk(d.Targets, max(1, d.Classes)) {
		any := 0
		for c, y := range row {
			info.Sizes[c] += int(y)
			any |= int(y)
		}
		info.Unlabelled += 1 - any
	}
	return info
}

// homophily returns the share of edges, loops left out, between labelled vertices whose ends have one class; of
// multi-label data the mean Jaccard index of the ends' sets over the edges whose ends have any class.
func homophily(d *dataset.Dataset) *float64 {
	sum, count := 0.0, 0
	for v := range d.Graph.Rows() {
		for _, u := range d.Graph.Row(v) {
			if int(u) == v {
				continue
			}
			switch {
			case d.Labels != nil && d.Labels[u] >= 0 && d.Labels[v] >= 0:
				count++
				if d.Labels[u] == d.Labels[v] {
					sum++
				}
			case d.Targets != nil:
				both, any := overlap(d.Targets[v*d.Classes:(v+1)*d.Classes], d.Targets[int(u)*d.Classes:(int(u)+1)*d.Classes])
				if any > 0 {
					count++
					sum += float64(both) / float64(any)
				}
			}
		}
	}
	if count == 0 {
		return nil
	}
	sum /= float64(count)
	return &sum
}

// overlap returns the sizes of the intersection and of the union of two rows of 0 and 1.
func overlap(a, b []uint8) (both, any int) {
	for i, x := range a {
		both += int(x & b[i])
		any += int(x | b[i])
	}
	return both, any
}
