package interpreter

import (
	"math"

	"capgnn/model"
)

// Backward returns the gradients of all tensors that have one, summed over parts, by name. d is the gradient of the
// logits, Vertices × Outputs, which is read at targets. Forward has run.
func (r *Run) Backward(d []float64) map[string][]float64 {
	p := r.Program
	r.grad = make([][]array, len(p.Nodes))
	for k := range r.parts {
		g := r.gradOf(p.Logits, k)
		for j := range g.rows {
			copy(g.row(j), d[r.parts[k].vertices[j]*g.cols:])
		}
	}
	out := map[string][]float64{}
	for i := p.Logits; i >= 0; i-- {
		n := r.node(i)
		if r.grad[i] == nil {
			continue
		}
		if p.Reduces(i) && n.Op != model.BatchNorm {
			r.addParts(r.grad[i]) // every part's share of what is made of the one sum
		}
		switch n.Op {
		case model.Param:
			r.addParts(r.grad[i])
			out[n.Name] = r.grad[i][0].v
		case model.Src:
			r.returnRows(i)
		case model.BatchNorm:
			r.batchNormBack(i)
		default:
			for k := range r.parts {
				r.backward(i, k)
			}
		}
	}
	return out
}

// gradOf returns the gradient of a value in a part, to be added to.
func (r *Run) gradOf(i, k int) array {
	if r.grad[i] == nil {
		for _, v := range r.val[i] {
			r.grad[i] = append(r.grad[i], newArray(v.rows, v.cols))
		}
	}
	return r.grad[i][k]
}

// returnRows adds the gradients of edges' source rows at their owners.
func (r *Run) returnRows(i int) {
	n := r.node(i)
	g := r.graphs[n.Graph]
	for k := range r.parts {
		sent := map[int]bool{}
		d := r.grad[i][k]
		for j := range d.rows {
			s := g.Src[r.parts[k].edges[n.Graph][j]]
			o := r.owner[s]
			if o != k && !sent[s] {
				sent[s] = true
				r.Sent += d.cols
			}
			addTo(r.gradOf(n.In[0], o).row(r.local[s]), d.row(j))
		}
	}
}

func addTo(y, x []float64) {
	for c, v := range x {
		y[c] += v
	}
}

// backward adds the shares of the gradients of what node i reads in part k.
func (r *Run) backward(i, k int) {
	n, p := r.node(i), &r.parts[k]
	if len(n.In) == 0 {
		return
	}
	dy, y := r.grad[i][k], r.val[i][k]
	x, dx := r.val[n.In[0]][k], r.gradOf(n.In[0], k)
	switch n.Op {
	case model.Add, model.Mul, model.Div:
		r.broadcastBack(i, k)
	case model.Dropout:
		for j := range dy.rows {
			for c, d := range dy.row(j) {
				dx.row(j)[c] += d * r.kept(n, p, j, c)
			}
		}
	case model.Dst:
		for j, t := range r.targets(i, p) {
			addTo(dx.row(t), dy.row(j))
		}
	case model.SumIn, model.MaxIn, model.SoftmaxIn:
		r.edgesBack(i, p, x, y, dx, dy)
	case model.SumAll:
		for j := range x.rows {
			addTo(dx.row(j), dy.v)
		}
	case model.Product:
		z, dz := r.val[n.In[1]][k], r.gradOf(n.In[1], k)
		r.eachProduct(i, k, func(d, a, b *float64) { *a += *d * *b }, dy, dx, z)
		r.eachProduct(i, k, func(d, a, b *float64) { *b += *d * *a }, dy, x, dz)
	default:
		r.rowsBack(i, k)
	}
}

// broadcastBack is backward of sums, products and quotients of elements.
func (r *Run) broadcastBack(i, k int) {
	n, dy := r.node(i), r.grad[i][k]
	ats := make([][]int, len(n.In))
	for t, in := range n.In {
		ats[t] = model.Broadcast(n.Shape, r.node(in).Shape)
	}
	for j := range dy.rows {
		at := func(t, c int) float64 {
			return r.val[n.In[t]][k].rowOrOne(r.node(n.In[t]).Space, j)[ats[t][c]]
		}
		for t, in := range n.In {
			dx := r.gradOf(in, k).rowOrOne(r.node(in).Space, j)
			for c, d := range dy.row(j) {
				switch {
				case n.Op == model.Add:
					d *= n.Coef[t]
				case n.Op == model.Mul:
					d *= at(1-t, c)
				case t == 0:
					d /= at(1, c)
				default:
					d *= -at(0, c) / (at(1, c) * at(1, c))
				}
				dx[ats[t][c]] += d
			}
		}
	}
}

