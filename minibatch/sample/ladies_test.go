package sample

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
)

// candidate is a vertex that a hop may draw.
type candidate struct {
	id        graph.NodeID
	p, arrive float64
	counts    float64 // what an edge from it does; 0: it was not drawn
}

// slowLayer is a hop of LADIES with maps: what may be drawn, and for every row what edges from its neighbours weigh.
func slowLayer(t Topology, r Rules, rows []graph.NodeID, step uint32, hop, want int) (list []candidate, weigh []map[graph.NodeID]float64) {
	added, p, order := r.AddLoops || t.Loops == graph.LoopsAdded, map[graph.NodeID]float64{}, []graph.NodeID{}
	isRow := map[graph.NodeID]bool{}
	for _, v := range rows {
		isRow[v] = true
	}
	for _, v := range rows {
		w, total := map[graph.NodeID]float64{}, 0.0
		for _, u := range t.Graph.Row(int(v)) {
			if u == v && (added || t.Loops == graph.LoopsRemoved) {
				continue
			}
			w[u] = float64(t.Graph.Weight(u, v))
			total += w[u]
		}
		weigh = append(weigh, w)
		if added {
			total++
		}
		for _, u := range t.Graph.Row(int(v)) {
			if _, is := w[u]; !is || isRow[u] {
				continue
			}
			if _, seen := p[u]; !seen {
				order = append(order, u)
			}
			p[u] += w[u] / total * (w[u] / total)
		}
	}
	for _, u := range order {
		x := gpu.Philox([4]uint32{0, uint32(u), 0x5C000000 | uint32(hop), step}, gpu.SeedKey(r.Seed))
		uniform := (math.Floor(float64(x[0])*(1<<20)+float64(x[1])/(1<<12)) + 0.5) / (1 << 52)
		list = append(list, candidate{u, p[u], -math.Log(uniform) / p[u], 1})
	}
	if want < len(list) {
		last := slices.SortedFunc(slices.Values(list), func(a, b candidate) int { return cmp.Compare(a.arrive, b.arrive) })[want].arrive
		for i := range list {
			if c := &list[i]; c.arrive < last {
				c.counts = 1 / (1 - math.Exp(-c.p*last))
			} else {
				c.counts = 0
			}
		}
	}
	return list, weigh
}

// ladiesDiffer compares hop h of a stack with slowLayer's.
func ladiesDiffer(st *Stack, h, want int, t Topology, r Rules) error {
	b := &st.Blocks[h]
	rows := st.IDs[:b.Rows]
	list, weigh := slowLayer(t, r, rows, st.Step, h, want)
	ids, counts := slices.Clone(rows), slices.Repeat([]float64{1}, b.Rows)
	for _, c := range list {
		if c.counts > 0 {
			ids, counts = append(ids, c.id), append(counts, c.counts)
		}
	}
	if !slices.Equal(ids, st.IDs[:b.Cols]) {
		return fmt.Errorf("columns %d, want %d", st.IDs[:b.Cols], ids)
	}
	columns := map[graph.NodeID]int{}
	for c, v := range ids {
		columns[v] = c
	}
	added := r.AddLoops || t.Loops == graph.LoopsAdded
	for row, v := range rows {
		var want []graph.NodeID
		all, there := 0.0, 0.0
		if added {
			want = append(want, v)
		}
		for _, u := range t.Graph.Row(int(v)) {
			w, is := weigh[row][u]
			all += w
			if at, has := columns[u]; is && has {
				want = append(want, u)
				there += w * counts[at]
			}
		}
		var got []graph.NodeID
		for _, c := range b.Indices[b.Begin[row]:b.Begin[row+1]] {
			got = append(got, st.IDs[c])
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("vertex %d keeps %d, want %d", v, got, want)
		}
		ratio := 1.0
		if there > 0 {
			ratio = all / there
		}
		if got := b.ratioOf(row); math.Abs(got-ratio) > 1e-6*ratio {
			return fmt.Errorf("vertex %d counts %g times, want %g", v, got, ratio)
		}
	}
	for c, x := range counts {
		if got := b.weightOf(c); math.Abs(got-x) > 1e-6*x {
			return fmt.Errorf("column %d counts %g times, want %g", c, got, x)
		}
	}
	return nil
}

func (b *Block) ratioOf(row int) float64 {
	if b.Ratio == nil {
		return 1
	}
	return float64(b.Ratio[row])
}

func (b *Block) weightOf(col int) float64 {
	if b.Weight == nil {
		return 1
	}
	return float64(b.Weight[col])
}

// Layers are those of a slow twin, whoever draws them: of graphs with loops of all kinds, with weights, in slots and in the hash table.
func TestLadiesEqualsTwin(t *testing.T) {
	r, drawn := rand.New(rand.NewPCG(2, 3)), 0
	for name, g := range graphs(t) {
		if name == "hub" && testing.Short() {
			continue
		}
		for k, loops := range []graph.Loops{graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved} {
			g := *g
			if k > 0 {
				for range g.Indices {
					g.Weights = append(g.Weights, float32(1+r.IntN(100))/16)
				}
			}
			for _, fanout := range [][]int{{9, 4}, {1}, {30, All}, {All, 40}, {100, 200, 3}} {
				for _, memory := range []int64{0, 1} {
					topology, rules := Topology{Graph: &g, Loops: loops, Memory: memory}, Rules{Seed: 1<<40 + 7, Fanout: fanout, Ladies: 10}
					s := New(topology, rules)
					var st Stack
					for step, roots := range rootsOf(g.Rows()) {
						if len(roots) > 300 {
							roots = roots[:300]
						}
						s.Draw(&st, uint32(step), roots)
						edges := int64(0)
						for h, n := range fanout {
							want := math.MaxInt
							if n < All {
								want = int(math.Ceil(float64(n) * float64(len(roots)) / 10))
							}
							if err := ladiesDiffer(&st, h, want, topology, rules); err != nil {
								t.Fatalf("%s, loops %v, fan-outs %d, memory %d, step %d, hop %d: %v", name, loops, fanout, memory, step, h, err)
							}
							b := &st.Blocks[h]
							if edges += int64(len(b.Indices)); loops == graph.LoopsAdded {
								edges -= int64(b.Rows)
							}
							if b.Weight != nil {
								drawn++
								if b.Cols-b.Rows != want {
									t.Fatalf("%s, step %d, hop %d: %d vertices drawn, want %d", name, step, h, b.Cols-b.Rows, want)
								}
							}
						}
						if edges != st.Edges {
							t.Fatalf("%s: %d edges, want %d", name, st.Edges, edges)
						}
					}
				}
			}
		}
	}
	if drawn < 100 {
		t.Errorf("%d layers chose: the test shows nothing", drawn)
	}
}

