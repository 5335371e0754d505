package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// meet sets the space of a node to that of its inputs: Global values meet all, others only their own.
func (c *checked) meet() error {
	c.Space = Global
	for _, x := range c.in {
		switch {
		case x.Space == Global || x.Space == c.Space:
		case c.Space == Global:
			c.Space = x.Space
		default:
			return fmt.Errorf("%s reads rows of %s and of %s: use src, dst or a sum over in-edges between", c.Op, c.Space,
				x.Space)
		}
	}
	return nil
}

// broadcast sets a node's shape to that which its inputs' shapes become together.
func (c *checked) broadcast() error {
	if err := c.meet(); err != nil {
		return err
	}
	for _, x := range c.in {
		shape, ok := together(c.Shape, x.Shape)
		if !ok {
			return fmt.Errorf("shapes %v and %v do not broadcast", c.Shape, x.Shape)
		}
		c.Shape = shape
	}
	return nil
}

// together returns the shape of two that are broadcast from the last axis on.
func together(a, b []int) ([]int, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i := 1; i <= len(b); i++ {
		x, y := &out[len(out)-i], b[len(b)-i]
		switch {
		case *x == 1:
			*x = y
		case y != 1 && *x != y:
			return nil, false
		}
	}
	return out, true
}

func (c *checked) same() error {
	c.Space, c.Shape = c.in[0].Space, c.in[0].Shape
	if c.Op == Clamp && !(c.Low <= c.High) {
		return fmt.Errorf("low %g is not at most high %g", c.Low, c.High)
	}
	return finite(c.Slope, c.Alpha, c.Exponent)
}

func finite(xs ...float64) error {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%g is not finite", x)
		}
	}
	return nil
}

func (c *checked) input() error {
	c.Space, c.Shape = Vertices, []int{c.p.Features}
	return nil
}

func (c *checked) constant() error {
	made := true
	switch c.What {
	case Number, VertexNum:
		c.Space, made = Global, false
	case EdgeWeight, GCNNorm, Sym, Loop:
		c.Space = Edges(c.Graph)
	case InDegree, OutDegree, InCount:
		c.Space = Vertices
	default:
		return fmt.Errorf("constant %q is not one of %s", c.What, strings.Join(constants, ", "))
	}
	switch {
	case made && c.p.graph(c.Graph) == nil:
		return fmt.Errorf("graph %q is not declared", c.Graph)
	case !made && c.Graph != "":
		return fmt.Errorf("constant %s has no graph", c.What)
	case c.What != Number && c.Value != 0:
		return fmt.Errorf("constant %s has no value", c.What)
	}
	c.Shape = []int{}
	return finite(c.Value)
}

func (c *checked) linear() error {
	x, w := c.in[0], c.in[1]
	c.Space = x.Space
	k := len(x.Shape) - 1
	switch {
	case w.Space != Global || len(w.Shape) != 2:
		return fmt.Errorf("linear: the weight is %s, no matrix", w.describe())
	case k < 0 || x.Shape[k] != w.Shape[1]:
		return fmt.Errorf("linear: x is %s, the weight %v", x.describe(), w.Shape)
	case len(c.in) == 3 && (c.in[2].Space != Global || !slices.Equal(c.in[2].Shape, w.Shape[:1])):
		return fmt.Errorf("linear: the bias is %s, not G[%d]", c.in[2].describe(), w.Shape[0])
	}
	c.Shape = slices.Concat(x.Shape[:k], w.Shape[:1])
	return nil
}

