package pipeline

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
	"capgnn/rapa"
)

const gib = 1 << 30

// overheadCase is a cache that epochs with it are compared by to epochs without.
type overheadCase struct {
	name          string
	noPeer        bool
	local, global jaca.Size
	bound         int
}

// overheadCases are those at staleness 0, where the cache moves the rows that move without it too, and those at staleness 4 by
// size of both caches.
func overheadCases() []overheadCase {
	all, none := jaca.Percent(100), jaca.Rows(0)
	list := []overheadCase{
		{"s=0/peer/local", false, all, none, 0},
		{"s=0/host/default", true, jaca.Size{}, jaca.Size{}, 0},
		{"s=0/host/local", true, all, none, 0},
		{"s=0/host/global", true, none, all, 0},
	}
	for _, route := range []string{"peer", "host"} {
		for _, share := range []float64{1, 5, 10, 20, 40, 70, 100} {
			size := jaca.Percent(share)
			list = append(list, overheadCase{fmt.Sprintf("s=4/%s/%g%%", route, share), route == "host", size, size, 4})
		}
	}
	return list
}

// BenchmarkOverhead is an epoch of two one-thread devices with emulated links with caches, as a share of one without, in turn,
// five epochs (a period at staleness 4) at a time; and what of it schedules and versions are looked up in, and rows packed.
func BenchmarkOverhead(b *testing.B) {
	for _, data := range []string{"heterophilous/tolokers.npz", "ppi"} {
		for _, rate := range []float64{1, 8} {
			for _, c := range overheadCases() {
				b.Run(fmt.Sprintf("%s/%gGiB/%s", data, rate, c.name), func(b *testing.B) { benchOverhead(b, data, rate*gib, c) })
			}
		}
	}
}

func benchOverhead(b *testing.B, data string, rate float64, c overheadCase) {
	p, m := publishedProblem(b, data, named.GCN)
	plan, err := rapa.Partition(context.Background(), p.Graph, p.Train, rapa.Options{Method: "multilevel", Parts: 2, Seed: 1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	set := func(cache halo.Options) *Trainer {
		cache.NoPeer = c.noPeer
		return newTrainer(b, p, m, linked(b, rate), plan.Part, func(o *Options) { o.Epochs, o.Cache = 1<<20, cache })
	}
	without := set(halo.Options{})
	with := set(halo.Options{Policy: jaca.JACA, Local: c.local, Global: c.global, Staleness: c.bound})
	epochs(b, without, 2)
	epochs(b, with, 2)
	for b.Loop() {
		var ratios []float64
		var x, y phases
		for range 9 {
			x, y = epochs(b, without, 5), epochs(b, with, 5)
			ratios = append(ratios, float64(y.epoch)/float64(x.epoch))
		}
		slices.Sort(ratios)
		b.Logf("without %v (pick %v), with %v (pick %v, check %v); ratios %.3f", x.epoch, x.pick, y.epoch, y.pick, y.check, ratios)
		b.ReportMetric(ratios[len(ratios)/2], "with/without")
		b.ReportMetric(100*float64(y.pick-x.pick)/float64(y.epoch), "added-pick-%")
		b.ReportMetric(100*float64(y.check)/float64(y.epoch), "check-%")
	}
	b.ReportMetric(0, "ns/op")
}
