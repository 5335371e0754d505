package experiments

import (
	"fmt"
	"math"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/internal/bench"
	"capgnn/jaca"
)

// boundedStaleness is how old cached rows may get in experiments that do not vary it, in epochs.
const boundedStaleness = "4"

// variant is a column of an ablation: what is switched on.
type variant struct {
	name string
	with func(*setting)
}

func withJACA(s *setting)     { s.Policy, s.Staleness = jaca.JACA, boundedStaleness }
func withEqual(s *setting)    { s.Parts = partsEqual }
func withFitted(s *setting)   { s.Parts = partsFitted }
func withPipeline(s *setting) { s.Pipeline = true }

// all returns what does several things.
func (v variant) and(more ...func(*setting)) variant {
	first := v.with
	v.with = func(s *setting) {
		first(s)
		for _, f := range more {
			f(s)
		}
	}
	return v
}

// whole is what the paper calls CaPGNN: the last line of Table 8, and its bar in Fig. 21.
var whole = variant{"+JACA +RAPA +pipeline", withFitted}.and(withJACA, withPipeline)

// ablationVariants are those of Table 8, in its order, and ours.
var ablationVariants = []variant{
	{"none", withEqual},
	variant{"+JACA", withEqual}.and(withJACA),
	{"+RAPA", withFitted},
	variant{"+JACA +RAPA", withFitted}.and(withJACA),
	whole,
	encodedRows, staleRows,
}

// The ways but exact, each with the caches and the pipeline that train gives it, on fitted parts.
var encodedRows, staleRows = withWay("encoded", false), withWay("stale", true)

// withWay is one of the ways. Without the pipeline rows are of the epoch that uses them.
func withWay(name string, pipelined bool) variant {
	return variant{name, func(s *setting) { s.Parts, s.Policy, s.Comm, s.Pipeline = partsFitted, jaca.JACA, name, pipelined }}
}

// waysText says what the ways are.
const waysText = "encoded, stale: parts fitted, caches and pipeline as train has them: rows as int8 in every epoch (--halo-dtype int8), and up to 8 epochs old (with --staleness 8,layers=wide)."

// ablationExperiment is Table 8.
func ablationExperiment() Experiment {
	return Experiment{Name: "ablation", Usage: "Table 8: time, communication and accuracy with JACA, RAPA and pipeline, each on or off",
		full: sevenGraphs, quick: quickGraphs, plan: planAblation}
}

func planAblation(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	specs, err := b.deviceList(fours)
	if err != nil {
		return nil, nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	models, epochs := []string{"gcn", "sage"}, b.epochs(200, 10)
	if b.opt.Quick {
		models = models[:1]
	}
	at := func(data, model string, v variant, seed uint64) setting {
		s := setting{Dataset: data, Model: model, Devices: devices.Format(specs), Seed: seed, Epochs: epochs, EvalEvery: evalEvery(epochs)}
		v.with(&s)
		return s
	}
	var cells, training []cell // what is quick goes first
	for _, model := range models {
		for _, data := range datasets {
			for _, v := range ablationVariants {
				if specs[0].Simulated() {
					cells = append(cells, b.simulation(at(data, model, v, b.opt.Seeds[0])))
				}
				for _, seed := range b.opt.Seeds {
					training = append(training, b.trained(at(data, model, v, seed)))
				}
			}
		}
	}
	return append(cells, training...), func() bench.Section {
		s := bench.Section{Title: "Table 8: what JACA, RAPA and the pipeline bring", Text: []string{
			fmt.Sprintf("3 layers, hidden 256, on %s. none: parts of equal inner vertices, edges and training vertices, every halo row in every epoch. JACA: caches of the size that memory leaves, rows at most %s epochs old. RAPA: parts fitted to the devices, lossless. pipeline: rows are used from the next epoch on. Scores are those at the best validation epoch of %d, over %d seeds.",
				devices.InWords(devices.Format(specs)), boundedStaleness, epochs, len(b.opt.Seeds)),
			waysText, timesText(devices.Format(specs))}}
		for _, model := range models {
			b.showAblation(&s, model, datasets, func(data string, v variant, seed uint64) setting { return at(data, model, v, seed) })
		}
		return s
	}, nil
}

// evalEvery is how often runs of so many epochs are evaluated: about twenty times.
func evalEvery(epochs int) int { return max(1, epochs/20) }

// timed returns the line that has the times of a setting: simulated ones where its devices are.
func (b *Bench) timed(s setting) *bench.Line {
	if l := b.line(b.simulation(s).id); l != nil {
		return l
	}
	return b.line(b.trained(s).id)
}

// showAblation adds what a model shows.
func (b *Bench) showAblation(s *bench.Section, model string, datasets []string, at func(string, variant, uint64) setting) {
	t := bench.Table{Title: model, Columns: []string{"data set", "", "epoch ms", "of none", "communication ms", "open ms", "MiB / epoch", "halo MiB", "of none", "validation %", "test %"},
		Note: "communication: transfers of the busiest device in an epoch; open: the epoch without the computations of the device that computes longest. MiB: on all links, gradients and weights included; halo MiB: halo rows alone, mean of the trained epochs behind the first."}
	times, moved, scores := bench.Panel{Title: "time of an epoch", Y: "ratio to none"}, bench.Panel{Title: "halo rows moved in an epoch, bytes", Y: "ratio to none"}, bench.Panel{Title: "test score", Y: "score, %"}
	of := make([]bench.Series, len(ablationVariants))
	byBytes, byScore := make([]bench.Series, len(of)), make([]bench.Series, len(of))
	for _, data := range datasets {
		none, exact := b.timed(at(data, ablationVariants[0], b.opt.Seeds[0])), b.line(b.trained(at(data, ablationVariants[0], b.opt.Seeds[0])).id)
		for i, v := range ablationVariants {
			l := b.timed(at(data, v, b.opt.Seeds[0]))
			runs := b.ofSeeds(func(seed uint64) setting { return at(data, v, seed) })
			note := v.name
			if l.Text["misfit"] != "" {
				note += " (does not fit)"
			}
			t.Add(shortDataset(data), note, milliseconds(l, "epoch_s"), ratio(l.Value("epoch_s"), none.Value("epoch_s")), milliseconds(l, "communication_s"), milliseconds(l, "exposed_s"),
				mebibytes(l, "bytes"), mebibytes(runs[0], "halo_bytes"), ratio(runs[0].Value("halo_bytes"), exact.Value("halo_bytes")), meanOf(runs, "val"), meanOf(runs, "test"))
			of[i].Name, byBytes[i].Name, byScore[i].Name = v.name, v.name, v.name
			of[i].Y = append(of[i].Y, l.Value("epoch_s")/max(math.SmallestNonzeroFloat64, none.Value("epoch_s")))
			byBytes[i].Y = append(byBytes[i].Y, runs[0].Value("halo_bytes")/max(1, exact.Value("halo_bytes")))
			byScore[i].Y = append(byScore[i].Y, 100*runs[0].Value("test"))
		}
		times.Groups = append(times.Groups, shortDataset(data))
	}
	moved.Groups, scores.Groups = times.Groups, times.Groups
	times.Series, moved.Series, scores.Series = of, byBytes, byScore
	s.Tables = append(s.Tables, t)
	s.Figures = append(s.Figures, bench.Figure{Title: "Table 8, " + model, Panels: []bench.Panel{times, moved, scores}, Across: 1})
}
