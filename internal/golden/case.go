package golden

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/internal/npy"
)

// Tensor is an array of a case, row-major.
type Tensor struct {
	Name  string // state_dict name; empty where the array is no weight
	Shape []int  // empty: a scalar
	Data  []float64
}

// Case is one golden file.
type Case struct {
	Name      string // file name without .npz, such as "gat_directed"
	Kind      string // as model.Builders have it
	SelfLoops bool   // the model adds a self-loop to every vertex before it starts
	Residual  bool   // layers that read and make hidden rows add what they read

	Vertices int
	Indptr   []int64   // len Vertices+1; row v lists in-neighbours
	Indices  []int32   // no self-loops, but in cases with weights
	Weights  []float64 // of the edges, in the order of Indices; nil: all 1
	X        Tensor    // Vertices × In

	Layers       int     // of models whose tensors do not show them; 0: they do
	Alpha, Theta float64 // of models that have them
	Activation   string  // of model.Activations; "": ReLU

	Labels    []int32 // class per vertex; nil for multi-label cases
	Targets   []uint8 // Vertices × Out, 0 or 1; nil for single-label cases
	TrainMask []bool  // len Vertices

	Params     []Tensor  // initial weights in file order, which is forward order
	Logits     Tensor    // Vertices × Out, from Params
	Loss       float64   // over the training vertices, from Params
	Grads      []Tensor  // of Loss, in the order of Params
	AdamLosses []float64 // loss before each of five Adam steps (lr 0.01)
	Adam5      []Tensor  // weights after them, in the order of Params
}

// Dims are the sizes of a model.
type Dims struct {
	Layers, Hidden, In, Out int
	Heads                   int // 0 for models without heads
}

// Multi reports whether the case is multi-label.
func (c *Case) Multi() bool { return c.Targets != nil }

// JK returns what of all layers a Linear makes the logits of: cat, max, sum, or "" for the last layer alone.
func (c *Case) JK() string {
	_, variant, _ := strings.Cut(c.Name, "_")
	switch lin := c.Param("lin.weight"); {
	case c.Kind == "sgc" || lin == nil:
		return ""
	case variant == "sum":
		return variant
	case c.Dims().Layers > 1 && lin.Shape[1] == c.Dims().Hidden:
		return "max"
	}
	return "cat"
}

// Norm returns the one between layers: layer, batch, graph or none. With batch logits are in evaluation, with the
// running statistics of Params; those in Adam5 are behind five steps, and their Grads are 0.
func (c *Case) Norm() string {
	switch {
	case c.Param("norms.0.module.running_var") != nil:
		return "batch"
	case c.Param("norms.0.mean_scale") != nil:
		return "graph"
	case c.Param("norms.0.weight") != nil:
		return "layer"
	}
	return "none"
}

// Float32Weights returns the weights of the edges, which float32 holds exactly; nil: all are 1.
func (c *Case) Float32Weights() []float32 {
	if c.Weights == nil {
		return nil
	}
	out := make([]float32, len(c.Weights))
	for e, w := range c.Weights {
		out[e] = float32(w)
	}
	return out
}

// Param returns the weights' tensor of that name, nil if there is none.
func (c *Case) Param(name string) *Tensor {
	for i := range c.Params {
		if c.Params[i].Name == name {
			return &c.Params[i]
		}
	}
	return nil
}

// Dims derives the sizes of the model from the shapes of its weights.
func (c *Case) Dims() Dims {
	d := Dims{Layers: c.Layers, In: c.X.Shape[1], Out: c.Logits.Shape[1]}
	for _, p := range c.Params {
		var l int
		if n, _ := fmt.Sscanf(p.Name, "convs.%d.", &l); n == 1 {
			d.Layers = max(d.Layers, l+1)
		}
		switch p.Name {
		case "convs.0.bias", "convs.0.lin_l.bias", "convs.0.nn.lins.0.bias", "lin1.bias", "lins.0.bias":
			d.Hidden = p.Shape[0]
		case "convs.0.att_src", "convs.0.att":
			d.Heads = p.Shape[1]
		}
	}
	return d
}

// Distance returns ‖a − b‖₂; NaN where the lengths differ, so that every comparison with a tolerance fails.
func Distance(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.NaN()
	}
	var s float64
	for i := range a {
		s += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(s)
}

// Tolerance returns how far float32 results may be from a golden tensor: 1e-4·‖golden‖₂ + 1e-7·√size
// (docs/mathematics.md).
func Tolerance(golden []float64) float64 {
	var s float64
	for _, v := range golden {
		s += v * v
	}
	return 1e-4*math.Sqrt(s) + 1e-7*math.Sqrt(float64(len(golden)))
}

// Load returns all cases of the repository that holds the working directory, in name order, but those with norms over all vertices.
func Load() ([]Case, error) { return load("") }

// LoadBatch returns those with norms over all vertices.
func LoadBatch() ([]Case, error) { return load("batch") }

func load(sub string) ([]Case, error) {
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, sub)
	paths, err := fs.Glob(os.DirFS(dir), "*.npz") // sorted
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: holds no .npz files", dir)
	}
	cases := make([]Case, len(paths))
	for i, p := range paths {
		if cases[i], err = Read(filepath.Join(dir, p)); err != nil {
			return nil, err
		}
	}
	return cases, nil
}