// Sums over drawn vertices are those over all neighbours, in the mean over draws: within four standard errors, which are those of the draws themselves. Rows that are scaled add up to what
// they did in each draw. A single vertex is drawn with chance p.
func TestLadiesMeans(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 steps take long, and say nothing of races")
	}
	g := graphs(t)["degrees"].WithoutLoops()
	roots := []graph.NodeID{5, 9, 14, 17, 20, 24}
	r := rand.New(rand.NewPCG(8, 8))
	x := make([]float64, g.Rows())
	for v := range x {
		x[v] = r.NormFloat64()
	}
	for n, most := range map[int]float64{1: 2, 20: 1, 300: 0.15} { // standard error, over the norm of a row of ones
		top, rules := Topology{Graph: g, Loops: graph.LoopsRemoved}, Rules{Seed: 3, Fanout: []int{n}, Ladies: len(roots)}
		s := New(top, rules)
		var st Stack
		sum, square, count := make([]float64, len(roots)), make([]float64, len(roots)), make([]float64, g.Rows())
		span := steps / 10
		if n == 1 {
			span = steps
		}
		for step := range span {
			s.Draw(&st, uint32(step), roots)
			b := &st.Blocks[0]
			for _, u := range st.IDs[b.Rows:] {
				count[u]++
			}
			for row := range roots {
				y, all := 0.0, 0.0
				for _, c := range b.Indices[b.Begin[row]:b.Begin[row+1]] {
					y += b.weightOf(int(c)) * x[st.IDs[c]]
					all += b.weightOf(int(c)) * b.ratioOf(row)
				}
				sum[row], square[row] = sum[row]+y, square[row]+y*y
				if want := float64(len(g.Row(int(roots[row])))); all > 0 && math.Abs(all-want) > 1e-5*want {
					t.Fatalf("%d drawn: row %d adds up to %g, want %g", n, row, all, want)
				}
			}
		}
		for row, v := range roots {
			want := 0.0
			for _, u := range g.Row(int(v)) {
				want += x[u]
			}
			mean := sum[row] / float64(span)
			se := math.Sqrt((square[row]/float64(span) - mean*mean) / float64(span))
			if math.Abs(mean-want) > 4*se || se > most*math.Sqrt(float64(len(g.Row(int(v))))) {
				t.Errorf("%d drawn: the sums of vertex %d are %.3f ± %.3f in the mean, want %.3f", n, v, mean, se, want)
			}
		}
		if n > 1 {
			continue
		}
		list, _ := slowLayer(top, rules, roots, 0, 0, 1)
		all, square2 := 0.0, 0.0
		for _, c := range list {
			all += c.p
		}
		for _, c := range list {
			want := steps * c.p / all
			square2 += (count[c.id] - want) * (count[c.id] - want) / want
		}
		likely(t, "single vertices", square2, len(list)-1)
	}
}

// Stacks of layers as large as all candidates are those of all neighbours.
func TestLadiesOfAll(t *testing.T) {
	for name, g := range graphs(t) {
		top := Topology{Graph: g, Loops: graph.LoopsAdded}
		many, all := New(top, Rules{Seed: 4, Fanout: []int{g.Rows(), g.Rows()}, Ladies: 1}), New(top, Rules{Seed: 4, Fanout: []int{All, All}})
		for step, roots := range rootsOf(g.Rows()) {
			var a, b Stack
			many.Draw(&a, uint32(step), roots)
			all.Draw(&b, uint32(step), roots)
			a.Candidates = 0
			if err := difference(&a, &b); err != nil {
				t.Errorf("%s, step %d: %v", name, step, err)
			}
		}
	}
}

// Rows whose weights have both signs are not scaled to what these add up to: what is drawn of them may cancel out.
func TestLadiesOfWeightsThatCancel(t *testing.T) {
	const n = 40
	g := &graph.CSR{Cols: n, Indptr: make([]int64, n+1)}
	for u := 1; u < n; u++ {
		g.Indices, g.Weights = append(g.Indices, graph.NodeID(u)), append(g.Weights, float32(1-2*(u%2))*(1+float32(u)/1000))
	}
	for v := 1; v <= n; v++ {
		g.Indptr[v] = n - 1
	}
	s := New(Topology{Graph: g}, Rules{Seed: 1, Fanout: []int{4}, Ladies: 1})
	var st Stack
	for step := range 200 {
		if s.Draw(&st, uint32(step), []graph.NodeID{0}); st.Blocks[0].ratioOf(0) != 1 {
			t.Fatalf("step %d: scaled by %g", step, st.Blocks[0].ratioOf(0))
		}
	}
}
