package experiments

import (
	"slices"
	"strconv"
	"strings"

	"capgnn/internal/bench"
	"capgnn/pipeline/chunks"
)

// otherModel is a row of a data set in the table of models: what is trained besides the ablation's GCN, with Adam.
type otherModel struct {
	model  string
	layers int
	ways   []isolatedWay // the first one is exact
	more   string        // options beside; "": full batch
}

// otherModels are the rows of Table 3, full batch and on samples with the paper's batch and fan-outs, and what else
// isolated parts may be: on chunks of a good partitioner, with targets of both chunks, and on samples with the paper's
// correction.
func otherModels(x *isolatedPlan) []otherModel {
	exact, none := isolatedWay{"exact", ""}, isolatedWay{"none", isolatedOption(x.chunks, chunks.None)}
	isolated := " isolated=chunks=" + strconv.Itoa(x.chunks) + ",correction=none"
	further := []isolatedWay{exact, none, {"none, multilevel chunks", "partitioner=multilevel" + isolated}, {"none, both targets", "partitioner=random" + isolated + ",targets=both"}}
	drawn := append(slices.Clone(further), isolatedWay{"resampling", isolatedOption(x.chunks, chunks.Resampling)})
	sampled := func(model string, fanout string) otherModel {
		return otherModel{model, strings.Count(fanout, ",") + 1, drawn, "batch-size=1000 fanout=" + fanout}
	}
	if x.opt.Quick {
		return []otherModel{{"gcn", 2, further, ""}, {"gat", 2, further[:2], ""}, sampled("gcn", "25,10")}
	}
	return []otherModel{{"gcn", 2, further, ""}, {"gcn", 3, further, ""}, {"sage", 2, further[:2], ""}, {"sage", 3, further[:2], ""},
		{"gat", 2, further[:2], ""}, {"gat", 3, further[:2], ""}, sampled("gcn", "25,10"), sampled("sage", "25,10"), sampled("sage", "15,10,5")}
}

// atModel is a run for the score of a model. Those of GCN that the ablation has too are the same.
func (x *isolatedPlan) atModel(data string, m otherModel, w isolatedWay, seed uint64) setting {
	s := x.at(data, m.layers, x.optimisers[0], w, seed)
	s.Model = m.model
	s.More = strings.TrimSpace(s.More + " " + m.more)
	return s
}

// otherCells are those of a seed, by its index; of the first deepSeeds only.
func (x *isolatedPlan) otherCells(seed int) (cells []cell) {
	if seed >= deepSeeds {
		return nil
	}
	for _, data := range x.datasets {
		for _, m := range x.others {
			for k, w := range m.ways {
				if m.model == "gcn" && m.more == "" && k < 2 {
					continue // the ablation has these
				}
				cells = append(cells, x.trained(x.atModel(data, m, w, x.opt.Seeds[seed])))
			}
		}
	}
	return cells
}

// otherScores are Table 3's scores, by model, beside what multilevel chunks and targets of both chunks make of GCN's.
func (x *isolatedPlan) otherScores() bench.Table {
	widest := x.others[len(x.others)-1].ways // those of samples
	t := bench.Table{Title: "Table 3: test score by model, and differences to exact", Columns: []string{"data set", "model", "layers"},
		Note: "Adam, at most " + strconv.Itoa(deepSeeds) + " seeds. Grappa (METIS, exact; Grappa): GCN-3 Reddit .6593, .9326; Sage-3 Reddit .9635, .9589; GAT-3 arxiv .5755, .5487."}
	for _, w := range widest {
		t.Columns = append(t.Columns, w.name)
	}
	for _, data := range x.datasets {
		for _, m := range x.others {
			lines := func(w isolatedWay) []*bench.Line {
				all := x.ofSeeds(func(seed uint64) setting { return x.atModel(data, m, w, seed) })
				return all[:min(len(all), deepSeeds)]
			}
			exact := lines(m.ways[0])
			name := m.model
			if m.more != "" {
				name += ", sampled"
			}
			row := []string{shortDataset(data), name, strconv.Itoa(m.layers), meanOf(exact, "test")}
			for k := range widest[1:] {
				text := ""
				if k+1 < len(m.ways) {
					text = difference(lines(m.ways[k+1]), exact, "test")
				}
				row = append(row, text)
			}
			t.Add(row...)
		}
	}
	return t
}
