package rapa

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/published"
	"capgnn/rapa/multilevel"
)

var (
	tableSets = flag.String("sets", "", "stores to tabulate in place of the published graphs, separated by commas")
	tableBy   = flag.String("objectives", "cut,volume", "objectives to tabulate")
	tableFor  = flag.String("parts", "2,4,8,16", "numbers of parts to tabulate")
)

// outcome is what one run of a partitioner gives.
type outcome struct {
	cut, volume int64
	seconds     float64
}

// BenchmarkTable prints the tables of docs/bench/partition.md; it needs gpmetis in PATH. It compares Multilevel with gpmetis, by medians over seeds 1 to 3, and shows Streaming and Random beside them (one seed).
// Runs alternate, so that both see the same load. Times are from the graph in memory to the parts: gpmetis' own "Partitioning"
// line, which is processor time of its one thread, and our wall time on all processors.
func BenchmarkTable(t *testing.B) {
	sets := strings.Split(*tableSets, ",")
	if *tableSets == "" {
		sets = nil
		for _, name := range []string{"coauthor_physics", "coauthor_cs", "amazon_photo", "ppi", "heterophilous/tolokers.npz", "web_notredame"} {
			sets = append(sets, published.Path(t, filepath.FromSlash(name)))
		}
	}
	for _, objective := range strings.Split(*tableBy, ",") {
		fmt.Printf("\n| graph | parts | gpmetis %s | ours | ratio | streaming | random | gpmetis s | ours s | ratio |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n", objective)
		sum, count := 0.0, 0
		for _, set := range sets {
			for _, ratio := range tabulate(t, set, Objective(objective)) {
				sum += math.Log(ratio)
				count++
			}
		}
		fmt.Printf("\ngeometric mean of the ratios (%s): %.3f\n", objective, math.Exp(sum/float64(count)))
	}
}

// tabulate prints the rows of one graph and returns the ratios.
func tabulate(t testing.TB, set string, objective Objective) (ratios []float64) {
	d, err := formats.Load(set, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	u := d.Graph.Symmetrise().WithoutLoops()
	file := filepath.Join(t.TempDir(), "graph.metis")
	writeMETIS(t, file, u)
	value := func(o outcome) int64 {
		if objective == Volume {
			return o.volume
		}
		return o.cut
	}
	for _, field := range strings.Split(*tableFor, ",") {
		k, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		var theirs, ours []outcome
		for seed := range 3 {
			theirs = append(theirs, runMETIS(t, file, k, seed+1, objective))
			ours = append(ours, runOurs(t, u, k, seed+1, objective))
		}
		median := func(all []outcome, of func(outcome) float64) float64 {
			x := make([]float64, len(all))
			for i, o := range all {
				x[i] = of(o)
			}
			slices.SortFunc(x, cmp.Compare)
			return x[len(x)/2]
		}
		worth := func(o outcome) float64 { return float64(value(o)) }
		seconds := func(o outcome) float64 { return o.seconds }
		others := [2]int64{}
		for i, method := range []Method{Streaming, Random} {
			p, err := Partition(t.Context(), u, nil, Options{Method: method, Parts: k, Seed: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			others[i] = value(outcome{cut: p.EdgeCut, volume: p.Volume})
		}
		a, b := median(theirs, worth), median(ours, worth)
		ta, tb := median(theirs, seconds), median(ours, seconds)
		ratios = append(ratios, b/a)
		fmt.Printf("| %s | %d | %.0f | %.0f | %.3f | %d | %d | %.3f | %.3f | %.2f |\n", filepath.Base(set), k, a, b, b/a, others[0], others[1], ta, tb, tb/ta)
	}
	return ratios
}

func runOurs(t testing.TB, u *graph.CSR, k, seed int, objective Objective) outcome {
	opt := multilevel.Options{Parts: k, Seed: uint64(seed)}
	if objective == Volume {
		opt.Objective = multilevel.Volume
	}
	start := time.Now()
	part, err := multilevel.Partition(t.Context(), u, opt)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{seconds: time.Since(start).Seconds()}
	o.cut, o.volume = borders(u, part, k)
	return o
}

var (
	metisCounts  = regexp.MustCompile(`Edgecut: (\d+), communication volume: (\d+)`)
	metisSeconds = regexp.MustCompile(`Partitioning:\s+([0-9.]+)`)
)

func runMETIS(t testing.TB, file string, k, seed int, objective Objective) (o outcome) {
	kind := map[Objective]string{Cut: "cut", Volume: "vol"}[objective]
	out, err := exec.CommandContext(t.Context(), "gpmetis", "-objtype="+kind, fmt.Sprintf("-seed=%d", seed), "-nooutput", file, strconv.Itoa(k)).Output()
	if err != nil {
		t.Fatalf("gpmetis: %v", err)
	}
	counts, seconds := metisCounts.FindSubmatch(out), metisSeconds.FindSubmatch(out)
	if counts == nil || seconds == nil {
		t.Fatalf("gpmetis prints %s", out)
	}
	o.cut, _ = strconv.ParseInt(string(counts[1]), 10, 64)
	o.volume, _ = strconv.ParseInt(string(counts[2]), 10, 64)
	o.seconds, _ = strconv.ParseFloat(string(seconds[1]), 64)
	return o
}

// writeMETIS writes u in METIS' text format: the numbers of vertices and edges, then each vertex's neighbours, from 1.
func writeMETIS(t testing.TB, file string, u *graph.CSR) {
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, u.Rows(), u.Edges()/2)
	var line []byte
	for v := range u.Rows() {
		line = line[:0]
		for _, x := range u.Row(v) {
			line = strconv.AppendInt(line, int64(x)+1, 10)
			line = append(line, ' ')
		}
		w.Write(append(line, '\n'))
	}
	if err := cmp.Or(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
