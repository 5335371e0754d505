package experiments

import (
	"fmt"
	"slices"
	"strconv"

	"capgnn/internal/bench"
)

// rapidWays are those of RapidGNN's Table III, with their options of train: GraphSAGE-METIS and GraphSAGE-Random, which are DistDGL's, and RapidGNN on both cuts.
var rapidWays, rapidOptions = []string{"METIS", "random", "rapid", "on random"}, []string{"sampling=distdgl eval-every=1", "sampling=distdgl partitioner=random", "sampling=rapidgnn eval-every=1", "sampling=rapidgnn partitioner=random"}

// times is Table III and Fig. 5, 6, 9b and 11.
func (h *hottest) times() ([]bench.Table, []bench.Figure) {
	split := bench.Table{Title: "Fig. 6, real: ms of an epoch and part by stage", Columns: []string{"data set", "batch", "way", "sample", "copy", "fetch", "compute", "waits", "of METIS's"}}
	size := bench.Table{Title: "Fig. 9b, simulated: epochs and memory of a part by n_hot, times those of METIS", Columns: []string{"data set", "batch", "n_hot", "epoch, ms", "times", "memory, MiB", "times", "rows"}}
	score := bench.Table{Title: "Fig. 11, real: training score by epoch, %; = weights and scores equal", Columns: []string{"data set", "batch", "way"}}
	for e := range h.b.epochs(6, 3) {
		score.Columns = append(score.Columns, strconv.Itoa(e+1))
	}
	score.Columns = append(score.Columns, "weights")
	tables := make([]bench.Table, len(kinds), 5)
	figures := []bench.Figure{{Title: "Fig. 5: epochs, real"}, {Title: "Fig. 6: shares of the stages, real"}, {Title: "Fig. 9b: memory by n_hot"}, {Title: "Fig. 11: training score, real"}}
	for i := range len(h.datasets) * len(h.timed) {
		data, batch := h.datasets[i/len(h.timed)], h.timed[i%len(h.timed)]
		named, title, all := []string{shortDataset(data), strconv.Itoa(batch)}, fmt.Sprintf("%s, batch %d", shortDataset(data), batch), make([][]*bench.Line, len(kinds))
		for k, kind := range kinds {
			row, took := named[:2:2], func(way int) float64 { return all[k][way].Value("epoch_s") }
			for way, options := range rapidOptions {
				all[k] = append(all[k], h.runs.of(kind, data, batch, options))
				row = append(row, inMS(took(way)))
			}
			tables[k].Title, tables[k].Columns = "Table III and Fig. 5, "+kind+": ms of an epoch; METIS and random ÷ rapid", append(append([]string{"data set", "batch"}, rapidWays...), "÷ METIS", "÷ random")
			tables[k].Add(append(row, ratio(took(0), took(2)), ratio(took(1), took(2)))...)
		}
		took, curves, metis := bench.Panel{Title: title, X: "epoch", Y: "epoch, s", FromZero: true, Counts: true}, bench.Panel{Title: title, X: "epoch", Y: "training score, %", Counts: true}, all[1][0]
		for way, l := range all[1] {
			row := append(named[:2:2], rapidWays[way])
			split.Add(append(row[:3:3], inMS(behind(l, "sample")), inMS(behind(l, "decide", "stage", "upload")), inMS(behind(l, "fetch")), inMS(behind(l, "compute")), inMS(behind(l, "wait")), ratio(behind(l, "wait"), behind(metis, "wait")))...)
			if took.Series = append(took.Series, overEpochs(rapidWays[way], l.Series["epoch_s"])); way%2 == 1 {
				continue // other roots
			}
			for _, x := range l.Series["train"] {
				row = append(row, percent(x))
			}
			same := map[bool]string{true: " =", false: " ≠"}[l.Text["weights"] == metis.Text["weights"] && slices.Equal(l.Series["train"], metis.Series["train"])]
			score.Add(append(row, fmt.Sprintf("%.8s", l.Text["weights"])+same)...)
			curves.Series = append(curves.Series, overEpochs(rapidWays[way], scaled(l.Series["train"], 100)))
		}
		figures[0].Panels, figures[1].Panels = append(figures[0].Panels, took), append(figures[1].Panels, stagePanel(title, rapidWays, all[1]))
		if figures[3].Panels = append(figures[3].Panels, curves); i%len(h.timed) > 0 {
			continue // memory is that of the first batch
		}
		memory := bench.Panel{Title: title, X: "n_hot, %", Y: "memory of a part, MiB", FromZero: true, Series: []bench.Series{{Name: "METIS"}, {Name: "rapid"}}}
		for _, share := range h.sizes {
			lines := []*bench.Line{all[0][0], h.runs.of("sim", data, batch, fmt.Sprintf("sampling=rapidgnn,cache=%g%%", 100*share))}
			for way, l := range lines {
				memory.Series[way].X, memory.Series[way].Y = append(memory.Series[way].X, 100*share), append(memory.Series[way].Y, hostMiB(l))
			}
			size.Add(append(named[:2:2], shareText(share), inMS(lines[1].Value("epoch_s")), ratio(lines[1].Value("epoch_s"), lines[0].Value("epoch_s")), fmt.Sprintf("%.1f", hostMiB(lines[1])), ratio(hostMiB(lines[1]), hostMiB(lines[0])), millions(behind(lines[1], "rows")))...)
		}
		figures[2].Panels = append(figures[2].Panels, memory)
	}
	for k := range tables {
		tables[k].Rows = append(tables[k].Rows, []string{"paper, products", "1–3K", "", "", "", "", "1.74–2.11", "5.47–5.76"}, []string{"paper, Reddit", "1–3K", "", "", "", "", "2.21–2.45", "4.80–5.18"})
	}
	split.Add("paper, mean", "1–3K", "rapid", "", "", "", "", "", "0.48")
	size.Add("paper", "1–3K", "1–8 %", "", "± 5 %", "", "1.92", "")
	return append(tables, split, size, score), figures
}
