package experiments

import (
	"fmt"
	"strconv"
	"strings"

	"capgnn/internal/bench"
	"capgnn/jaca"
	"capgnn/pipeline/chunks"
)

// linkedPlan is epochs behind links: isolated parts against parts that exchange rows, each part on a device of its own.
type linkedPlan struct {
	*isolatedPlan
	parts []int
	rates []linkRate
}

// linkRate is the rate of every device's link to the host, in each direction.
type linkRate struct{ name, link string }

// linkRates are those of the paper's network and a tenth and ten times as much.
var linkRates = []linkRate{{"0.1 Gbit/s", "11.92MiB/s"}, {"1 Gbit/s", "119.2MiB/s"}, {"10 Gbit/s", "1192MiB/s"}}

// linkedWays are the rows of the table.
var linkedWays = []string{"exact", "encoded", "stale", "isolated"}

func newLinkedPlan(b *Bench, datasets []string, x *isolatedPlan) linkedPlan {
	p := linkedPlan{x, []int{2, 4, 16}, linkRates}
	if b.opt.Quick {
		p.parts, p.rates = p.parts[:1], p.rates[1:2]
	}
	return p
}

// timedEpochs is how many epochs are timed behind a link. Stale rows have a period of 8.
const timedEpochs = 18

// way returns a run on n devices. Without a link it is for scores, and has all its epochs.
func (p linkedPlan) way(data, way string, n int, link string) setting {
	spec, epochs := "threads=1", p.epochs
	if link != "" {
		spec, epochs = "threads=1,link="+link, min(p.epochs, timedEpochs)
	}
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("cpu:%d,%s", i, spec))
	}
	s := setting{Dataset: data, Devices: strings.Join(list, ","), Parts: partsEqual, Seed: p.opt.Seeds[0], Epochs: epochs}
	if link == "" {
		s.EvalEvery = evalEvery(epochs)
	}
	switch way {
	case "exact":
	case "isolated":
		s.More = isolatedOption(n, chunks.None)
	default:
		s.Policy, s.Comm, s.Pipeline = jaca.JACA, way, true
	}
	return s
}

func (p linkedPlan) cells() (cells []cell) {
	p.eachLinked(func(data string, n int) {
		for _, w := range linkedWays {
			for _, r := range p.rates {
				cells = append(cells, p.trained(p.way(data, w, n, r.link)), p.simulation(p.way(data, w, n, r.link)))
			}
			cells = append(cells, p.trained(p.way(data, w, n, "")))
		}
	})
	return cells
}

func (p linkedPlan) eachLinked(f func(data string, parts int)) {
	for _, data := range p.datasets {
		for _, n := range p.parts {
			f(data, n)
		}
	}
}

// table is Table 3's epochs.
func (p linkedPlan) table() bench.Table {
	t := bench.Table{Title: "Epochs behind links", Columns: []string{"data set", "parts", "link", "", "epoch ms", "of exact", "predicted ms", "halo MiB", "epochs to the goal", "s to the goal", "winner"},
		Note: "Grappa (16 V100, 2×10 Gbit/s; s of an epoch, DGL with random parts, with METIS, Grappa): Sage-3 Reddit 9.7, 6.2, 1.0; products 8.5, 4.5, 1.4; arxiv 0.9, 0.6, 0.4. One part per device; all devices share this machine's cores."}
	p.eachLinked(func(data string, n int) {
		for _, r := range p.rates {
			p.rows(&t, data, n, r)
		}
	})
	return t
}

// rows adds those of one cell of the grid; the way that is first at the goal is its winner.
func (p linkedPlan) rows(t *bench.Table, data string, n int, r linkRate) {
	goal := p.line(p.trained(p.way(data, "exact", n, "")).id).Value("val") - 0.005
	base := p.line(p.trained(p.way(data, "exact", n, r.link)).id)
	seconds, best := map[string]float64{}, ""
	for _, w := range linkedWays {
		epochs := reached(p.line(p.trained(p.way(data, w, n, "")).id), goal)
		l := p.line(p.trained(p.way(data, w, n, r.link)).id)
		if seconds[w] = epochs * l.Value("epoch_s") / max(1e-3, 1-l.Value("switch_share")); seconds[w] > 0 && (best == "" || seconds[w] < seconds[best]) {
			best = w
		}
	}
	for _, w := range linkedWays {
		l, epochs, mark := p.line(p.trained(p.way(data, w, n, r.link)).id), "not", ""
		if e := reached(p.line(p.trained(p.way(data, w, n, "")).id), goal); e > 0 {
			epochs = strconv.Itoa(int(e))
		}
		if w == best {
			mark = "first"
		}
		t.Add(shortDataset(data), strconv.Itoa(n), r.name, w, milliseconds(l, "epoch_s"), ratio(l.Value("epoch_s"), base.Value("epoch_s")),
			milliseconds(p.line(p.simulation(p.way(data, w, n, r.link)).id), "epoch_s"), mebibytes(l, "halo_bytes"), epochs, fmt.Sprintf("%.2f", seconds[w]), mark)
	}
}
