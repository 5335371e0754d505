package experiments

import (
	"slices"
	"testing"

	"capgnn/internal/bench"
)

// Tables of timed runs ask for each run once, and are made of its line: RapidGNN's way has the scores and weights of DistDGL's, its cache takes memory, and simulated epochs have no stages of the host.
func TestTimedRuns(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	b, _ := quiet(Options{Quick: true, Seeds: []uint64{1}, Epochs: 2})
	h := &hottest{b: b, datasets: []string{"flickr-like:0.01"}, timed: []int{20}, sizes: []float64{1}, runs: timedRuns{Bench: b}}
	h.times()
	h.times()
	if n := len(h.runs.asked); n != len(kinds)*len(rapidWays)+len(h.sizes) {
		t.Fatalf("%d runs are asked for", n)
	}
	var err error
	if b.journal, err = bench.Open(t.TempDir() + "/cells.jsonl"); err != nil {
		t.Fatal(err)
	}
	for _, c := range h.runs.asked {
		l, err := c.measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.Cell = c.id
		if err := b.journal.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	h.runs.measured = true
	at := func(kind string, way int) *bench.Line { return h.runs.of(kind, h.datasets[0], 20, rapidOptions[way]) }
	if l := at("sim", 0); len(l.Series["fetch"]) != 2 || behind(l, "fetch") <= 0 || l.Value("epoch_s") <= behind(l, "fetch") || l.Series["sample"] != nil {
		t.Errorf("simulated: %v", l)
	}
	if l := at("real", 0); behind(l, "sample") <= 0 || behind(l, stages...) < behind(l, "sample")+behind(l, "compute") || l.Value("train") <= 0 {
		t.Errorf("real: %v", l)
	}
	if demand, kept := at("sim", 0), h.runs.of("sim", h.datasets[0], 20, "sampling=rapidgnn,cache=100%"); hostMiB(kept) <= hostMiB(demand) || behind(kept, "rows") >= behind(demand, "rows") {
		t.Errorf("a cache: %v MiB for %v, %v rows for %v", hostMiB(kept), hostMiB(demand), behind(kept, "rows"), behind(demand, "rows"))
	}
	tables, figures := h.times()
	scores := tables[len(tables)-1].Rows
	if len(scores) != 2 || !slices.Equal(scores[0][3:], scores[1][3:]) || scores[0][5][8:] != " =" {
		t.Errorf("scores by epoch: %q", scores)
	}
	for _, f := range figures {
		if len(f.Panels) != 1 || len(f.Panels[0].Series) == 0 || len(f.Panels[0].Series[0].Y) == 0 {
			t.Errorf("%s: %+v", f.Title, f.Panels)
		}
	}
	if other := at("real", 1); other.Text["weights"] == at("real", 0).Text["weights"] {
		t.Error("another cut has other roots, but equal weights")
	}
}

// A batch beyond an eighth of the training vertices is drawn, and named in tables, as that eighth.
func TestNamedBatch(t *testing.T) {
	l := newLine()
	l.Values["roots"] = 4000
	for batch, want := range map[int]string{100: "100", 250: "250", 3000: "250"} {
		if got := (traced{dataset: "x", parts: 2, batch: 2 * batch}).named(l)[2]; got != want {
			t.Errorf("a batch of %d of 4000 is named %s, not %s", batch, got, want)
		}
	}
}
