package rowcache

import (
	"math/rand/v2"
	"testing"

	"capgnn/graph"
	"capgnn/hostmem"
)

// skewed is a trace of steps that read rows of n vertices, each once, some of them much more often than others.
func skewed(steps, rows, n int) trace {
	r := rand.New(rand.NewPCG(12, 1))
	z := rand.NewZipf(r, 1.1, float64(n)/20, uint64(n-1))
	place := r.Perm(n)
	stamp := make([]int, n)
	tr := make(trace, steps)
	for t := range tr {
		for len(tr[t]) < rows {
			if v := place[z.Uint64()]; stamp[v] != t+1 {
				stamp[v] = t + 1
				tr[t] = append(tr[t], graph.NodeID(v))
			}
		}
	}
	return tr
}

// BenchmarkDecide has steps of 7,000 rows of a million vertices, as a part of products-like:0.4 reads them of three others, and as many slots as three steps.
func BenchmarkDecide(b *testing.B) {
	const rows, n, epoch = 7000, 1 << 20, 40
	tr := skewed(4*epoch, rows, n)
	w := World{Vertices: n, Remote: n, Steps: epoch, Degree: func(v graph.NodeID) int { return int(v) }, Ahead: func(step int) ([]graph.NodeID, bool) { return tr[step%len(tr)], true }}
	for v := range graph.NodeID(n) {
		w.Halo = append(w.Halo, v)
	}
	for _, rules := range []Rules{{}, {Kind: Planned}, {Kind: Planned, Lookahead: 8}, {Kind: Rapid}, {Kind: Rapid, Pull: true}, {Kind: Massive}, {Kind: Massive, Delta: 8}} {
		name := rules.Kind.String()
		switch {
		case rules.Lookahead > 0 || rules.Delta > 0:
			name += "-8"
		case rules.Pull:
			name += "-pull"
		}
		b.Run(name, func(b *testing.B) {
			p := New(rules, 3*rows, w)
			var d Decision
			step, hits := 0, 0
			for ; step < epoch; step++ {
				p.Decide(Step{step, tr[step]}, &d)
			}
			start := hostmem.ProcessorTime()
			for b.Loop() {
				p.Decide(Step{step, tr[step%len(tr)]}, &d)
				hits += rows - len(d.Fetch)
				step++
			}
			b.ReportMetric(float64((hostmem.ProcessorTime()-start).Nanoseconds())/float64(b.N)/rows, "cpu-ns/row")
			b.ReportMetric(100*float64(hits)/float64(b.N)/rows, "hit%")
		})
	}
}
