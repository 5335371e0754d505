package multilevel

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/long"
)

// loose returns a graph of components of these sizes, each of communities of 200 vertices that are joined weakly, and of pairs.
func loose(t *testing.T, pairs int, sizes ...int) *graph.CSR {
	var edges []graph.Edge
	r := random{5}
	first := 0
	join := func(u, v int) { edges = append(edges, graph.Edge{From: int32(u), To: int32(v)}) }
	for _, n := range sizes {
		for v := 1; v < n; v++ {
			group := v / 200 * 200
			for range 4 {
				join(first+v, first+group+r.below(min(200, n-group)))
			}
			if v%5 == 0 {
				// Earlier communities have more neighbours: the last ones are loose ends.
				join(first+v, first+r.below(1+v*2/3))
			}
		}
		first += n
	}
	for range pairs {
		join(first, first+1)
		first += 2
	}
	return must(t)(graph.FromEdges(first, edges))
}

// TestSeeds wants no seed to be an accident: of four, or ten with CAPGNN_LONG=1, the worst cut is near the median.
func TestSeeds(t *testing.T) {
	if underRace {
		t.Skip("takes a minute")
	}
	seeds := 4
	if long.Wanted() {
		seeds = 10
	}
	for _, tc := range []struct {
		name string
		u    *graph.CSR
		most float64
	}{
		{"one component and crumbs", loose(t, 150, 3000), 1.05},
		{"four components and a half", loose(t, 20, 1000, 1000, 1000, 1000, 560), 1.05},
	} {
		var cuts []int64
		for seed := range uint64(seeds) {
			part, err := Partition(t.Context(), tc.u, Options{Parts: 2, Seed: seed + 1})
			if err == nil {
				err = check(part, tc.u.Rows(), 2, []Constraint{{Bound: vertexBounds(even(2), tc.u.Rows()), Hard: true}})
			}
			if err != nil {
				t.Fatal(err)
			}
			cuts = append(cuts, cutSlow(tc.u, part))
		}
		slices.SortFunc(cuts, cmp.Compare)
		t.Logf("%s: cuts %d", tc.name, cuts)
		if median := float64(cuts[seeds/2-1]+cuts[seeds/2]) / 2; float64(cuts[seeds-1]) > tc.most*median {
			t.Errorf("%s: cuts %d, the last is more than %g times the median", tc.name, cuts, tc.most)
		}
	}
}

// TestGrid cuts a grid, in which every vertex has its eight neighbours, into 8 parts. Halves of halves of halves are 2 by 4 rectangles,
// between which lie four lines; cells that do not meet in fours cost less.
func TestGrid(t *testing.T) {
	if underRace {
		t.Skip("takes half a minute")
	}
	const side = 40
	var edges []graph.Edge
	for x := range side {
		for y := range side {
			for _, d := range [][2]int{{1, 0}, {0, 1}, {1, 1}, {1, -1}} {
				if a, b := x+d[0], y+d[1]; a < side && b >= 0 && b < side {
					edges = append(edges, graph.Edge{From: int32(x*side + y), To: int32(a*side + b)})
				}
			}
		}
	}
	u := must(t)(graph.FromEdges(side*side, edges)).Symmetrise()
	rectangles := 4 * (3*side - 2)
	for seed := range uint64(2) {
		part, err := Partition(t.Context(), u, Options{Parts: 8, Seed: seed + 1})
		if err != nil {
			t.Fatal(err)
		}
		cut := int(cutSlow(u, part))
		t.Logf("seed %d: cut %d, rectangles %d", seed+1, cut, rectangles)
		if 100*cut > 98*rectangles {
			t.Errorf("seed %d: cut %d, rectangles have %d", seed+1, cut, rectangles)
		}
	}
}

var (
	seedSets   = flag.String("sets", "", "graphs for BenchmarkSeeds, separated by commas")
	seedParts  = flag.String("parts", "2,4,8,16", "numbers of parts for BenchmarkSeeds")
	seedRange  = flag.String("seeds", "1-10", "first and last seed of BenchmarkSeeds")
	seedVolume = flag.Bool("volume", false, "volumes in place of cuts in BenchmarkSeeds")
	seedEffort = flag.Int("effort", 0, "effort of BenchmarkSeeds")
	seedDump   = flag.String("dump", "", "folder to which BenchmarkSeeds writes METIS files instead")
)

// BenchmarkSeeds prints a line for every graph, number of parts and seed: what docs/bench/peers/cuts.py compares.
func BenchmarkSeeds(b *testing.B) {
	if *seedSets == "" {
		b.Skip("no -sets")
	}
	var first, last int
	if _, err := fmt.Sscanf(*seedRange, "%d-%d", &first, &last); err != nil {
		b.Fatal(err)
	}
	for _, set := range strings.Split(*seedSets, ",") {
		d, err := formats.Load(set, dataset.Options{})
		if err != nil {
			b.Fatal(err)
		}
		u := d.Graph.Symmetrise().WithoutLoops()
		name := strings.TrimSuffix(filepath.Base(set), ".npz")
		if *seedDump != "" {
			writeMETIS(b, filepath.Join(*seedDump, name+".metis"), u)
			continue
		}
		for _, field := range strings.Split(*seedParts, ",") {
			k, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			for seed := first; seed <= last; seed++ {
				printSeed(b, name, u, Options{Parts: k, Seed: uint64(seed), Threads: 2, Effort: *seedEffort})
			}
		}
		d.Close()
	}
}

func printSeed(b *testing.B, name string, u *graph.CSR, o Options) {
	value := cutSlow
	if *seedVolume {
		o.Objective, value = Volume, volumeSlow
	}
	start, used := time.Now(), processor()
	part, err := Partition(b.Context(), u, o)
	if err != nil {
		b.Fatal(err)
	}
	wall := time.Since(start).Seconds()
	fmt.Printf("%s\t%d\t%d\t%d\t%.4f\t%.4f\n", name, o.Parts, o.Seed, value(u, part), wall, processor()-used)
}

// processor returns the processor time of this process, in seconds.
func processor() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}

// writeMETIS writes u in METIS' text format: the numbers of vertices and edges, then each vertex's neighbours, from 1.
func writeMETIS(b *testing.B, file string, u *graph.CSR) {
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, u.Rows(), u.Edges()/2)
	var line []byte
	for v := range u.Rows() {
		line = line[:0]
		for _, x := range u.Row(v) {
			line = append(strconv.AppendInt(line, int64(x)+1, 10), ' ')
		}
		w.Write(append(line, '\n'))
	}
	if err := cmp.Or(w.Flush(), f.Close()); err != nil {
		b.Fatal(err)
	}
}
