package interpreter

import (
	"math"

	"capgnn/model"
)

// row returns row j of a value, or its only one.
func (a array) rowOrOne(s model.Space, j int) []float64 {
	if s == model.Global {
		return a.v
	}
	return a.row(j)
}

// forward returns the rows of node i in part k, of a sum over all vertices the part's share.
func (r *Run) forward(i, k int) array {
	n, p := r.node(i), &r.parts[k]
	y := newArray(p.rows(n.Space, r.hops[i]), n.Columns())
	in := func(j int) (array, *model.Node) { return r.val[n.In[j]][k], r.node(n.In[j]) }
	switch n.Op {
	case model.Param:
		copy(y.v, r.Params[n.Name])
	case model.Input:
		for j := range y.rows {
			copy(y.row(j), r.X[p.vertices[j]*y.cols:])
		}
	case model.Const:
		r.constant(n, p, y)
	case model.Add, model.Mul, model.Div:
		for t := range n.In {
			x, from := in(t)
			at := model.Broadcast(n.Shape, from.Shape)
			for j := range y.rows {
				row, xs := y.row(j), x.rowOrOne(from.Space, j)
				for c := range row {
					switch v := xs[at[c]]; {
					case n.Op == model.Add:
						row[c] += n.Coef[t] * v
					case t == 0:
						row[c] = v
					case n.Op == model.Mul:
						row[c] *= v
					default:
						row[c] /= v
					}
				}
			}
		}
	case model.Dropout:
		x, _ := in(0)
		for j := range y.rows {
			for c := range y.cols {
				y.row(j)[c] = x.row(j)[c] * r.kept(n, p, j, c)
			}
		}
	case model.Dst, model.SumIn, model.MaxIn, model.SoftmaxIn:
		x, _ := in(0)
		r.alongEdges(i, p, x, y)
	case model.SumAll:
		x, _ := in(0)
		for j := range x.rows {
			for c, v := range x.row(j) {
				y.v[c] += v
			}
		}
	case model.Product:
		r.eachProduct(i, k, func(out, a, b *float64) { *out += *a * *b }, y, r.val[n.In[0]][k], r.val[n.In[1]][k])
	default:
		x, from := in(0)
		rowwise(n, from, x, y, func(t int) []float64 { a, _ := in(t); return a.v }, in)
	}
	return y
}

func (r *Run) constant(n *model.Node, p *part, y array) {
	v := r.graphs[n.Graph].Constant(n)
	if n.Graph == "" {
		v = r.Graph.Constant(n)
	}
	for j := range y.rows {
		switch {
		case n.Space == model.Global:
			y.v[j] = v[0]
		case n.Space == model.Vertices:
			y.v[j] = v[p.vertices[j]]
		default:
			y.v[j] = v[p.edges[n.Graph][j]]
		}
	}
}

// kept is what dropout multiplies an element by.
func (r *Run) kept(n *model.Node, p *part, j, c int) float64 {
	if r.Keep == nil {
		return 1
	}
	row := 0
	if n.Space == model.Vertices {
		row = p.vertices[j]
	} else {
		row = p.edges[n.Space.Graph()][j]
	}
	if r.Keep(n, row, c) {
		return 1 / (1 - n.P)
	}
	return 0
}

