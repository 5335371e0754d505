package experiments

import (
	"context"
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

// Graphs of Fig. 19.
const (
	largeGraph = "papers-like:0.01"
	quickLarge = "papers-like:0.002"
)

// roots of Table 1: of samples of up to two hops, and of longer ones.
const (
	shallowRoots = 2000
	deepRoots    = 200
)

// samplings are those of Table 1, beside two node-wise hops: ten, of 2 neighbours each, and layers, as LADIES draws them for each root.
func samplings(s traced) []traced {
	deep, layers := s, s
	deep.fanout, layers.ladies = slices.Repeat([]int{2}, 10), true
	both := layers
	both.fanout = slices.Repeat([]int{10}, 10)
	return []traced{deep, layers, both}
}

// ofTable1 is R_micro in HopGNN's Table 1, over its four graphs, by parts: node-wise with 2 and 10 layers, layer-wise with 2 and 10.
var ofTable1 = map[int][]string{
	2: {"66–95", "61–88", "55–85", "52–58"}, 4: {"54–92", "43–79", "34–77", "28–31"}, 8: {"48–88", "27–68", "25–65", "14–24"},
}

// cut calls do with the runs of the first tables whose parts are multilevel's.
func (h *hops) cut(do func(s traced)) {
	h.each(func(s traced) {
		if s.method == rapa.Multilevel {
			do(s)
		}
	})
}

// more are the cells of Table 1, Fig. 18 and 19.
func (h *hops) more(add func(s traced)) (cells []cell) {
	h.cut(func(s traced) {
		for _, x := range samplings(s) {
			cells = append(cells, cell{x.id(locality), func(ctx context.Context) (*bench.Line, error) {
				_, p, d, err := h.b.trace(ctx, x)
				if err != nil {
					return nil, err
				}
				order, l := sample.Order(trainingOf(p), x.seed, 0, nil), newLine()
				x.nearby(l, p, order[:min(len(order), deepRoots)], d.part)
				return l, nil
			}})
		}
		if s.parts == 4 {
			cells = append(cells, cell{s.id(merging), func(ctx context.Context) (*bench.Line, error) { return h.b.mergings(ctx, s) }})
		}
	})
	add(h.large)
	return cells
}

func (h *hops) localityTable() bench.Table {
	t := bench.Table{Title: "Table 1: R_micro in %, by sampler and layers, multilevel", Columns: []string{"data set", "parts", "2 layers", "10", "LADIES 2", "10", "HopGNN 2", "10", "layer-wise 2", "10"},
		Note: fmt.Sprintf("Node-wise: fan-outs %s, and 2 in each of 10 hops. LADIES: layers of as many vertices for each root, and 10 of 10. HopGNN over its four graphs; its layers are FastGCN's, which draws from the whole graph, LADIES from neighbours. 10 hops over few vertices reach much of the stand-in.", drawing{fanout: fanouts}.text())}
	h.cut(func(s traced) {
		row := []string{shortDataset(s.dataset), strconv.Itoa(s.parts), percent(h.b.line(s.id(micro)).Value("micro"))}
		for _, x := range samplings(s) {
			row = append(row, percent(h.b.line(x.id(locality)).Value("micro")))
		}
		t.Add(append(row, ofTable1[s.parts]...)...)
	})
	return t
}

// schedule is where models compute which of their roots in a step, with one time step less than parts: roots by part and time step, and how many models are there.
type schedule struct {
	roots  [][]graph.NodeID // by part
	load   [][]int          // roots, by time step and part
	models [][]int
}

// merged has each of as many models as parts drop a home, and deals the roots there out to its other ones, in turn. A model goes through those that are left from its own part on (HopGNN, section 5.3).
func merged(roots []graph.NodeID, home []int32, parts int, drop func(model int, size []int) int) schedule {
	x := schedule{roots: make([][]graph.NodeID, parts)}
	for range parts - 1 {
		x.load, x.models = append(x.load, make([]int, parts)), append(x.models, make([]int, parts))
	}
	for model := range parts {
		own, size := roots[len(roots)*model/parts:len(roots)*(model+1)/parts], make([]int, parts)
		for _, v := range own {
			size[home[v]]++
		}
		var left []int
		for step, dropped := 0, drop(model, size); step < parts; step++ {
			if at := (model + step) % parts; at != dropped {
				left = append(left, at)
			}
		}
		turn := model
		for _, v := range own {
			at := slices.Index(left, int(home[v]))
			if at < 0 {
				at = turn % len(left)
				turn++
			}
			x.load[at][left[at]]++
			x.roots[left[at]] = append(x.roots[left[at]], v)
		}
		for step, at := range left {
			x.models[step][at]++
		}
	}
	return x
}

// fewest drops the time step with the fewest roots of all models.
func fewest(roots []graph.NodeID, home []int32, parts int) func(model int, size []int) int {
	count := make([]int, parts)
	for model := range parts {
		for _, v := range roots[len(roots)*model/parts : len(roots)*(model+1)/parts] {
			count[(int(home[v])-model+parts)%parts]++
		}
	}
	least := slices.Index(count, slices.Min(count))
	return func(model int, _ []int) int { return (model + least) % parts }
}

// mergeNames name the ways to choose what is merged.
var mergeNames = []string{"fewest", "random"}

// mergings counts an epoch that merges one time step in each step, by fewest roots and, for each model, by chance.
func (b *Bench) mergings(ctx context.Context, s traced) (*bench.Line, error) {
	t, p, d, err := b.trace(ctx, s)
	if err != nil {
		return nil, err
	}
	order, l := sample.Order(trainingOf(p), s.seed, 0, nil), newLine()
	r, batch := rand.New(rand.NewPCG(s.seed, 0)), (len(order)+t.Steps-1)/t.Steps
	sampler := sample.New(sample.Topology{Graph: p.Graph, Loops: p.Loops}, sample.Rules{Seed: s.seed, Fanout: s.fanout})
	var st sample.Stack
	for step := range t.Steps {
		roots := order[min(step*batch, len(order)):min((step+1)*batch, len(order))]
		for i, drop := range []func(int, []int) int{fewest(roots, d.part, s.parts), func(int, []int) int { return r.IntN(s.parts) }} {
			x, name := merged(roots, d.part, s.parts, drop), mergeNames[i]
			for k := range x.load {
				l.Values[name+" path"] += float64(slices.Max(x.load[k])*s.parts) / float64(len(order))
				l.Values[name+" models"] = max(l.Values[name+" models"], float64(slices.Max(x.models[k])))
				for part, n := range x.load[k] {
					if step == 0 {
						l.Series[fmt.Sprint(name, " ", part)] = append(l.Series[fmt.Sprint(name, " ", part)], float64(n))
					}
				}
			}
			for part, own := range x.roots {
				sampler.Draw(&st, uint32(step), own)
				for _, v := range st.IDs {
					if int(d.part[v]) != part {
						l.Values[name+" rows"]++
					}
				}
			}
		}
	}
	return l, nil
}

func (h *hops) mergingTable() bench.Table {
	t := bench.Table{Title: "Fig. 18: which time step is merged, 4 parts, multilevel", Columns: []string{"data set", "path, fewest", "random", "random / fewest", "models, fewest", "random", "rows, fewest", "random"},
		Note: "fewest: the time step with the fewest roots, as HopGNN and train do; random: one of each model. path: roots of the fullest part, over time steps, as multiples of an even share: how long a step takes if time follows roots. models: most at one part in a time step. HopGNN: 1.4 to 1.9 times as long at random."}
	for _, data := range h.datasets {
		l, row := h.b.line(h.at(data, rapa.Multilevel, 4).id(merging)), []string{shortDataset(data)}
		value := func(way int, what string) float64 { return l.Value(mergeNames[way] + " " + what) }
		t.Add(append(row, fmt.Sprintf("%.2f", value(0, "path")), fmt.Sprintf("%.2f", value(1, "path")), ratio(value(1, "path"), value(0, "path")), fmt.Sprint(value(0, "models")), fmt.Sprint(value(1, "models")),
			millions(value(0, "rows")), millions(value(1, "rows")))...)
	}
	return t
}

// mergingFigure is Fig. 18b: how roots of the first step fall on parts and time steps.
func (h *hops) mergingFigure() bench.Figure {
	f := bench.Figure{Title: "Fig. 18b: roots of the first step by part and time step"}
	for _, data := range h.datasets {
		l := h.b.line(h.at(data, rapa.Multilevel, 4).id(merging))
		for _, name := range mergeNames {
			panel := bench.Panel{Title: shortDataset(data) + ", " + name, X: "part", Y: "roots"}
			for step := range 3 {
				series := bench.Series{Name: fmt.Sprint("time step ", step)}
				for part := range 4 {
					series.Y = append(series.Y, l.Series[fmt.Sprint(name, " ", part)][step])
				}
				panel.Series = append(panel.Series, series)
			}
			panel.Groups = []string{"0", "1", "2", "3"}
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}

func (h *hops) largeTable() bench.Table {
	t := bench.Table{Title: "Fig. 19: a large graph, 4 parts, multilevel", Columns: []string{"data set", "local %, batch", "hop", "home", "batch / hop", "batch / home"},
		Note: "local: share of the rows read that are the part's own; hop: each time step for itself. HopGNN (IT, 1.15 billion edges): 24.4 % with DGL, 92.3 % with all of HopGNN."}
	l, row := h.placed(h.large), []string{shortDataset(h.large.dataset)}
	for _, i := range []int{atBatch, atHopApart, atHome} {
		row = append(row, percent(1-l[i].Value("demand rows")/max(1, l[i].Value("demand read"))))
	}
	t.Add(append(row, ratio(l[atBatch].Value("demand rows"), l[atHopApart].Value("demand rows")), ratio(l[atBatch].Value("demand rows"), l[atHome].Value("demand rows")))...)
	return t
}
