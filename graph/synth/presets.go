package synth

import (
	"context"
	"fmt"
	"math"
	"strings"

	"capgnn/graph"
)

// Preset is a stand-in for a published data set: its size, and knobs that give it hubs, communities and labels that can be
// learned, but not without the graph and never to the last vertex. docs/formats/synth.md has the figures that result.
type Preset struct {
	Name, Like string // name of the preset; what it stands for
	Nested            // Seed is set by Make
	Cols       int    // feature columns; 0: topology only, an R-MAT graph of Nested's size
	Words      int    // words per vertex of sparse features; 0: dense ones
	Signal     float64
	Labels     int        // labels of multi-label data; 0: one class per vertex, Nested.Classes of them
	Set        int        // labels that go with a class (multi-label)
	Keep, Add  float64    // see Targets (multi-label)
	Local      float64    // share of vertices whose class depends on a count over their neighbours (dense features), see Reassign
	Wrong      float64    // share of vertices with a wrong label (one class per vertex)
	Split      [3]float64 // shares of training, validation and test vertices
}

// maxDensity bounds the expected share of present edges within a community and within a class: where a scaled-down preset
// would exceed it, the mean degree falls.
const maxDensity = 0.3

// Presets returns the presets in the order of the documentation.
func Presets() []Preset {
	return []Preset{
		{
			Name: "reddit-like", Like: "Reddit (Hamilton et al. 2017)", Cols: 602, Signal: 0.02, Local: 0.15, Wrong: 0.05, Split: [3]float64{0.66, 0.10, 0.24},
			Nested: Nested{Vertices: 232965, Pairs: 114615892 / 2, Classes: 41, Community: 1400, InCommunity: 0.45, InClass: 0.51, Tail: 0.48, Octaves: 8},
		},
		{
			Name: "products-like", Like: "ogbn-products (Hu et al. 2020)", Cols: 100, Signal: 0.12, Local: 0.12, Wrong: 0.05, Split: [3]float64{0.08, 0.02, 0.90},
			Nested: Nested{Vertices: 2449029, Pairs: 61859140, Classes: 47, Community: 160, InCommunity: 0.55, InClass: 0.42, Tail: 0.46, Octaves: 9},
		},
		{
			Name: "flickr-like", Like: "Flickr (Zeng et al. 2020)", Cols: 500, Signal: 0.03, Wrong: 0.40, Split: [3]float64{0.50, 0.25, 0.25},
			Nested: Nested{Vertices: 89250, Pairs: 899756 / 2, Classes: 7, Community: 60, InCommunity: 0.25, InClass: 0.45, Tail: 0.46, Octaves: 9},
		},
		{
			Name: "yelp-like", Like: "Yelp (Zeng et al. 2020)", Cols: 300, Signal: 0.04, Labels: 100, Set: 8, Keep: 0.70, Add: 0.03, Split: [3]float64{0.75, 0.10, 0.15},
			Nested: Nested{Vertices: 716847, Pairs: 13954819 / 2, Classes: 40, Community: 100, InCommunity: 0.35, InClass: 0.40, Tail: 0.46, Octaves: 9},
		},
		{
			Name: "amazonproducts-like", Like: "AmazonProducts (Zeng et al. 2020)", Cols: 200, Signal: 0.04, Local: 0.20, Labels: 107, Set: 10, Keep: 0.80, Add: 0.02, Split: [3]float64{0.85, 0.05, 0.10},
			Nested: Nested{Vertices: 1569960, Pairs: 264339468 / 2, Classes: 50, Community: 600, InCommunity: 0.40, InClass: 0.40, Tail: 0.46, Octaves: 9},
		},
		{
			Name: "papers-like", Like: "ogbn-papers100M (Hu et al. 2020), both directions of each citation", Cols: 128, Signal: 0.06, Wrong: 0.30, Split: [3]float64{0.0109, 0.0011, 0.0019},
			Nested: Nested{Vertices: 111059956, Pairs: 1615685872, Classes: 172, Community: 80, InCommunity: 0.30, InClass: 0.40, Tail: 0.46, Octaves: 12},
		},
		{
			Name: "corafull-like", Like: "CoraFull (Bojchevski and Günnemann 2018)", Cols: 8710, Words: 60, Signal: 0.06, Wrong: 0.20, Split: [3]float64{0.70, 0.20, 0.10},
			Nested: Nested{Vertices: 19793, Pairs: 126842 / 2, Classes: 70, Community: 30, InCommunity: 0.45, InClass: 0.48, Tail: 0.42, Octaves: 5},
		},
		{Name: "rmat", Like: "Graph500's R-MAT graphs, 2^20 vertices, edge factor 16; topology only", Nested: Nested{Vertices: 1 << 20, Pairs: 16 << 20}},
	}
}