// product checks Spec: letters of both inputs' axes, an arrow, those of the output. n is the row.
func (c *checked) product() error {
	bad := func(why string) error { return fmt.Errorf("spec %q: %s", c.Spec, why) }
	ins, out, ok := strings.Cut(c.Spec, "->")
	a, b, both := strings.Cut(ins, ",")
	if !ok || !both {
		return bad(`is not of the form "nij,njk->nik"`)
	}
	size := map[rune]int{}
	for i, letters := range []string{a, b} {
		x := c.in[i]
		axes, row := strings.CutPrefix(letters, "n")
		if row != (x.Space != Global) || len(axes) != len(x.Shape) {
			return bad(fmt.Sprintf("%q does not name the axes of %s, where n is the row", letters, x.describe()))
		}
		for k, r := range axes {
			d, seen := size[r]
			switch {
			case r < 'a' || r > 'z' || r == 'n' || strings.Count(axes, string(r)) > 1:
				return bad(fmt.Sprintf("%q are not different letters from a to z, n only for the row", letters))
			case seen && d != x.Shape[k]:
				return bad(fmt.Sprintf("axis %c has %d and %d elements", r, d, x.Shape[k]))
			}
			size[r] = x.Shape[k]
		}
	}
	if err := c.meet(); err != nil {
		return err
	}
	axes, row := strings.CutPrefix(out, "n")
	c.Shape = []int{}
	for _, r := range axes {
		if size[r] == 0 || strings.Count(axes, string(r)) > 1 {
			return bad(fmt.Sprintf("output %q names axes that no input has, or one twice", out))
		}
		c.Shape = append(c.Shape, size[r])
	}
	switch {
	case row && c.Space == Global:
		return bad("no input has rows")
	case !row && c.Space == Vertices:
		if c.in[0].Space != c.in[1].Space {
			return bad("a sum over all vertices needs rows of both inputs")
		}
		c.Space = Global
	case !row && c.Space != Global:
		return bad("rows of edges are summed by sum_in")
	}
	return nil
}

