package gnn

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/named"
	"capgnn/model"
)

// TestInitRules: every tensor of every model has the distribution that docs/mathematics.md says.
func TestInitRules(t *testing.T) {
	for _, kind := range named.Kinds {
		cfg := named.Model{Kind: kind, Layers: 3, Hidden: 240, In: 100, Out: 60, Heads: 4, Jumping: kind.Norms()}
		w := NewWeights(netOf(cfg))
		w.Init(7)
		for _, x := range w.Tensors {
			bound := math.NaN()
			constant := float32(0)
			rows, cols := x.Shape[0], x.Shape[len(x.Shape)-1]
			switch {
			case strings.HasPrefix(x.Name, "norms.") && strings.HasSuffix(x.Name, "weight"):
				constant = 1
			case strings.HasPrefix(x.Name, "norms."), strings.HasSuffix(x.Name, "eps"):
			case strings.HasSuffix(x.Name, ".lin.weight"), strings.HasSuffix(x.Name, "weight1"), kind == named.GATv2 && strings.HasPrefix(x.Name, "convs.") && strings.HasSuffix(x.Name, ".weight"):
				bound = math.Sqrt(6 / float64(rows+cols))
			case strings.Contains(x.Name, "att"):
				bound = math.Sqrt(6 / float64(x.Shape[1]+x.Shape[2]))
			case strings.HasPrefix(x.Name, "convs.") && (kind == named.GCN || kind == named.GAT), kind == named.GATv2 && strings.HasPrefix(x.Name, "convs.") && !strings.Contains(x.Name, "lin_"): // biases
			case strings.HasSuffix(x.Name, "weight"):
				bound = 1 / math.Sqrt(float64(cols))
			case strings.HasSuffix(x.Name, "bias"):
				fanIn := w.Tensor(strings.TrimSuffix(x.Name, "bias") + "weight").Shape[1]
				bound = 1 / math.Sqrt(float64(fanIn))
			}
			if math.IsNaN(bound) {
				if slices.ContainsFunc(x.Data, func(v float32) bool { return v != constant }) {
					t.Errorf("%s %s is not all %g", kind, x.Name, constant)
				}
				continue
			}
			checkUniform(t, string(kind)+" "+x.Name, x.Data, bound)
		}
		used := make([]bool, len(w.Flat))
		for _, x := range w.Tensors {
			for k := range x.Data {
				used[x.Off+k] = true
			}
		}
		for k, v := range w.Flat {
			if !used[k] && v != 0 {
				t.Fatalf("%s: padding element %d is %g", kind, k, v)
			}
		}
	}
}

// checkUniform compares mean and variance of x with those of U(±b): 0 and b²/3. The standard errors are b/sqrt(3n) and
// b²·sqrt(4/45/n); six of them are allowed (2e-9 a side per comparison).
func checkUniform(t *testing.T, name string, x []float32, b float64) {
	t.Helper()
	var sum, squares, largest float64
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
		largest = max(largest, math.Abs(float64(v)))
	}
	n := float64(len(x))
	if largest > float64(float32(b)) {
		t.Errorf("%s: element of size %g, bound %g", name, largest, b)
	}
	if limit := 6 * b / math.Sqrt(3*n); math.Abs(sum/n) > limit {
		t.Errorf("%s: mean %g, allowed ±%g", name, sum/n, limit)
	}
	if limit := 6 * b * b * math.Sqrt(4/45.0/n); math.Abs(squares/n-b*b/3) > limit {
		t.Errorf("%s: variance %g, want %g ± %g", name, squares/n, b*b/3, limit)
	}
	// The largest of n elements is below b(1−δ) with probability (1−δ)ⁿ; e⁻²⁰ = 2e-9.
	if δ := 20 / n; δ < 1 && largest < b*(1-δ) {
		t.Errorf("%s: largest element %g does not come near the bound %g", name, largest, b)
	}
}

