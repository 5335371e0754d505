package kernel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"capgnn/gpu/host/workers"
	"capgnn/hostmem"
)

// Sizes in bytes of what the machine's rates are measured on: within L2, within L3, far beyond both.
const (
	inL2   = 512 << 10
	inL3   = 16 << 20
	inDRAM = 512 << 20
)

// gauge times single calls. Benchmarks report the median and the best of them: other programs share the machine.
type gauge struct {
	*testing.B
	seconds []float64 // sorted
}

func measure(b *testing.B, f func()) gauge {
	f()
	g := gauge{B: b}
	for b.Loop() {
		start := time.Now()
		f()
		g.seconds = append(g.seconds, time.Since(start).Seconds())
	}
	slices.Sort(g.seconds)
	return g
}

// rate reports work per second, in units of size.
func (g gauge) rate(unit string, work, size float64) {
	g.ReportMetric(work/g.median()/size, unit)
	g.ReportMetric(work/g.seconds[0]/size, "best-"+unit)
}

// share reports work per second in percent of a limit, 0 being an unknown one.
func (g gauge) share(unit string, work, limit float64) {
	if limit > 0 {
		g.ReportMetric(100*work/g.median()/limit, unit)
		g.ReportMetric(100*work/g.seconds[0]/limit, "best-"+unit)
	}
}

func (g gauge) median() float64 { return g.seconds[len(g.seconds)/2] }

// onPools runs f with one thread and with all.
func onPools(b *testing.B, f func(b *testing.B, p *workers.Pool)) {
	threads := slices.Compact([]int{1, runtime.GOMAXPROCS(0)})
	for _, n := range threads {
		b.Run(fmt.Sprintf("threads=%d", n), func(b *testing.B) {
			p := workers.NewPool(n)
			defer p.Stop()
			f(b, p)
		})
	}
}

// onLevels runs f for every instruction set of the machine, and for the portable kernels.
func onLevels(b *testing.B, f func(b *testing.B)) {
	defer func(l Level) { Active = l }(Active)
	for l := detect(); ; l-- {
		Active = l
		b.Run(l.String(), f)
		if l == generic {
			return
		}
	}
}

// BenchmarkLimits reports the rates of the machine, in GF/s and GB/s.
func BenchmarkLimits(b *testing.B) {
	v := newOperands(b).floats(inDRAM / 4)
	onPools(b, func(b *testing.B, p *workers.Pool) {
		for b.Loop() {
			b.ReportMetric(fmaPeak(p)/1e9, "GF/s")
			b.ReportMetric(streamRate(p, v)/1e9, "read-GB/s")
			b.ReportMetric(gatherRate(p, v[:inL2/4])/1e9, "L2-GB/s")
			b.ReportMetric(gatherRate(p, v[:inL3/4])/1e9, "L3-GB/s")
			b.ReportMetric(gatherRate(p, v)/1e9, "DRAM-GB/s")
		}
	})
}

// operands are made in memory such as devices have.
type operands struct {
	tb    testing.TB
	arena *hostmem.Arena
	rng   *rand.Rand
}

func newOperands(tb testing.TB) *operands {
	o := &operands{tb, hostmem.NewArena("bench", 4<<30), rand.New(rand.NewPCG(5, 6))}
	tb.Cleanup(o.arena.Close)
	return o
}

// bytes returns n bytes in any state.
func (o *operands) bytes(n int) []byte {
	b, err := o.arena.Alloc(int64(n), "operand")
	if err != nil {
		o.tb.Fatal(err)
	}
	return b.Bytes()
}

// floats returns n random numbers.
func (o *operands) floats(n int) []float32 {
	v := hostmem.Of[float32](o.bytes(4 * n))
	for i := range v {
		v[i] = o.rng.Float32() - 0.5
	}
	return v
}

// dense returns a matrix of random numbers.
func (o *operands) dense(rows, cols int) Dense { return Dense{o.floats(rows * cols), rows, cols, cols} }

// gemmBench is a product X·W (NN), X·Wᵀ (NT) or Xᵀ·G (TN) of X with in columns and W or G with out columns.
type gemmBench struct {
	mode    string
	in, out int
}

var gemmBenches = []gemmBench{
	{"NN", 602, 256}, {"NN", 256, 256}, {"NN", 256, 47}, {"NN", 256, 41}, {"NN", 256, 100},
	{"NN", 100, 256}, {"NN", 256, 16}, {"NN", 256, 5},
	{"NT", 602, 256}, {"NT", 256, 256}, {"NT", 256, 41}, {"NT", 41, 256},
	{"TN", 602, 256}, {"TN", 256, 256}, {"TN", 256, 47}, {"TN", 256, 41}, {"TN", 100, 256}, {"TN", 256, 16}, {"TN", 256, 5},
	{"NT", 602, 64}, {"TN", 64, 602}, {"TN", 256, 602}, {"TN", 41, 256}, // of sampled steps, weight gradients as layers ask for them
}

