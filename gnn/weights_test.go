package gnn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"capgnn/internal/named"
)

// layoutModels are one configuration per family with odd widths, and the shallow ones.
func layoutModels() map[string]named.Model {
	return map[string]named.Model{
		"gcn":             {Kind: named.GCN, Layers: 3, Hidden: 17, In: 5, Out: 3},
		"sage":            {Kind: named.SAGE, Layers: 3, Hidden: 17, In: 5, Out: 3},
		"gin":             {Kind: named.GIN, Layers: 3, Hidden: 17, In: 5, Out: 3},
		"gat":             {Kind: named.GAT, Layers: 3, Hidden: 18, In: 5, Out: 3, Heads: 2},
		"gcn bare":        {Kind: named.GCN, Layers: 3, Hidden: 17, In: 5, Out: 3, NoNorm: true},
		"gcn jumping":     {Kind: named.GCN, Layers: 3, Hidden: 17, In: 5, Out: 3, Jumping: true},
		"gat jumping one": {Kind: named.GAT, Layers: 1, Hidden: 18, In: 5, Out: 3, Heads: 2, Jumping: true},
		"gcn one":         {Kind: named.GCN, Layers: 1, In: 5, Out: 3},
		"gatv2":           {Kind: named.GATv2, Layers: 3, Hidden: 18, In: 5, Out: 3, Heads: 2},
		"gat one":         {Kind: named.GAT, Layers: 1, In: 5, Out: 3, Heads: 4},
		"sgc":             {Kind: named.SGC, Layers: 3, In: 5, Out: 3},
		"sgc one":         {Kind: named.SGC, Layers: 1, In: 5, Out: 3},
		"appnp":           {Kind: named.APPNP, Layers: 3, Hidden: 17, In: 5, Out: 3},
		"gcnii":           {Kind: named.GCNII, Layers: 3, Hidden: 17, In: 5, Out: 3},
		"gcnii one":       {Kind: named.GCNII, Layers: 1, Hidden: 17, In: 5, Out: 3},
		"gin deep":        {Kind: named.GIN, Layers: 12, Hidden: 4, In: 5, Out: 1},
	}
}

func TestNewWeightsLayout(t *testing.T) {
	for name, cfg := range layoutModels() {
		t.Run(name, func(t *testing.T) {
			w := NewWeights(netOf(cfg))
			if int64(len(w.Flat)) != FlatLen(netOf(cfg)) {
				t.Errorf("%d elements, FlatLen says %d", len(w.Flat), FlatLen(netOf(cfg)))
			}
			if len(w.Flat)%16 != 0 {
				t.Errorf("%d elements are not a multiple of 16", len(w.Flat))
			}
			end := 0
			for i := range w.Tensors {
				x := &w.Tensors[i]
				if x.Off%16 != 0 || x.Off < end || len(x.Data) != product(x.Shape) || len(x.Data) == 0 {
					t.Errorf("%s: offset %d after %d, %d elements of shape %v", x.Name, x.Off, end, len(x.Data), x.Shape)
				}
				if &x.Data[0] != &w.Flat[x.Off] || cap(x.Data) != len(x.Data) {
					t.Errorf("%s: data is not the tensor's part of Flat", x.Name)
				}
				end = x.Off + len(x.Data)
				if w.Tensor(x.Name) != x {
					t.Errorf("Tensor(%q) is another tensor", x.Name)
				}
			}
			if w.Tensor("convs.99.bias") != nil {
				t.Error("a tensor that does not exist was found")
			}
		})
	}
}

func TestGATShapes(t *testing.T) {
	w := NewWeights(netOf(named.Model{Kind: named.GAT, Layers: 2, Hidden: 12, In: 7, Out: 5, Heads: 3}))
	want := map[string][]int{
		"convs.0.lin.weight": {12, 7}, "convs.0.att_src": {1, 3, 4}, "convs.0.att_dst": {1, 3, 4}, "convs.0.bias": {12},
		"norms.0.weight": {12}, "norms.0.bias": {12},
		"convs.1.lin.weight": {15, 12}, "convs.1.att_src": {1, 3, 5}, "convs.1.att_dst": {1, 3, 5}, "convs.1.bias": {5},
	}
	if len(w.Tensors) != len(want) {
		t.Errorf("%d tensors, want %d", len(w.Tensors), len(want))
	}
	for name, shape := range want {
		if x := w.Tensor(name); x == nil || !slices.Equal(x.Shape, shape) {
			t.Errorf("%s: got %+v, want shape %v", name, x, shape)
		}
	}
}

