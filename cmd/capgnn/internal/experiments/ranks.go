package experiments

import (
	"fmt"
	"strconv"
	"strings"

	"capgnn/internal/bench"
)

// Place is where this process stands among those that run an experiment over ranks together, as scripts/netlab, mpirun and srun start them.
type Place struct {
	Rank   int
	Master string // host of rank 0; "": this process starts the ranks itself
	Port   int
}

// follows reports whether another process keeps the results.
func (o *Options) follows() bool { return o.Place.Rank > 0 }

// rankWay is one way to train over ranks.
type rankWay struct {
	name  string
	flags []string // of train
}

// rankedExperiment is what an experiment trains over ranks: ways that take turns, the first being what the others are compared with.
type rankedExperiment struct {
	title  string
	roots  int // of a step, by rank
	ways   []rankWay
	papers string // what the paper measured
}

// sampledWay is a way that --sampling names.
func sampledWay(name, sampling string, more ...string) rankWay {
	return rankWay{name, append([]string{"--sampling", sampling}, more...)}
}

// ranked are the experiments that train over ranks, by name.
var ranked = map[string]rankedExperiment{
	"rapid": {"RapidGNN over ranks", 1000, []rankWay{sampledWay("distdgl", "distdgl"), sampledWay("distdgl, random", "distdgl", "--partitioner", "random"), sampledWay("rapidgnn", "rapidgnn"), sampledWay("default", "default")},
		"RapidGNN (its Table III, 10 Gbit/s, batches of 1000): epochs of products 1.74 times as fast as GraphSAGE's over METIS parts and 5.76 times as over random ones, of Reddit 2.21 and 5.14 times. Table IV: 4 times fewer rows, 1.92 times the memory."},
	"massive": {"MassiveGNN over ranks", 500, []rankWay{sampledWay("distdgl", "distdgl"), sampledWay("massivegnn", "massivegnn"), sampledWay("f 0.5, Δ 1", "massivegnn,f=0.5,gamma=0.95,delta=1"), sampledWay("default", "default")},
		"MassiveGNN (its Fig. 6): 15 to 40 % less time than DistDGL. Fig. 14, f 0.5, Δ 1: 1.10 times the memory."},
	"hop": {"HopGNN over ranks", 500, []rankWay{sampledWay("batch", "default,place=batch,fetch=demand"), sampledWay("hop", "hopgnn"), sampledWay("home", "default,fetch=demand"), sampledWay("default", "default")},
		"HopGNN (its Fig. 11 and 12, 4 machines with an A100, 10 Gbit/s): 1.3 to 3.1 times as fast as DGL, which is batch; 1.69 times on 2 machines (Fig. 23). Fig. 20: with GAT on UK some core of a GPU is busy for 52 % of the time, with DGL 13 %, with P³ 18 %."},
	"fetch": {"Ways to fetch over ranks", 500, []rankWay{sampledWay("demand", "default,fetch=demand"), sampledWay("rapid", "default,fetch=rapid,cache=15%"),
		sampledWay("massive", "default,fetch=massive,cache=15%"), sampledWay("planned", "default,fetch=planned,cache=15%"), sampledWay("planned, all", "default,fetch=planned")}, ""},
}

// OverRanks reports whether an experiment can train over ranks.
func OverRanks(name string) bool { return ranked[name].ways != nil }

// Data sets of experiments over ranks: an epoch of a few seconds on few cores.
var (
	rankedGraphs = []string{"reddit-like:0.05", "products-like:0.1"}
	quickRanked  = []string{"reddit-like:0.02"}
)

// overRanks returns an experiment that trains over ranks in place of one that counts.
func overRanks(e Experiment) Experiment {
	return Experiment{Name: e.Name + "-ranks", full: rankedGraphs, quick: quickRanked, plan: func(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
		p := &rankedPlan{Bench: b, rankedExperiment: ranked[e.Name], name: e.Name, datasets: datasets, rounds: 3, epochs: b.epochs(5, 2)}
		if b.opt.Quick {
			p.rounds = 1
		}
		return p.cells(), p.show, nil
	}}
}

// rankedPlan is what such an experiment runs.
type rankedPlan struct {
	*Bench
	rankedExperiment
	name     string
	datasets []string
	rounds   int
	epochs   int
}

// cells are the trainings. In a round the ways take turns.
func (p *rankedPlan) cells() (cells []cell) {
	for _, data := range p.datasets {
		for round := range p.rounds {
			for _, w := range p.ways {
				cells = append(cells, p.training(data, w, round, len(cells)))
			}
		}
	}
	return cells
}