// rowwise makes the rows of an operation that reads each row by itself.
func rowwise(n, from *model.Node, x, y array, whole func(int) []float64, in func(int) (array, *model.Node)) {
	for j := range y.rows {
		row, xs := y.row(j), x.rowOrOne(from.Space, j)
		switch n.Op {
		case model.Linear:
			w, last := whole(1), from.Shape[len(from.Shape)-1]
			out := n.Shape[len(n.Shape)-1]
			for c := range row {
				o, line := c%out, c/out
				for m := range last {
					row[c] += xs[line*last+m] * w[o*last+m]
				}
				if len(n.In) == 3 {
					row[c] += whole(2)[o]
				}
			}
		case model.LayerNorm:
			d := from.Shape[len(from.Shape)-1]
			for o := 0; o < len(row); o += d {
				mean, rstd := moments(xs[o:o+d], n.Eps)
				for c := range d {
					row[o+c] = (xs[o+c] - mean) * rstd
					if len(n.In) == 3 {
						row[o+c] = row[o+c]*whole(1)[c] + whole(2)[c]
					}
				}
			}
		case model.Reshape:
			copy(row, xs)
		case model.Concat:
			outer, all, inner := model.Split(n.Shape, n.Axis)
			at := 0
			for t := range n.In {
				a, f := in(t)
				_, d, _ := model.Split(f.Shape, n.Axis)
				for o := range outer {
					copy(row[(o*all+at)*inner:][:d*inner], a.rowOrOne(f.Space, j)[o*d*inner:])
				}
				at += d
			}
		case model.Slice:
			outer, d, inner := model.Split(from.Shape, n.Axis)
			k := (n.Hi - n.Lo) * inner
			for o := range outer {
				copy(row[o*k:][:k], xs[(o*d+n.Lo)*inner:])
			}
		case model.Fold:
			fold(n, from, xs, row)
		default:
			for c := range row {
				row[c], _ = n.Function(xs[c])
			}
		}
	}
}

func moments(x []float64, eps float64) (mean, rstd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	variance := 0.0
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, 1 / math.Sqrt(variance+eps)
}

func fold(n, from *model.Node, x, y []float64) {
	outer, d, inner := model.Split(from.Shape, n.Axis)
	for o := range outer {
		for i := range inner {
			at := func(k int) int { return (o*d+k)*inner + i }
			sum, most := 0.0, math.Inf(-1)
			for k := range d {
				sum += x[at(k)]
				most = max(most, x[at(k)])
			}
			switch n.How {
			case model.FoldSum:
				y[o*inner+i] = sum
			case model.FoldMean:
				y[o*inner+i] = sum / float64(d)
			case model.FoldMax:
				y[o*inner+i] = most
			case model.FoldSoftmax:
				sum = 0
				for k := range d {
					y[at(k)] = math.Exp(x[at(k)] - most)
					sum += y[at(k)]
				}
				for k := range d {
					y[at(k)] /= sum
				}
			}
		}
	}
}

// alongEdges makes rows of Dst and of what is made of in-edges.
func (r *Run) alongEdges(i int, p *part, x, y array) {
	n := r.node(i)
	targets := r.targets(i, p)
	if n.Op == model.Dst {
		for j, d := range targets {
			copy(y.row(j), x.row(d))
		}
		return
	}
	rows := p.count[r.hops[i]]
	most, sum := newArray(rows, y.cols), newArray(rows, y.cols)
	for c := range most.v {
		most.v[c] = math.Inf(-1)
	}
	for j, d := range targets {
		count := r.counted(i, p, j)
		if count == 0 {
			continue
		}
		for c, v := range x.row(j) {
			sum.row(d)[c] += count * v
			most.row(d)[c] = max(most.row(d)[c], v)
		}
	}
	switch n.Op {
	case model.SumIn:
		copy(y.v, sum.v)
	case model.MaxIn:
		for c, v := range most.v {
			if !math.IsInf(v, -1) {
				y.v[c] = v
			}
		}
	case model.SoftmaxIn:
		clear(sum.v)
		for j, d := range targets {
			for c, v := range x.row(j) {
				if r.counted(i, p, j) != 0 {
					y.row(j)[c] = math.Exp(v - most.row(d)[c])
					sum.row(d)[c] += y.row(j)[c]
				}
			}
		}
		for j, d := range targets {
			for c := range y.cols {
				if s := sum.row(d)[c]; s > 0 {
					y.row(j)[c] /= s
				}
			}
		}
	}
}

// targets returns the local number of the target of every edge that node i has or reads in a part.
func (r *Run) targets(i int, p *part) []int {
	n := r.node(i)
	es := p.edges[n.Graph][:p.edgesTo[n.Graph][r.hops[i]]]
	out := make([]int, len(es))
	for j, e := range es {
		out[j] = r.local[r.graphs[n.Graph].Dst[e]]
	}
	return out
}

// counted returns how often a sum counts an edge of a part.
func (r *Run) counted(i int, p *part, j int) float64 {
	if r.Count == nil {
		return 1
	}
	n := r.node(i)
	return r.Count(r.depth[i]-1, n.Graph, p.edges[n.Graph][j])
}
