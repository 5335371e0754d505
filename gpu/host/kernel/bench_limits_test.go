//go:build amd64 && !noasm

package kernel

import (
	"math/rand/v2"
	"time"

	"capgnn/gpu/host/workers"
)

// Rates of the machine that kernels are compared with, each the best of some short runs on the pool's threads; 0 where there
// is no assembly to measure them with.

// fmaPeak returns the float32 operations per second of independent multiply-adds on registers.
func fmaPeak(p *workers.Pool) float64 {
	loop, flops := limitFMA512, 24*16*2
	switch Active {
	case generic:
		return 0
	case avx2:
		loop, flops = limitFMA256, 12*8*2
	}
	const rounds, items = 8 << 10, 64
	return items * rounds * float64(flops) / best(100, func() { p.Each(items, func(_, _ int) { loop(rounds) }) })
}

// streamRate returns the bytes per second of reading v, which should be much larger than every cache, in order.
func streamRate(p *workers.Pool, v []float32) float64 {
	loop := limitStream512
	switch Active {
	case generic:
		return 0
	case avx2:
		loop = limitStream256
	}
	const item, items = 1 << 20 / 4, 16
	rate, at := 0.0, len(v)/2 // the beginning may still be in a cache
	for range 4 * len(v) / (item * items) {
		if at+item*items > len(v) {
			at = 0
		}
		t := best(1, func() { p.Each(items, func(_, i int) { loop(&v[at+i*item], item*4/1024) }) })
		rate = max(rate, items*item*4/t)
		at += items * item
	}
	return rate
}

// gatherRate returns the bytes per second of reading rows of 1 KiB of v in random order, at the best prefetch distance.
func gatherRate(p *workers.Pool, v []float32) float64 {
	loop := limitGather512
	switch Active {
	case generic:
		return 0
	case avx2:
		loop = limitGather256
	}
	const item, items, most = 4096, 32, 32
	idx := make([]int32, item*items+most)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range idx {
		idx[i] = r.Int32N(int32(len(v) / 256))
	}
	rate := 0.0
	for _, ahead := range []int{0, 2, 4, 8, 16, most} {
		t := best(10, func() { p.Each(items, func(_, i int) { loop(&v[0], &idx[i*item], item, ahead) }) })
		rate = max(rate, items*item*1024/t)
	}
	return rate
}

// best returns the seconds of the fastest of n calls.
func best(n int, f func()) float64 {
	fastest := time.Duration(1 << 62)
	for range n {
		start := time.Now()
		f()
		fastest = min(fastest, time.Since(start))
	}
	return fastest.Seconds()
}