// edgesBack is backward of sums, maxima and softmax over in-edges. Equal maxima share a gradient.
func (r *Run) edgesBack(i int, p *part, x, y, dx, dy array) {
	n, targets := r.node(i), r.targets(i, p)
	sum := newArray(p.count[r.hops[i]], dx.cols) // by vertex: of softmax Σ dy⊙y, of maxima how many there are
	for j, t := range targets {
		for c := range dx.cols {
			switch {
			case r.counted(i, p, j) == 0:
			case n.Op == model.SoftmaxIn:
				sum.row(t)[c] += dy.row(j)[c] * y.row(j)[c]
			case n.Op == model.MaxIn && x.row(j)[c] == y.row(t)[c]:
				sum.row(t)[c]++
			}
		}
	}
	for j, t := range targets {
		count := r.counted(i, p, j)
		if count == 0 {
			continue
		}
		for c := range dx.cols {
			switch d := &dx.row(j)[c]; {
			case n.Op == model.SumIn:
				*d += count * dy.row(t)[c]
			case n.Op == model.SoftmaxIn:
				*d += y.row(j)[c] * (dy.row(j)[c] - sum.row(t)[c])
			case x.row(j)[c] == y.row(t)[c]:
				*d += dy.row(t)[c] / sum.row(t)[c]
			}
		}
	}
}

// rowsBack is backward of an operation that reads each row by itself.
func (r *Run) rowsBack(i, k int) {
	n, from := r.node(i), r.node(r.node(i).In[0])
	y, dy := r.val[i][k], r.grad[i][k]
	for j := range dy.rows {
		g := dy.row(j)
		xs := r.val[n.In[0]][k].rowOrOne(from.Space, j)
		d := r.gradOf(n.In[0], k).rowOrOne(from.Space, j)
		switch n.Op {
		case model.Linear:
			w, dw := r.val[n.In[1]][k], r.gradOf(n.In[1], k)
			in, out := w.cols/n.Shape[len(n.Shape)-1], n.Shape[len(n.Shape)-1]
			for c, v := range g {
				o, line := c%out, c/out
				for m := range in {
					d[line*in+m] += v * w.v[o*in+m]
					dw.v[o*in+m] += v * xs[line*in+m]
				}
				if len(n.In) == 3 {
					r.gradOf(n.In[2], k).v[o] += v
				}
			}
		case model.LayerNorm:
			r.layerNormBack(n, k, xs, g, d)
		case model.Reshape:
			addTo(d, g)
		case model.Concat:
			outer, all, inner := model.Split(n.Shape, n.Axis)
			at := 0
			for _, in := range n.In {
				_, w, _ := model.Split(r.node(in).Shape, n.Axis)
				d := r.gradOf(in, k).rowOrOne(r.node(in).Space, j)
				for o := range outer {
					addTo(d[o*w*inner:], g[(o*all+at)*inner:][:w*inner])
				}
				at += w
			}
		case model.Slice:
			outer, w, inner := model.Split(from.Shape, n.Axis)
			size := (n.Hi - n.Lo) * inner
			for o := range outer {
				addTo(d[(o*w+n.Lo)*inner:], g[o*size:][:size])
			}
		case model.Fold:
			foldBack(n, from, xs, y.row(j), g, d)
		default:
			for c, v := range g {
				_, slope := n.Function(xs[c])
				d[c] += v * slope
			}
		}
	}
}

// layerNormBack adds r·(g − mean g − x̂·mean(g⊙x̂)) with g = γ⊙dy, and dy⊙x̂ and dy to the gradients of γ and β.
func (r *Run) layerNormBack(n *model.Node, k int, x, dy, dx []float64) {
	w := n.Shape[len(n.Shape)-1]
	for o := 0; o < len(dy); o += w {
		mean, rstd := moments(x[o:o+w], n.Eps)
		g, hat := make([]float64, w), make([]float64, w)
		var first, second float64
		for c := range w {
			g[c], hat[c] = dy[o+c], (x[o+c]-mean)*rstd
			if len(n.In) == 3 {
				r.gradOf(n.In[1], k).v[c] += g[c] * hat[c]
				r.gradOf(n.In[2], k).v[c] += g[c]
				g[c] *= r.val[n.In[1]][k].v[c]
			}
			first += g[c] / float64(w)
			second += g[c] * hat[c] / float64(w)
		}
		for c := range w {
			dx[o+c] += rstd * (g[c] - first - hat[c]*second)
		}
	}
}