// FindPreset returns the preset of this name. The error names those there are.
func FindPreset(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("no preset %q; there are %s", name, strings.Join(names, ", "))
}

// mostScale bounds the scale of every preset: what is larger stands for nothing that was published.
const mostScale = 16

// MaxScale returns the largest scale, in thousandths, at which the vertices and edges of the preset can be numbered.
func (p Preset) MaxScale() float64 {
	largest := min(maxVertices/float64(p.Vertices), maxPairs/float64(p.Pairs))
	return min(mostScale, math.Floor(1000*largest)/1000)
}

// Scaled returns the preset with scale times the vertices and edges. There are at least four vertices per class. The mean
// degree stays unless communities or classes would become denser than maxDensity.
func (p Preset) Scaled(scale float64) (Preset, error) {
	if most := p.MaxScale(); !(scale > 0 && scale <= most) {
		return p, fmt.Errorf("scale %g of %s is not in (0, %g]", scale, p.Name, most)
	}
	if p.Cols == 0 {
		bits := math.Round(math.Log2(scale * float64(p.Vertices)))
		p.Vertices = 1 << int(max(4, bits))
		p.Pairs = 16 * int64(p.Vertices)
		return p, nil
	}
	degree := 2 * float64(p.Pairs) / float64(p.Vertices)
	p.Vertices = max(int(math.Round(scale*float64(p.Vertices))), 4*p.Classes)
	n := float64(p.Vertices)
	community := n / float64(max(p.Classes, p.Vertices/p.Community))
	degree = min(degree, maxDensity*community/p.InCommunity, maxDensity*n/float64(p.Classes)/(p.InCommunity+p.InClass))
	if scale != 1 || degree*n < 2*float64(p.Pairs) {
		p.Pairs = int64(degree * n / 2)
	}
	return p, nil
}

// Data is what a preset makes. A field that its kind of data lacks is nil.
type Data struct {
	Graph   *graph.CSR
	Class   []int32 // the class that edges and features follow
	Types   []uint8 // a bit that features show, where counts of it matter
	Actual  []int32 // the class that labels follow: Class, or 0 where Types decide it
	Labels  []int32 // one class per vertex, some of them wrong
	Targets []uint8 // vertices × Classes of multi-label data
	Classes int     // of Labels or columns of Targets
	Cols    int
	Dense   []float32 // features, vertices × Cols
	Indptr  []int64   // sparse features
	Indices []int32
	Data    []float32
	// Ceiling is the accuracy or micro-F1 of a model that knows every class: none can be expected to do better.
	Ceiling float64
}

// Make draws the data. Equal presets and seeds give equal bits for any number of threads.
func (p Preset) Make(ctx context.Context, seed uint64, how Options) (*Data, error) {
	if p.Cols == 0 {
		g, err := RMAT(int(math.Round(math.Log2(float64(p.Vertices)))), 16, seed)
		return &Data{Graph: g}, err
	}
	p.Nested.Seed = seed
	out := &Data{Cols: p.Cols, Classes: p.Classes, Ceiling: 1 - p.Wrong}
	var err error
	if out.Graph, out.Class, err = Communities(ctx, p.Nested, how); err != nil {
		return nil, err
	}
	out.Actual = out.Class
	if p.Local > 0 {
		out.Types = Types(p.Vertices, seed)
		means := NeighbourTypes(out.Graph, out.Types)
		out.Actual = Reassign(out.Class, means, UpperQuantile(means, p.Local))
	}
	if p.Labels > 0 {
		out.Classes, out.Ceiling = p.Labels, MicroF1(p.Labels, p.Set, p.Keep, p.Add)
		sets, err := Sets(p.Classes, p.Labels, p.Set, seed)
		if err != nil {
			return nil, err
		}
		if out.Targets, err = Targets(out.Actual, sets, p.Labels, p.Keep, p.Add, seed); err != nil {
			return nil, err
		}
	} else {
		out.Labels = FlipLabels(out.Actual, p.Classes, p.Wrong, seed)
	}
	if p.Words > 0 {
		out.Indptr, out.Indices, out.Data, err = Words(out.Class, p.Classes, p.Cols, p.Words, p.Signal, seed)
	} else {
		out.Dense, err = Dense(ctx, out.Class, out.Types, p.Classes, p.Cols, p.Signal, seed, how)
	}
	return out, err
}