func (c *checked) add() error {
	if c.Coef == nil {
		c.Coef = ones(len(c.in))
	}
	if len(c.Coef) != len(c.in) {
		return fmt.Errorf("%d coefficients of %d values", len(c.Coef), len(c.in))
	}
	if err := finite(c.Coef...); err != nil {
		return fmt.Errorf("coefficient %w", err)
	}
	return c.broadcast()
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

func (c *checked) dropout() error {
	if !(c.P >= 0 && c.P < 1) {
		return fmt.Errorf("p %g is not in [0, 1)", c.P)
	}
	if c.Counter == -1 {
		c.Counter = len(c.p.dropouts)
	}
	if c.Counter < 0 || c.Counter >= maxNodes {
		return fmt.Errorf("counter %d is not in [0, %d)", c.Counter, maxNodes)
	}
	if k, there := c.p.dropouts[c.Counter]; there {
		return fmt.Errorf("counter %d is that of node %q, too", c.Counter, c.p.Nodes[k].Name)
	}
	if c.in[0].Space == Global {
		return fmt.Errorf("dropout of a value without rows")
	}
	return c.same()
}

// vectors checks that inputs from the second on are vectors as long as the last axis.
func (c *checked) vectors() error {
	x := c.in[0]
	if len(x.Shape) == 0 {
		return fmt.Errorf("%s of a value without columns", c.Op)
	}
	for _, v := range c.in[1:] {
		if v.Space != Global || !slices.Equal(v.Shape, x.Shape[len(x.Shape)-1:]) {
			return fmt.Errorf("%s: %q is %s, not G[%d]", c.Op, v.Name, v.describe(), x.Shape[len(x.Shape)-1])
		}
	}
	if !(c.Eps > 0 && c.Eps < 1) {
		return fmt.Errorf("eps %g is not in (0, 1)", c.Eps)
	}
	return c.same()
}

func (c *checked) layerNorm() error {
	if len(c.in) == 2 {
		return fmt.Errorf("layer_norm reads 1 or 3 values, not 2")
	}
	return c.vectors()
}

func (c *checked) batchNorm() error {
	switch {
	case len(c.in)%2 == 0:
		return fmt.Errorf("batch_norm reads 1, 3 or 5 values, not %d", len(c.in))
	case c.in[0].Space != Vertices || len(c.in[0].Shape) != 1:
		return fmt.Errorf("batch_norm of %s: only of columns of vertices", c.in[0].describe())
	case !(c.Momentum >= 0 && c.Momentum <= 1):
		return fmt.Errorf("momentum %g is not in [0, 1]", c.Momentum)
	case len(c.in) == 5 && (c.in[3].Op != Param || c.in[4].Op != Param):
		return fmt.Errorf("batch_norm: running statistics are no tensors")
	}
	return c.vectors()
}

// along checks Axis, −1 being the last.
func (c *checked) along() error {
	n := len(c.in[0].Shape)
	if c.Axis == -1 {
		c.Axis = n - 1
	}
	if c.Axis < 0 || c.Axis >= n {
		return fmt.Errorf("axis %d is not below %d", c.Axis, n)
	}
	return nil
}

func (c *checked) concat() error {
	if err := c.along(); err != nil {
		return err
	}
	c.Space, c.Shape = c.in[0].Space, slices.Clone(c.in[0].Shape)
	for _, x := range c.in[1:] {
		if x.Space != c.Space || len(x.Shape) != len(c.Shape) {
			return fmt.Errorf("concat of %s and %s", c.in[0].describe(), x.describe())
		}
		for k, d := range x.Shape {
			if k != c.Axis && d != c.Shape[k] {
				return fmt.Errorf("concat of %s and %s", c.in[0].describe(), x.describe())
			}
		}
		if c.Shape[c.Axis] += x.Shape[c.Axis]; c.Shape[c.Axis] > maxColumns {
			return fmt.Errorf("concat has more than %d columns", maxColumns)
		}
	}
	return nil
}

func (c *checked) slice() error {
	if err := c.along(); err != nil {
		return err
	}
	c.Space, c.Shape = c.in[0].Space, slices.Clone(c.in[0].Shape)
	if c.Lo < 0 || c.Lo >= c.Hi || c.Hi > c.Shape[c.Axis] {
		return fmt.Errorf("columns %d to %d of %s", c.Lo, c.Hi, c.in[0].describe())
	}
	c.Shape[c.Axis] = c.Hi - c.Lo
	return nil
}

func (c *checked) reshape() error {
	c.Space = c.in[0].Space
	if err := checkShape(c.Shape); err != nil {
		return err
	}
	if elements(c.Shape, maxColumns) != elements(c.in[0].Shape, maxSize) {
		return fmt.Errorf("shape %v has not as many elements as %s", c.Shape, c.in[0].describe())
	}
	return nil
}

func (c *checked) fold() error {
	if err := c.along(); err != nil {
		return err
	}
	c.Space, c.Shape = c.in[0].Space, c.in[0].Shape
	switch c.How {
	case FoldSoftmax:
	case FoldSum, FoldMean, FoldMax:
		c.Shape = slices.Delete(slices.Clone(c.Shape), c.Axis, c.Axis+1)
	default:
		return fmt.Errorf("fold %q is not one of sum, mean, max, softmax", c.How)
	}
	return nil
}

func (c *checked) sumAll() error {
	if c.in[0].Space != Vertices {
		return fmt.Errorf("sum_all of %s: only of rows of vertices", c.in[0].describe())
	}
	c.Space, c.Shape = Global, c.in[0].Shape
	return nil
}

func (c *checked) toEdges() error {
	if err := c.declared(); err != nil {
		return err
	}
	if c.in[0].Space != Vertices {
		return fmt.Errorf("%s of %s: only of rows of vertices", c.Op, c.in[0].describe())
	}
	c.Space, c.Shape = Edges(c.Graph), c.in[0].Shape
	return nil
}

func (c *checked) fromEdges() error {
	if err := c.declared(); err != nil {
		return err
	}
	if c.in[0].Space != Edges(c.Graph) {
		return fmt.Errorf("%s of %s: only of rows of edges of graph %q", c.Op, c.in[0].describe(), c.Graph)
	}
	c.Space, c.Shape = Vertices, c.in[0].Shape
	if c.Op == SoftmaxIn {
		c.Space = c.in[0].Space
	}
	return nil
}

func (c *checked) declared() error {
	if c.p.graph(c.Graph) == nil {
		return fmt.Errorf("graph %q is not declared", c.Graph)
	}
	return nil
}