// TestUniformIsTheDocumentedFunction recomputes single elements from the comment of uniform.
func TestUniformIsTheDocumentedFunction(t *testing.T) {
	const seed, name, bound = 0x0123456789abcdef, "convs.0.lin.weight", 0.25
	x := make([]float32, 1003)
	uniform(x, seed, name, bound)
	f := fnv.New64a()
	f.Write([]byte(name))
	h := f.Sum64()
	for _, k := range []int{0, 1, 2, 3, 4, 997, 1002} {
		words := gpu.Philox([4]uint32{uint32(k / 4), 0, uint32(h), uint32(h >> 32)}, [2]uint32{0x89abcdef, 0x01234567})
		want := float32(bound * ((float64(words[k%4]) - (1 << 31) + 0.5) / (1 << 31)))
		if x[k] != want {
			t.Errorf("element %d: got %g, want %g", k, x[k], want)
		}
	}
}

func TestInitDependsOnNameAndSeedOnly(t *testing.T) {
	small, large := NewWeights(netOf(named.Model{Kind: named.GCN, Layers: 2, Hidden: 32, In: 8, Out: 4})),
		NewWeights(netOf(named.Model{Kind: named.GCN, Layers: 5, Hidden: 32, In: 8, Out: 4}))
	small.Init(9)
	large.Init(9)
	if !slices.Equal(small.Tensor("convs.0.lin.weight").Data, large.Tensor("convs.0.lin.weight").Data) {
		t.Error("a tensor depends on how many layers follow")
	}
	a, b := large.Tensor("convs.1.lin.weight").Data, large.Tensor("convs.2.lin.weight").Data
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	// The correlation of n independent pairs has the standard error 1/sqrt(n).
	if r, limit := dot/math.Sqrt(aa*bb), 6/math.Sqrt(float64(len(a))); math.Abs(r) > limit {
		t.Errorf("two tensors correlate: %g, allowed ±%g", r, limit)
	}
	again, other := NewWeights(netOf(layoutModels()["sage"])), NewWeights(netOf(layoutModels()["sage"]))
	again.Init(9)
	sum := again.SHA256()
	again.Init(9)
	other.Init(9 + 1<<32)
	if again.SHA256() != sum {
		t.Error("the same seed gave other weights")
	}
	if other.SHA256() == sum {
		t.Error("the high word of the seed does not count")
	}
}

// TestInitCountersAreNotDropouts: the low word of no tensor's hash is a layer number, and no two names of the largest
// models share a hash.
func TestInitCountersAreNotDropouts(t *testing.T) {
	seen := map[uint64]string{}
	for _, kind := range named.Kinds {
		for _, x := range layout(netOf(named.Model{Kind: kind, Layers: 64, Hidden: 4, In: 1, Out: 1, Heads: 1})) {
			f := fnv.New64a()
			f.Write([]byte(x.Name))
			h := f.Sum64()
			if uint32(h) <= model.FeatureCounter {
				t.Errorf("%s: hash %x collides with dropout of layer %d", x.Name, h, uint32(h))
			}
			if other, ok := seen[h]; ok && other != x.Name {
				t.Errorf("%s and %s have the same hash", x.Name, other)
			}
			seen[h] = x.Name
		}
	}
}

// TestInitKnownAnswers compares single elements, bit for bit, with values from a second implementation (Python: Philox
// checked with Random123's vectors, FNV-1a, struct.pack), so that weights of a seed stay what they are.
func TestInitKnownAnswers(t *testing.T) {
	cases := []struct {
		kind named.Kind
		seed uint64
		name string
		k    int
		want uint32
	}{
		{named.GCN, 0, "convs.0.lin.weight", 0, 0x3dffd367},
		{named.GCN, 0, "convs.0.lin.weight", 255, 0xbe09f53e},
		{named.GCN, 1, "convs.1.lin.weight", 6, 0x3e7ca478},
		{named.GCN, 1<<40 + 3, "convs.1.lin.weight", 127, 0x3e9b3c7a},
		{named.SAGE, 7, "convs.0.lin_l.bias", 5, 0xbcd5bebc},
		{named.SAGE, 7, "convs.0.lin_r.weight", 5, 0x3e52322f},
	}
	for _, c := range cases {
		w := NewWeights(netOf(named.Model{Kind: c.kind, Layers: 2, Hidden: 32, In: 8, Out: 4}))
		w.Init(c.seed)
		if got := math.Float32bits(w.Tensor(c.name).Data[c.k]); got != c.want {
			t.Errorf("%s seed %d %s[%d]: got %#x, want %#x", c.kind, c.seed, c.name, c.k, got, c.want)
		}
	}
}
