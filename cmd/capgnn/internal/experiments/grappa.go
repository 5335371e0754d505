package experiments

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/internal/bench"
	"capgnn/pipeline/chunks"
	"capgnn/rapa"
)

// grappaExperiment is Grappa: parts that are isolated, against parts that exchange rows.
func grappaExperiment() Experiment {
	return Experiment{Name: "grappa", Usage: "Grappa's Tables 3, 4, 6 to 9 and 11, Fig. 4: scores of isolated parts by correction, depth and optimiser; epoch times with slow links",
		full: []string{"coauthor_physics", "ppi", "tolokers", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planGrappa}
}

// optimiser is one of the ablation, with a learning rate of its own.
type optimiser struct{ name, more string }

// isolatedPlan is what the experiment runs.
type isolatedPlan struct {
	*Bench
	datasets   []string
	device     string // of runs for scores
	chunks     int    // of the ablation
	epochs     int
	layers     []int
	optimisers []optimiser
	ways       []isolatedWay
	cuts       []chunking
	others     []otherModel
	links      linkedPlan
	scaled     scaledPlan
}

// isolatedWay is a column of the ablation: options of train.
type isolatedWay struct{ name, more string }

func planGrappa(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	specs, err := b.deviceList("cpu:0")
	if err != nil {
		return nil, nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	x := &isolatedPlan{Bench: b, datasets: datasets, device: devices.Format(specs[:1]), chunks: 16, epochs: b.epochs(200, 10), layers: []int{2, 3, 4},
		optimisers: []optimiser{{"adam", ""}, {"sgd", "optimizer=sgd lr=" + sgdRate}}}
	sizes, corrections := []int{4, 16, 64}, chunks.Corrections
	if b.opt.Quick {
		x.chunks, x.layers, x.optimisers, sizes, corrections = 4, x.layers[:1], x.optimisers[:1], sizes[:1], []chunks.Correction{chunks.None, chunks.Inclusion}
	}
	x.ways = grappaWays(x.chunks, corrections)
	methods := []rapa.Method{rapa.Random, rapa.Multilevel}
	if hasMETIS() {
		methods = append(methods, gpmetis)
	}
	for _, data := range datasets {
		for _, n := range sizes {
			for _, m := range methods {
				x.cuts = append(x.cuts, chunking{data, n, m, b.opt.Seeds[0]})
			}
		}
	}
	x.others = otherModels(x)
	x.links, x.scaled = newLinkedPlan(b, datasets, x), newScaledPlan(b, x)
	return x.cells(), x.show, nil
}

// sgdRate is the learning rate of plain gradient steps; that of Adam is train's.
const sgdRate = "0.5"

// grappaWays are the ways of Table 7 and 11. Fixed pairs of c chunks are c/2 parts that keep none of the edges between them; half kept keep those of most weight.
func grappaWays(c int, corrections []chunks.Correction) []isolatedWay {
	ways := []isolatedWay{{"exact", ""}}
	for _, k := range corrections {
		ways = append(ways, isolatedWay{string(k), isolatedOption(c, k)})
	}
	fixed := "partitioner=random parts=" + strconv.Itoa(max(2, c/2)) + " prune="
	return append(ways, isolatedWay{"fixed pairs", fixed + "1"}, isolatedWay{"half kept", fixed + "0.5"})
}

// isolatedOption has train isolate parts.
func isolatedOption(c int, k chunks.Correction) string {
	return fmt.Sprintf("partitioner=random isolated=chunks=%d,correction=%s", c, k)
}

// at is a run for scores.
func (x *isolatedPlan) at(data string, layers int, o optimiser, w isolatedWay, seed uint64) setting {
	more := strings.Join(strings.Fields(fmt.Sprintf("hidden=64 layers=%d %s %s", layers, o.more, w.more)), " ")
	return setting{Dataset: data, Devices: x.device, More: more, Seed: seed, Epochs: x.epochs, EvalEvery: evalEvery(x.epochs)}
}

func (x *isolatedPlan) cells() (cells []cell) {
	for _, c := range x.cuts {
		cells = append(cells, c.cell(x.Bench))
	}
	cells = append(append(cells, x.scaled.cells()...), x.links.cells()...)
	for i, seed := range x.opt.Seeds { // all of a seed first, so that an interrupted run has whole rows
		for _, data := range x.datasets {
			for _, layers := range x.layers {
				if i >= x.seeds(layers) {
					continue
				}
				for _, o := range x.optimisers {
					for _, w := range x.ways {
						cells = append(cells, x.trained(x.at(data, layers, o, w, seed)))
					}
				}
			}
		}
		cells = append(cells, x.otherCells(i)...)
	}
	return cells
}

func (x *isolatedPlan) lines(data string, layers int, o optimiser, w isolatedWay) []*bench.Line {
	return x.ofSeeds(func(seed uint64) setting { return x.at(data, layers, o, w, seed) })[:x.seeds(layers)]
}

// deepSeeds is how many seeds models of more than two layers have at most: they take most of the time.
const deepSeeds = 5

// seeds returns how many of the seeds train models of so many layers.
func (x *isolatedPlan) seeds(layers int) int {
	if layers > 2 {
		return min(len(x.opt.Seeds), deepSeeds)
	}
	return len(x.opt.Seeds)
}

func (x *isolatedPlan) show() bench.Section {
	epochs, faster := x.scaled.show()
	return bench.Section{Title: "Grappa: isolated parts",
		Text: []string{
			fmt.Sprintf("GCN, hidden 64, %d random chunks in as many parts, targets of the base chunk; the first layer keeps all edges. Scores are at the best validation epoch of %d, over %d seeds (at most %d of more than two layers): exact is the score, the others the difference to the exact run of the same seed, in points, ± its standard error. Adam has the learning rate of train, SGD %s.",
				x.chunks, x.epochs, len(x.opt.Seeds), deepSeeds, sgdRate),
			"exact: every row in every epoch. none to longrun: corrections of --isolated. fixed pairs: half as many parts, which drop all edges between them (--prune 1); half kept: they drop half of them (--prune 0.5).",
			"Epochs behind links are measured in one process on CPU devices of one thread, hidden 256; predicted: what plan says of them. Time to the goal is the epochs of a run until validation is within 0.5 points of exact's best, times the epoch behind the link and the share of a switch."},
		Tables:  append([]bench.Table{x.scores(), x.otherScores(), x.reached()}, x.links.table(), epochs, x.chunkings(x.cuts)),
		Figures: []bench.Figure{x.seen(x.cuts), faster}}
}

// scores are Tables 4, 7 and 11.
func (x *isolatedPlan) scores() bench.Table {
	t := bench.Table{Title: "Tables 4, 7 and 11: test score, and differences to exact", Columns: []string{"data set", "optimiser", "layers"},
		Note: "Grappa (Reddit, 16 parts; GCN-3, Sage-3, GAT-3): resampling .9326, .9589, .9251; none .8284, .9636, .8403; fixed pairs .8464, .9556, .9068; half kept .6593, .9635, .8999; uniform .8414, .9611, .9083."}
	for _, w := range x.ways {
		t.Columns = append(t.Columns, w.name)
	}
	x.each(func(data string, layers int, o optimiser) {
		exact := x.lines(data, layers, o, x.ways[0])
		row := []string{shortDataset(data), o.name, strconv.Itoa(layers), meanOf(exact, "test")}
		for _, w := range x.ways[1:] {
			row = append(row, difference(x.lines(data, layers, o, w), exact, "test"))
		}
		t.Add(row...)
	})
	return t
}

// each calls f for every row of the ablation.
func (x *isolatedPlan) each(f func(data string, layers int, o optimiser)) {
	for _, data := range x.datasets {
		for _, o := range x.optimisers {
			for _, layers := range x.layers {
				f(data, layers, o)
			}
		}
	}
}

// reached is Figure 6: epochs of the first seed's runs until validation is near exact's best, and what isolated runs cost besides.
func (x *isolatedPlan) reached() bench.Table {
	t := bench.Table{Title: "Epochs until validation is within 0.5 points of exact's best", Columns: []string{"data set", "optimiser", "layers"}}
	for _, w := range x.ways {
		t.Columns = append(t.Columns, w.name)
	}
	t.Columns = append(t.Columns, "switching, % of training", "halo rows, bytes")
	x.each(func(data string, layers int, o optimiser) {
		exact := x.lines(data, layers, o, x.ways[0])[0]
		row := []string{shortDataset(data), o.name, strconv.Itoa(layers)}
		for _, w := range x.ways {
			n := reached(x.lines(data, layers, o, w)[0], exact.Value("val")-0.005)
			row = append(row, cmp.Or(strings.TrimPrefix(strconv.Itoa(int(n)), "0"), "not"))
		}
		first := x.lines(data, layers, o, x.ways[1])[0]
		t.Add(append(row, percentOf(first, "switch_share"), strconv.Itoa(int(first.Value("halo_bytes"))))...)
	})
	return t
}
