package kernel

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"capgnn/gpu/host/workers"
)

// BenchmarkScaling alternates between one thread and all. efficiency is the speed-up per thread, of the medians and of the
// best calls; cpu-efficiency compares processor time instead, which other programs on the machine add little to: what is
// missing there to 1 is waiting for memory and for each other, not for a processor.
func BenchmarkScaling(b *testing.B) {
	for _, s := range gemmBenches {
		b.Run(s.String(), func(b *testing.B) { benchScaling(b, s.product(newOperands(b), gemmBenchRows)) })
	}
	for _, s := range spmmBenches() {
		b.Run(s.String(), func(b *testing.B) {
			call, _ := s.product(newOperands(b))
			benchScaling(b, call)
		})
	}
}

func benchScaling(b *testing.B, call func(p *workers.Pool)) {
	one, all := workers.NewPool(1), workers.NewPool(runtime.GOMAXPROCS(0))
	defer one.Stop()
	defer all.Stop()
	var single, shared, singleCPU, sharedCPU []float64
	timed := func(wall, cpu *[]float64, p *workers.Pool) {
		start, used := time.Now(), processorTime(b)
		call(p)
		*wall = append(*wall, time.Since(start).Seconds())
		*cpu = append(*cpu, processorTime(b)-used)
	}
	call(all)
	for b.Loop() {
		timed(&single, &singleCPU, one)
		timed(&shared, &sharedCPU, all)
	}
	for _, s := range [][]float64{single, shared, singleCPU, sharedCPU} {
		slices.Sort(s)
	}
	median, n := len(single)/2, float64(all.Threads)
	b.ReportMetric(single[median]/shared[median]/n, "efficiency")
	b.ReportMetric(single[0]/shared[0]/n, "best-efficiency")
	b.ReportMetric(singleCPU[median]/sharedCPU[median], "cpu-efficiency")
}

// processorTime returns the seconds that all threads of this process have run.
func processorTime(tb testing.TB) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