// Without LayerNorm, the other tensors are those of the same model with it, in name, shape and first values.
func TestNoNorm(t *testing.T) {
	for name, c := range layoutModels() {
		with := NewWeights(netOf(c))
		c.NoNorm = true
		without := NewWeights(netOf(c))
		with.Init(3)
		without.Init(3)
		same := 0
		for _, x := range with.Tensors {
			y := without.Tensor(x.Name)
			if strings.HasPrefix(x.Name, "norms.") != (y == nil) {
				t.Errorf("%s: %s is %v without LayerNorm", name, x.Name, y)
			}
			if y != nil {
				same++
				if !slices.Equal(x.Shape, y.Shape) || !slices.Equal(x.Data, y.Data) || x.Layer != y.Layer {
					t.Errorf("%s: %s differs", name, x.Name)
				}
			}
		}
		if same != len(without.Tensors) {
			t.Errorf("%s: %d tensors, %d of them of the model with LayerNorm", name, len(without.Tensors), same)
		}
	}
}

func TestClone(t *testing.T) {
	w := NewWeights(netOf(layoutModels()["gat"]))
	w.Init(1)
	c := w.Clone()
	sum := w.SHA256()
	if c.SHA256() != sum {
		t.Fatal("the clone differs")
	}
	for i := range c.Tensors {
		if &c.Tensors[i].Data[0] != &c.Flat[c.Tensors[i].Off] {
			t.Fatalf("%s does not alias the clone", c.Tensors[i].Name)
		}
	}
	c.Tensor("convs.1.bias").Data[0]++
	if w.SHA256() != sum || c.SHA256() == sum {
		t.Error("the clone shares memory with the original")
	}
}

// TestSHA256 computes the sum of docs/formats/run.md the slow way.
func TestSHA256(t *testing.T) {
	for name, cfg := range layoutModels() {
		w := NewWeights(netOf(cfg))
		w.Init(11)
		var names []string
		for _, x := range w.Tensors {
			names = append(names, x.Name)
		}
		sort.Strings(names)
		var all []byte
		for _, n := range names {
			x := w.Tensor(n)
			all = append(all, n...)
			for _, d := range x.Shape {
				all = binary.LittleEndian.AppendUint64(all, uint64(d))
			}
			for _, v := range x.Data {
				all = binary.LittleEndian.AppendUint32(all, math.Float32bits(v))
			}
		}
		sum := sha256.Sum256(all)
		if want := hex.EncodeToString(sum[:]); w.SHA256() != want {
			t.Errorf("%s: got %s, want %s", name, w.SHA256(), want)
		}
	}
}

// The ranges of the layers are disjoint, cover Flat, and hold the layer's tensors: those of a layer that lie together as one.
func TestLayers(t *testing.T) {
	for name, cfg := range layoutModels() {
		w := NewWeights(netOf(cfg))
		if layers := w.Layers(); len(layers) != cfg.Layers {
			t.Errorf("%s: ranges of %d layers, want %d", name, len(layers), cfg.Layers)
		}
		checkLayers(t, name, w)
		for l, ranges := range w.Layers() {
			if empty := cfg.Kind == named.APPNP && l > 0 || cfg.Kind == named.SGC && l > 0 && l < cfg.Layers-1; empty != (len(ranges) == 0) || len(ranges) > 1 {
				t.Errorf("%s: the tensors of layer %d lie together, but in ranges %v", name, l, ranges)
			}
		}
		for i := range w.Tensors { // any other assignment
			w.Tensors[i].Layer = i % 3
		}
		w.layers = 3
		checkLayers(t, name+", scattered", w)
	}
}

func checkLayers(t *testing.T, name string, w *Weights) {
	t.Helper()
	owner := make([]int, len(w.Flat))
	for i := range owner {
		owner[i] = -1
	}
	for l, ranges := range w.Layers() {
		for k, r := range ranges {
			if r.Lo >= r.Hi || k > 0 && r.Lo <= ranges[k-1].Hi {
				t.Errorf("%s: ranges %v of layer %d", name, ranges, l)
			}
			for i := r.Lo; i < r.Hi; i++ {
				if owner[i] >= 0 {
					t.Fatalf("%s: element %d belongs to layers %d and %d", name, i, owner[i], l)
				}
				owner[i] = l
			}
		}
	}
	if slices.Contains(owner, -1) {
		t.Errorf("%s: an element belongs to no layer", name)
	}
	for _, x := range w.Tensors {
		for i := range x.Data {
			if owner[x.Off+i] != x.Layer {
				t.Fatalf("%s: %s belongs to layer %d, its element %d to %d", name, x.Name, x.Layer, i, owner[x.Off+i])
			}
		}
	}
}
