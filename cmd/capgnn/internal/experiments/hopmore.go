package experiments

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"capgnn/graph"
	"capgnn/internal/bench"
	"capgnn/minibatch/sample"
	"capgnn/rapa"
)

// Kinds of cells: which of a root's sample is at its home, and what merging one time step does.
const (
	locality = "locality"
	merging  = "merging"
)

// largeGraphs are those of Fig. 19; the second one with --quick.
var largeGraphs = [2]string{"papers-like:0.01", "papers-like:0.002"}

// Roots of Table 1: of samples of two hops, and of the others.
const (
	shallowRoots = 2000
	deepRoots    = 200
)

// samplings are those of Table 1 beside two node-wise hops: ten, of 2 neighbours each, and layers, drawn for each root.
func samplings(s traced) []traced {
	deep, layers := s, s
	deep.fanout, layers.ladies = slices.Repeat([]int{2}, 10), true
	both := layers
	both.fanout = slices.Repeat([]int{10}, 10)
	return []traced{deep, layers, both}
}

// ofTable1 is R_micro of HopGNN's Table 1, over its four graphs, by parts: 2 and 10 layers node-wise, then layer-wise.
var ofTable1 = map[int][]string{2: {"66–95", "61–88", "55–85", "52–58"}, 4: {"54–92", "43–79", "34–77", "28–31"},
	8: {"48–88", "27–68", "25–65", "14–24"}}

// cut calls do with the runs of the first tables whose parts are multilevel's.
func (h *hops) cut(do func(s traced)) {
	h.each(func(s traced) {
		if s.method == rapa.Multilevel {
			do(s)
		}
	})
}

// more are the cells of Table 1 and Fig. 18.
func (h *hops) more() (cells []cell) {
	h.cut(func(s traced) {
		for _, x := range samplings(s) {
			cells = append(cells, h.b.ordered(locality, x, func(r *ordered, l *bench.Line) { x.nearby(l, r, deepRoots) }))
		}
		if s.parts == 4 {
			cells = append(cells, h.b.ordered(merging, s, s.merges))
		}
	})
	return cells
}

func (h *hops) localityTable() bench.Table {
	t := bench.Table{Title: "Table 1: R_micro in %, by sampler and layers, multilevel",
		Columns: []string{"data set", "parts", "2 layers", "10", "LADIES 2", "10", "HopGNN 2", "10", "layer-wise 2", "10"},
		Note: fmt.Sprintf("Node-wise: fan-outs %s, and 2 in each of 10 hops. LADIES: layers of as many vertices for each root, and 10 in each of 10. "+
			"HopGNN: its four graphs, FastGCN's layers, which are drawn from the whole graph, LADIES's from neighbours.", drawing{fanout: fanouts}.text())}
	h.cut(func(s traced) {
		row := []string{shortDataset(s.dataset), strconv.Itoa(s.parts), percent(h.b.line(s.id(micro)).Value("micro"))}
		for _, x := range samplings(s) {
			row = append(row, percent(h.b.line(x.id(locality)).Value("micro")))
		}
		t.Add(append(row, ofTable1[s.parts]...)...)
	})
	return t
}

// shareOf returns the roots of a model, of as many as parts.
func shareOf(roots []graph.NodeID, model, parts int) []graph.NodeID {
	return roots[len(roots)*model/parts : len(roots)*(model+1)/parts]
}

// merged has each of as many models as parts leave one home out, and deals the roots there out to its other ones, in
// turn. From its own part on, a model goes through those that are left (HopGNN, section 5.3). Returns the roots by part,
// and how many the fullest part has, over time steps.
func merged(roots []graph.NodeID, home []int32, out []int) (own [][]graph.NodeID, path int) {
	parts := len(out)
	own = make([][]graph.NodeID, parts)
	load := make([][]int, parts-1) // by time step and part
	for k := range load {
		load[k] = make([]int, parts)
	}
	for model := range parts {
		var left []int
		for step := range parts {
			if at := (model + step) % parts; at != out[model] {
				left = append(left, at)
			}
		}
		turn := model
		for _, v := range shareOf(roots, model, parts) {
			k := slices.Index(left, int(home[v]))
			if k < 0 {
				k = turn % len(left)
				turn++
			}
			load[k][left[k]]++
			own[left[k]] = append(own[left[k]], v)
		}
	}
	for k := range load {
		path += slices.Max(load[k])
	}
	return own, path
}

// merges counts an epoch that drops one time step in each step: that with the fewest roots, or one of each model at random.
func (s traced) merges(r *ordered, l *bench.Line) {
	draws, parts, part := rand.New(rand.NewPCG(s.seed, 0)), s.parts, r.part
	sampler := sample.New(sample.Topology{Graph: r.p.Graph, Loops: r.p.Loops}, sample.Rules{Seed: s.seed, Fanout: s.fanout})
	var st sample.Stack
	for step, roots := range slices.Collect(slices.Chunk(r.order, r.batch)) {
		count, fewest, random := make([]int, parts), make([]int, parts), make([]int, parts)
		for model := range parts {
			for _, v := range shareOf(roots, model, parts) {
				count[(int(part[v])-model+parts)%parts]++
			}
		}
		for model := range parts {
			fewest[model] = (model + slices.Index(count, slices.Min(count))) % parts
			random[model] = draws.IntN(parts)
		}
		for name, out := range map[string][]int{"fewest": fewest, "random": random} {
			own, path := merged(roots, part, out)
			l.Values[name+" path"] += float64(path*parts) / float64(len(r.order))
			for at := range own {
				sampler.Draw(&st, uint32(step), own[at])
				for _, v := range st.IDs {
					if int(part[v]) != at {
						l.Values[name+" rows"]++
					}
				}
			}
		}
	}
}

func (h *hops) mergingTable() bench.Table {
	t := bench.Table{Title: "Fig. 18: which time step is merged, 4 parts, multilevel",
		Columns: []string{"data set", "path, fewest", "random", "random / fewest", "rows, fewest", "random"},
		Note: "fewest: the time step with the fewest roots, as HopGNN and train do; random: one of each model. path: roots of the fullest part, " +
			"over time steps, in even shares of a step: how long a step takes if time follows roots. HopGNN: 1.4 to 1.9 times as long at random."}
	for _, data := range h.datasets {
		l := h.b.line(h.at(data, rapa.Multilevel, 4).id(merging))
		fewest, random := l.Value("fewest path"), l.Value("random path")
		t.Add(shortDataset(data), fmt.Sprintf("%.2f", fewest), fmt.Sprintf("%.2f", random), ratio(random, fewest), millions(l.Value("fewest rows")), millions(l.Value("random rows")))
	}
	return t
}
