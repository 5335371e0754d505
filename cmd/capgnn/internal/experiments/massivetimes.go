package experiments

import (
	"fmt"

	"capgnn/internal/bench"
)

// scoredWays are those of Fig. 7 to 9, with their options of train: the baseline, and MassiveGNN without eviction and with it.
var scoredWays, scoredOptions = []string{"distdgl", "no Δ", "Δ 16"}, []string{"sampling=distdgl", "sampling=massivegnn,delta=1048576", "sampling=massivegnn,delta=16"}

// times is Fig. 7, 8, 9 and 14.
func (x *scores) times() ([]bench.Table, bench.Figure) {
	fill := bench.Table{Title: "Fig. 8: the first fill: first epoch and later ones", Columns: []string{"data set", "kind", "way", "rows", "later", "epoch, ms", "later", "more, of 100 epochs, %"}}
	memory := bench.Table{Title: "Fig. 14: memory of a trainer, MiB; massivegnn with f 0.5, γ 0.95, Δ 1", Columns: []string{"data set", "distdgl", "massivegnn", "more", "times"}}
	tables, shares := make([]bench.Table, len(kinds), 4), bench.Figure{Title: "Fig. 9: shares of the stages, real"}
	for _, data := range x.datasets {
		name := shortDataset(data)
		for i, model := range []string{"sage", "gat", "sage", "gat"} {
			kind, t, lines := kinds[i/2], &tables[i/2], []*bench.Line(nil)
			t.Title, t.Columns = "Fig. 7 and 9, "+kind+": ms of an epoch; sum: its stages one by one", []string{"data set", "model", "way", "fetch", "sum", "epoch", "less, %", "fetching hidden, %"}
			for way, options := range scoredOptions {
				l := x.runs.of(kind, data, x.roots, "heads=2 model="+model+" "+options)
				lines = append(lines, l)
				first, later, sum := append(l.Series["epoch_s"], 0)[0], l.Value("epoch_s"), behind(l, stages...)
				t.Add(name, model, scoredWays[way], inMS(behind(l, "fetch")), inMS(sum), inMS(later), percent(1-later/lines[0].Value("epoch_s")), percent(min(1, max(0, (sum-later)/behind(l, "fetch")))))
				if model == "sage" && way < 2 {
					fill.Add(name, kind, scoredWays[way], millions(append(l.Series["rows"], 0)[0]), millions(behind(l, "rows")), inMS(first), inMS(later), fmt.Sprintf("%.2f", (first-later)/later))
				}
			}
			if kind == "real" {
				shares.Panels = append(shares.Panels, stagePanel(name+", "+model, scoredWays, lines))
			}
		}
		base, large := hostMiB(x.runs.of("sim", data, x.roots, "sampling=distdgl,prefetch=1")), hostMiB(x.runs.of("sim", data, x.roots, "sampling=massivegnn,f=0.5,gamma=0.95,delta=1"))
		memory.Add(name, fmt.Sprintf("%.1f", base), fmt.Sprintf("%.1f", large), fmt.Sprintf("%.1f", large-base), ratio(large, base))
	}
	tables[0].Add("paper, A100", "gat", "best", "", "", "", "15", "60–70")
	tables[1].Add("paper, CPU", "gat", "best", "", "", "", "44–47", "100")
	fill.Add("paper, 4 nodes", "CPU", "", "", "", "", "", "below 1")
	memory.Add("paper, papers100M", "", "", "500", "1.10")
	return append(tables, fill, memory), shares
}