// id names a training. The address of rank 0 is in it, as other machines have other lines.
func (p *rankedPlan) id(data string, w rankWay, round int) bench.Cell {
	return bench.Cell{"kind": "ranks", "experiment": p.name, "dataset": data, "way": w.name, "round": strconv.Itoa(round), "ranks": strconv.Itoa(p.opt.Ranks), "rank 0": p.opt.Place.Master,
		"devices": p.opt.Devices, "epochs": strconv.Itoa(p.epochs), "seed": strconv.FormatUint(p.opt.Seeds[0], 10)}
}

func (p *rankedPlan) show() bench.Section {
	return bench.Section{Title: p.title, Text: []string{p.text()}, Tables: []bench.Table{p.table()}, Figures: []bench.Figure{p.figure("Epochs over ranks", "epoch, s", "epoch_s"), p.figure("Share of time that devices compute", "busy, %", "busy")}}
}

// text says what was run, and where.
func (p *rankedPlan) text() string {
	where := "all on this machine, which shares its cores among them and joins them by the loopback interface, as fast as that is"
	if p.opt.Place.Master != "" {
		where = "started from outside, rank 0 at " + p.opt.Place.Master + ", over whatever lines connect them"
	}
	return fmt.Sprintf("Trained over %d ranks, %s. GraphSAGE of 2 layers, hidden 256, fan-outs %s, %d roots a rank and step, %d epochs without evaluation. Times are medians over %d rounds, in which the ways take turns, of the median epoch behind the first; "+
		"the ratio is the median of the rounds' ratios. Rows and their bytes are those that parts fetched, counted by step and equal in every round; between ranks: these, requests, gradients and weights, in the mean over all epochs. waits: how long a device had nothing to compute, in the mean. processors: how many a rank used, sampling and sending included; devices busy: share of an epoch in which a device computes, in the mean. memory: largest resident memory of a rank, files that it has read among it. J: energy of whole cards and packages of processors, in the mean over all epochs; GPUs busy: share of time, by the driver's last period behind each epoch.%s", p.opt.Ranks, where, drawing{fanout: fanouts}.text(), p.roots, p.epochs, p.rounds, p.unread())
}

// unread names the meters that no run could read.
func (p *rankedPlan) unread() string {
	var names []string
	for _, name := range meterNames {
		if !p.line(p.id(p.datasets[0], p.ways[0], 0)).Has(name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return " Here no meter could be read of: " + strings.Join(names, "; ") + "."
}

// of returns a value of a way in every round.
func (p *rankedPlan) of(data string, w rankWay, name string) (all []float64) {
	for round := range p.rounds {
		all = append(all, p.line(p.id(data, w, round)).Value(name))
	}
	return all
}

// faster returns how many times as fast as the first way one is, in every round.
func (p *rankedPlan) faster(data string, w rankWay) (all []float64) {
	first, here := p.of(data, p.ways[0], "epoch_s"), p.of(data, w, "epoch_s")
	for round := range first {
		all = append(all, first[round]/here[round])
	}
	return all
}

func (p *rankedPlan) table() bench.Table {
	t := bench.Table{Title: fmt.Sprintf("%d ranks", p.opt.Ranks), Columns: []string{"data set", "way", "epoch, s", "times as fast as " + p.ways[0].name, "CPU, s", "waits, s", "rows fetched", "MB", "first epoch, MB", "between ranks, MB", "memory, MB", "processors", "devices busy, %"}, Note: p.papers}
	t.Columns = append(t.Columns, meterNames...)
	for _, data := range p.datasets {
		for _, w := range p.ways {
			mid := func(name string) float64 { return medianOf(p.of(data, w, name)) }
			row := []string{shortDataset(data), w.name, fmt.Sprintf("%.3f", mid("epoch_s")), fmt.Sprintf("%.2f", medianOf(p.faster(data, w))), fmt.Sprintf("%.2f", mid("cpu_s")), fmt.Sprintf("%.3f", mid("wait_s")),
				millions(mid("rows")), megabytes(mid("row_bytes")), megabytes(mid("first_bytes")), megabytes(mid("bytes")), megabytes(mid("peak_bytes")), fmt.Sprintf("%.2f", mid("processors")), fmt.Sprintf("%.0f", mid("busy"))}
			for _, name := range meterNames {
				text := ""
				if p.line(p.id(data, w, 0)).Has(name) {
					text = fmt.Sprintf("%.4g", mid(name))
				}
				row = append(row, text)
			}
			t.Add(row...)
		}
	}
	return t
}

// megabytes writes bytes.
func megabytes(bytes float64) string { return fmt.Sprintf("%.2f", bytes/1e6) }

// figure is a value by round, a panel for each data set.
func (p *rankedPlan) figure(title, axis, value string) bench.Figure {
	f := bench.Figure{Title: title}
	for _, data := range p.datasets {
		panel := bench.Panel{Title: shortDataset(data), X: "round", Y: axis, FromZero: true, Counts: true}
		for _, w := range p.ways {
			panel.Series = append(panel.Series, overEpochs(w.name, p.of(data, w, value)))
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}