// folder returns testdata/golden beside the nearest go.mod above the working directory.
func folder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "testdata", "golden"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the working directory: run inside the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// activations are the names by the numbers that testdata/activation_reference.py writes.
var activations = []string{"relu", "leaky_relu", "elu", "tanh"}

// Read returns the case of one file.
func Read(path string) (Case, error) {
	name := strings.TrimSuffix(filepath.Base(path), ".npz")
	c := Case{Name: name}
	c.Kind, _, _ = strings.Cut(name, "_")
	c.SelfLoops = c.Kind != "sage" && c.Kind != "gin"
	c.Residual = strings.HasSuffix(name, "_residual")
	z, err := npy.OpenArchive(path)
	if err != nil {
		return c, err
	}
	defer z.Close()
	r := reader{z: z}
	c.Indptr, c.Indices = r.int64s("indptr"), r.int32s("indices")
	if z.Has("weights") {
		c.Weights = r.tensor("weights").Data
	}
	c.X, c.TrainMask = r.tensor("x"), r.bools("train_mask")
	c.Vertices = len(c.TrainMask)
	if z.Has("layers") {
		c.Layers, c.Alpha, c.Theta = int(r.tensor("layers").Data[0]), r.tensor("alpha").Data[0], r.tensor("theta").Data[0]
	}
	if z.Has("activation") {
		n := r.tensor("activation").Data
		if len(n) != 1 || n[0] < 0 || int(n[0]) >= len(activations) {
			return c, fmt.Errorf("%s: activation %v is not a number below %d", path, n, len(activations))
		}
		c.Activation = activations[int(n[0])]
	}
	if r.rank("y") == 2 {
		for _, v := range r.tensor("y").Data {
			c.Targets = append(c.Targets, uint8(v))
		}
	} else {
		c.Labels = r.int32s("y")
	}
	c.Logits = r.tensor("logits")
	if loss := r.tensor("loss"); len(loss.Data) == 1 {
		c.Loss = loss.Data[0]
	}
	c.Params, c.Grads, c.Adam5 = r.tensors("param/"), r.tensors("grad/"), r.tensors("adam5/")
	c.AdamLosses = r.tensor("adam_losses").Data
	if r.err != nil {
		return c, r.err
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// check compares the shapes of a case with each other.
func (c *Case) check() error {
	n := c.Vertices
	switch {
	case len(c.Indptr) != n+1 || c.Indptr[0] != 0 || c.Indptr[n] != int64(len(c.Indices)) || !slices.IsSorted(c.Indptr):
		return fmt.Errorf("indptr does not describe %d edges of %d vertices", len(c.Indices), n)
	case c.Weights != nil && len(c.Weights) != len(c.Indices):
		return fmt.Errorf("%d weights of %d edges", len(c.Weights), len(c.Indices))
	case len(c.X.Shape) != 2 || c.X.Shape[0] != n:
		return fmt.Errorf("x has shape %v, want %d rows", c.X.Shape, n)
	case len(c.Logits.Shape) != 2 || c.Logits.Shape[0] != n:
		return fmt.Errorf("logits have shape %v, want %d rows", c.Logits.Shape, n)
	case c.Targets == nil && len(c.Labels) != n, c.Targets != nil && len(c.Targets) != len(c.Logits.Data):
		return fmt.Errorf("%d labels, %d targets for logits of shape %v", len(c.Labels), len(c.Targets), c.Logits.Shape)
	case len(c.Params) == 0 || len(c.AdamLosses) != 5:
		return fmt.Errorf("%d weights, %d Adam losses", len(c.Params), len(c.AdamLosses))
	}
	for _, v := range c.Indices {
		if v < 0 || int(v) >= n {
			return fmt.Errorf("neighbour %d of %d vertices", v, n)
		}
	}
	same := func(a, b Tensor) bool { return a.Name == b.Name && slices.Equal(a.Shape, b.Shape) }
	if !slices.EqualFunc(c.Params, c.Grads, same) || !slices.EqualFunc(c.Params, c.Adam5, same) {
		return fmt.Errorf("weights, gradients and weights after Adam differ in names or shapes")
	}
	return nil
}

// reader reads arrays of an archive and keeps the first error.
type reader struct {
	z   *npy.Archive
	err error
}

// get returns what take makes of an array, the zero value after an error.
func get[T any](r *reader, key string, take func(*npy.Array) (T, error)) (v T) {
	if r.err != nil {
		return v
	}
	a, err := r.z.Array(key)
	if err == nil {
		v, err = take(a)
	}
	r.err = err
	return v
}

func (r *reader) int64s(key string) []int64 { return get(r, key, (*npy.Array).Int64) }
func (r *reader) int32s(key string) []int32 { return get(r, key, (*npy.Array).Int32) }
func (r *reader) bools(key string) []bool   { return get(r, key, (*npy.Array).Bool) }

func (r *reader) rank(key string) int {
	return get(r, key, func(a *npy.Array) (int, error) { return len(a.Shape), nil })
}

func (r *reader) tensor(key string) Tensor {
	return get(r, key, func(a *npy.Array) (Tensor, error) {
		data, err := a.Float64()
		return Tensor{Shape: a.Shape, Data: data}, err
	})
}

// tensors returns the arrays under a prefix, named without it.
func (r *reader) tensors(prefix string) []Tensor {
	var out []Tensor
	for _, key := range r.z.Keys() {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			t := r.tensor(key)
			t.Name = name
			out = append(out, t)
		}
	}
	return out
}
