package sample

import (
	"slices"
	"testing"

	"capgnn/gpu"
)

// plainChoice is choose with a list of words and a map.
func plainChoice(word func() uint32, n, k int) []int64 {
	taken := map[int64]bool{}
	m := min(k, n-k)
	for j := n - m; j < n; j++ {
		bound := uint64(j + 1)
		product := uint64(word()) * bound
		for product%(1<<32) < (1<<32)%bound {
			product = uint64(word()) * bound
		}
		if x := int64(product >> 32); !taken[x] {
			taken[x] = true
		} else {
			taken[int64(j)] = true
		}
	}
	var out []int64
	for p := range int64(n) {
		if taken[p] == (m == k) {
			out = append(out, p)
		}
	}
	return out
}

// TestRejectedWords: word 0 is rejected for every bound that does not divide 2³², wherever it comes, and the words behind it are used
// in its place. Among drawn words that is too rare to be seen.
func TestRejectedWords(t *testing.T) {
	var c choice
	for _, n := range []int{3, 10, 33, 63, 64, 65, 100, 200, 600, 4096, 4097, 9000} {
		for _, k := range []int{1, 2, 5, n / 4, n / 2, n - n/3, n - 1} {
			if k < 1 || k >= n {
				continue
			}
			for _, zeros := range [][]int{{}, {0}, {1}, {0, 1, 2, 3, 4, 5, 6}, {drawn(n, k) - 1}} {
				counter, key := [4]uint32{0, 7, drawStream, uint32(n)}, gpu.SeedKey(uint64(k))
				ready := make([]uint32, (drawn(n, k)+3)/4*4)
				gpu.PhiloxWords(ready, counter[1], counter[2], counter[3], key)
				for _, at := range zeros {
					if at < len(ready) {
						ready[at] = 0
					}
				}
				used := 0
				want := plainChoice(func() uint32 {
					used++
					if used <= len(ready) {
						return ready[used-1]
					}
					return gpu.Philox([4]uint32{uint32((used - 1) / 4), counter[1], counter[2], counter[3]}, key)[(used-1)%4]
				}, n, k)
				got := make([]int64, k)
				w := words{counter: counter, key: key, ready: ready}
				c.choose(got, 100, &w, n)
				for i := range got {
					got[i] -= 100
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%d of %d positions, words %d are 0: %d, want %d", k, n, zeros, got, want)
				}
			}
		}
	}
}

// TestPhiloxWords compares with one counter at a time.
func TestPhiloxWords(t *testing.T) {
	key := [2]uint32{1, 2}
	for _, n := range []int{0, 4, 8, 28} {
		got := make([]uint32, n)
		gpu.PhiloxWords(got, 3, 4, 5, key)
		for j, w := range got {
			if want := gpu.Philox([4]uint32{uint32(j / 4), 3, 4, 5}, key)[j%4]; w != want {
				t.Errorf("word %d of %d is %x, want %x", j, n, w, want)
			}
		}
	}
}