// foldBack is backward of a fold. Of equal maxima the first has the gradient.
func foldBack(n, from *model.Node, x, y, dy, dx []float64) {
	outer, d, inner := model.Split(from.Shape, n.Axis)
	for o := range outer {
		for i := range inner {
			g := dy[o*inner+i]
			at := func(k int) int { return (o*d+k)*inner + i }
			switch n.How {
			case model.FoldSum, model.FoldMean:
				if n.How == model.FoldMean {
					g /= float64(d)
				}
				for k := range d {
					dx[at(k)] += g
				}
			case model.FoldMax:
				for k := range d {
					if x[at(k)] == y[o*inner+i] {
						dx[at(k)] += g
						break
					}
				}
			case model.FoldSoftmax:
				sum := 0.0
				for k := range d {
					sum += dy[at(k)] * y[at(k)]
				}
				for k := range d {
					dx[at(k)] += y[at(k)] * (dy[at(k)] - sum)
				}
			}
		}
	}
}

// stat is mean and 1/√(variance + ε) of BatchNorm's columns.
type stat struct {
	mean, rstd []float64
	running    bool // no gradient reaches them
}

// columns returns the sums over all vertices of f(x, row, column) by column.
func (r *Run) columns(x []array, f func(k, j, c int) float64) []float64 {
	sums := make([]array, len(x))
	for k, a := range x {
		sums[k] = newArray(1, a.cols)
		for j := range a.rows {
			for c := range a.cols {
				sums[k].v[c] += f(k, j, c)
			}
		}
	}
	r.addParts(sums)
	return sums[0].v
}

// batchNorm makes (x − mean)·rstd, times γ and plus β if there are some.
func (r *Run) batchNorm(i int) {
	n := r.node(i)
	x := r.val[n.In[0]]
	s := stat{running: r.Keep == nil && len(n.In) == 5}
	vertices := float64(r.Graph.Vertices)
	var variance []float64
	if s.running {
		s.mean, variance = r.val[n.In[3]][0].v, r.val[n.In[4]][0].v
	} else {
		s.mean = r.columns(x, func(k, j, c int) float64 { return x[k].row(j)[c] / vertices })
		variance = r.columns(x, func(k, j, c int) float64 { d := x[k].row(j)[c] - s.mean[c]; return d * d / vertices })
	}
	for _, v := range variance {
		s.rstd = append(s.rstd, 1/math.Sqrt(v+n.Eps))
	}
	r.stats[i] = s
	for k := range r.parts {
		y := newArray(r.parts[k].rows(n.Space, r.hops[i]), n.Columns())
		for j := range y.rows {
			for c := range y.cols {
				y.row(j)[c] = (x[k].row(j)[c] - s.mean[c]) * s.rstd[c]
				if len(n.In) > 1 {
					y.row(j)[c] = y.row(j)[c]*r.val[n.In[1]][k].v[c] + r.val[n.In[2]][k].v[c]
				}
			}
		}
		r.val[i][k] = y
	}
}

// batchNormBack adds r·(g − mean g − x̂·mean(g⊙x̂)) with g = γ⊙dy, 0 of rows that are not needed, to the gradients of
// all rows.
func (r *Run) batchNormBack(i int) {
	n, s, x := r.node(i), r.stats[i], r.val[r.node(i).In[0]]
	vertices := float64(r.Graph.Vertices)
	hat := func(k, j, c int) float64 { return (x[k].row(j)[c] - s.mean[c]) * s.rstd[c] }
	g := make([]array, len(x))
	for k := range g {
		g[k] = newArray(x[k].rows, x[k].cols)
		for j := range r.grad[i][k].rows {
			for c, d := range r.grad[i][k].row(j) {
				g[k].row(j)[c] = d
				if len(n.In) > 1 {
					g[k].row(j)[c] *= r.val[n.In[1]][k].v[c]
					r.gradOf(n.In[1], k).v[c] += d * hat(k, j, c)
					r.gradOf(n.In[2], k).v[c] += d
				}
			}
		}
	}
	first := r.columns(x, func(k, j, c int) float64 { return g[k].row(j)[c] / vertices })
	second := r.columns(x, func(k, j, c int) float64 { return g[k].row(j)[c] * hat(k, j, c) / vertices })
	for k := range x {
		dx := r.gradOf(n.In[0], k)
		for j := range dx.rows {
			for c := range dx.cols {
				d := g[k].row(j)[c]
				if !s.running {
					d -= first[c] + hat(k, j, c)*second[c]
				}
				dx.row(j)[c] += s.rstd[c] * d
			}
		}
	}
}