func (s gemmBench) String() string { return fmt.Sprintf("%s/%dx%d", s.mode, s.in, s.out) }

func (s gemmBench) flops(rows int) float64 { return 2 * float64(rows) * float64(s.in) * float64(s.out) }

// product returns the call to be measured.
func (s gemmBench) product(o *operands, rows int) func(p *workers.Pool) {
	sc := &Scratch{}
	x, y := o.dense(rows, s.in), o.dense(rows, s.out)
	switch w := o.dense(s.in, s.out); s.mode {
	case "NN":
		return func(p *workers.Pool) { gemm(p, sc, y, x, w, false, false, 0) }
	case "TN":
		return func(p *workers.Pool) { gemm(p, sc, w, x, y, true, false, 0) }
	}
	w := o.dense(s.out, s.in)
	return func(p *workers.Pool) { gemm(p, sc, y, x, w, false, true, 0) }
}

// gemmBenchRows is about a partition's vertices: activations of 256 columns are three times the L3 cache.
const gemmBenchRows = 100_000

func BenchmarkGemm(b *testing.B) {
	onLevels(b, func(b *testing.B) {
		for _, s := range gemmBenches {
			rows := gemmBenchRows
			if Active == generic {
				rows /= 50
			}
			b.Run(s.String(), func(b *testing.B) {
				call := s.product(newOperands(b), rows)
				onPools(b, func(b *testing.B, p *workers.Pool) {
					g := measure(b, func() { call(p) })
					g.rate("GF/s", s.flops(rows), 1e9)
					g.share("%peak", s.flops(rows), fmaPeak(p))
				})
			})
		}
	})
}

// spmmBench is a product with a graph's adjacency.
type spmmBench struct {
	graph string
	cols  int
	kind  string // sum, weighted, bf16
}

// product returns the call to be measured, and the number of entries.
func (s spmmBench) product(o *operands) (func(p *workers.Pool), float64) {
	a := placed(o, benchGraph(s.graph))
	x, y := o.dense(a.Cols, s.cols), o.dense(a.Rows, s.cols)
	var x16 Dense16
	switch s.kind {
	case "weighted":
		a.Val = o.floats(len(a.Idx))
	case "bf16":
		x16 = Dense16{hostmem.Of[uint16](o.bytes(2 * a.Cols * s.cols)), a.Cols, s.cols, s.cols}
		toBF16(x16.V, x.V)
		x = Dense{}
	}
	sc := &Scratch{}
	return func(p *workers.Pool) { SpMM(p, sc, y, a, x, x16, nil, nil, false, nil) }, float64(a.Entries)
}

func spmmBenches() []spmmBench {
	benches := []spmmBench{{"features", 256, "weighted"}, {"features-transposed", 256, "weighted"}}
	for _, graph := range []string{"clustered", "shuffled", "rmat"} {
		for _, cols := range []int{256, 128, 64, 41} {
			for _, kind := range []string{"sum", "weighted", "bf16"} {
				benches = append(benches, spmmBench{graph, cols, kind})
			}
		}
	}
	return benches
}

func (s spmmBench) String() string { return fmt.Sprintf("%s/%s/%d", s.graph, s.kind, s.cols) }

// bytes returns the bytes of the rows that an entry adds.
func (s spmmBench) bytes() float64 {
	if s.kind == "bf16" {
		return 2 * float64(s.cols)
	}
	return 4 * float64(s.cols)
}

func BenchmarkSpMM(b *testing.B) {
	limit := newOperands(b).floats(inDRAM / 4)
	onLevels(b, func(b *testing.B) {
		for _, s := range spmmBenches() {
			b.Run(s.String(), func(b *testing.B) {
				call, entries := s.product(newOperands(b))
				onPools(b, func(b *testing.B, p *workers.Pool) { benchSpMM(b, p, s, entries, call, limit) })
			})
		}
	})
}

func benchSpMM(b *testing.B, p *workers.Pool, s spmmBench, entries float64, call func(*workers.Pool), limit []float32) {
	g := measure(b, func() { call(p) })
	g.rate("Medges/s", entries, 1e6)
	g.rate("GB/s", entries*s.bytes(), 1e9)
	g.share("%L3", entries*s.bytes(), gatherRate(p, limit[:inL3/4]))
	g.share("%read", entries*s.bytes(), streamRate(p, limit))
}
