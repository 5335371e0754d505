package gnn

import (
	"slices"

	"capgnn/gpu"
)

// node is a step of a program that devices take in a few operations: a sum of terms and a bias, or what attention
// makes, and what comes behind it.
type node struct {
	layer   int // that it belongs to, from 0
	level   int // of its rows: those that layer level reads, or for the number of layers those that the last one makes
	cols    int
	terms   []term
	attend  *attention // in place of terms
	from    *node      // in place of terms: what is dropped of
	before  *node      // a sum of this node too, which has no other reader
	gathers *gathering // in place of terms
	message *message   // in place of terms
	of      *node      // in place of terms: the node whose columns it is, from lo on
	cut     *node      // the same of rows of any node, which have further readers
	lo      int
	maps    *mapping // in place of terms
	leaf    *leaf    // in place of terms
	whole   *whole   // in place of terms
	applied *applied // in place of terms
	shift   float64  // is added to terms
	single  bool     // it has one row, made of tensors
	beside  bool     // its terms lie side by side
	joins   bool     // it is a part of a product with rows side by side, each in a node of its own
	bias    string
	then    *then
	add     *node // is added to what then makes

	// In a pass:
	readers []*node
	begin   int       // where layers before made it, its first column among given rows; else -1
	end     int       // where several values are made for the next layers, its first column in their table; else -1
	apart   bool      // its epilogue runs behind its aggregation and not in it
	z       *value    // the sum; behind a norm its normalised rows
	h       *value    // what others read; z itself where function and dropout work in place
	again   *value    // h, made again backward
	rstd    *value    // reciprocal deviations of a norm
	shows   *value    // what is not finite where its rows are not
	grad    *gradient // of h
	late    []func()  // append gradients of weights that read h, which is to be made again first
	copies  []func()  // append shares of gradients that come behind its own
}

// term is Σ x·W, of x itself or summed over neighbours.
type term struct {
	x     *node // nil: the features
	graph bool  // x is summed over in-edges; else, without a weight, coef·x is added
	coef  float64
	own   *own   // added to that sum
	w     string // tensor; "": none
	lo    int    // its columns from there on, as many as x has
	to    int    // its first column in a node whose terms lie side by side, where it has cols
	cols  int
	mix   bool // W is (1−β)I + βWᵀ
	beta  float64
	gain  string // tensor of whose element at W is a multiple of the identity
	at    int

	// In a pass:
	s      operand // what is multiplied or summed up last: x, A·x with what is added, or x·Wᵀ
	t      *value  // x·Wᵀ
	tHalo  *value  // the same of replicated halo rows
	turned *value  // Wᵀ of a mixture
}

// own is a share of rows in a sum over neighbours: coef·x, or (1 + ε)·x.
type own struct {
	x    *node
	coef float64
	eps  string
}

// then is what follows a sum, each part optional.
type then struct {
	gamma, beta string
	eps         float64
	act         gpu.Activation
	p           float64 // of dropout
	counter     int
	batch       *batch // the norm is by columns of all vertices; nil: by rows
}

// reads returns the nodes that a node reads.
func (n *node) reads() (list []*node) {
	for i := range n.terms {
		if list = append(list, n.terms[i].x); n.terms[i].own != nil {
			list = append(list, n.terms[i].own.x)
		}
	}
	if n.attend != nil {
		list = append(list, n.attend.x)
	}
	if n.gathers != nil {
		list = append(list, n.gathers.xs...)
	}
	if n.message != nil {
		list = append(list, n.message.of, n.message.r)
	}
	if n.maps != nil {
		list = append(list, n.maps.x, n.maps.by)
	}
	if n.whole != nil {
		list = append(list, n.whole.x, n.whole.y)
	}
	if n.applied != nil {
		list = append(list, n.applied.x, n.applied.by)
	}
	list = append(list, n.from, n.before, n.add, n.of, n.cut)
	return slices.DeleteFunc(list, func(x *node) bool { return x == nil })
}

// tensors returns the names of those that a node reads.
func (n *node) tensors() (names []string) {
	names = append(names, n.bias)
	if t := n.then; t != nil {
		if names = append(names, t.gamma, t.beta); t.batch != nil {
			names = append(names, t.batch.mean, t.batch.variance)
		}
	}
	for i := range n.terms {
		if names = append(names, n.terms[i].w, n.terms[i].gain); n.terms[i].own != nil {
			names = append(names, n.terms[i].own.eps)
		}
	}
	if n.leaf != nil {
		names = append(names, n.leaf.tensor)
	}
	if a := n.attend; a != nil {
		names = append(names, a.w, a.b, a.w2, a.b2, a.aSrc, a.aDst, a.att)
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// sums reports whether a node reads x, nil for the features, to sum it up over neighbours.
func (n *node) sums(x *node) bool {
	return n.attend != nil && n.attend.x == x || n.gathers != nil && slices.Contains(n.gathers.xs, x) ||
		slices.ContainsFunc(n.terms, func(t term) bool { return t.graph && t.x == x })
}

// readsFeatures reports whether a node reads the features.
func (n *node) readsFeatures() bool {
	return n.sums(nil) || slices.ContainsFunc(n.terms, func(t term) bool { return t.x == nil })
}

// scales reports whether a multiple of x is added to a term's sum over neighbours of x.
func (t *term) scales() bool {
	return t.own != nil && (t.own.eps != "" || t.own.x == t.x && t.w != "" && !t.mix && t.coef == 1)
}

// blends reports whether other rows are mixed into a term's sum over neighbours.
func (t *term) blends() bool { return t.own != nil && !t.scales() }

// crossing returns the nodes that layers behind layer l read of those up to it, first what is summed over neighbours.
func crossing(nodes []*node, l int) (list []*node) {
	var others []*node
	seen := map[*node]bool{}
	for _, n := range nodes {
		if n.layer <= l {
			continue
		}
		for _, x := range n.reads() {
			if x.layer > l || seen[x] || x.single {
				continue
			}
			if seen[x] = true; n.layer == l+1 && n.sums(x) {
				list = append(list, x)
			} else {
				others = append(others, x)
			}
		}
	}
	return append(list, others...)
}
