package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gpu"
)

// TestPhiloxKnown checks the generator with the known answers of Random123.
func TestPhiloxKnown(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := gpu.Philox(c.counter, c.key); got != c.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

// TestDropoutKeepWords finds out the words that the kernels draw for counter 0, key 0: an element is kept at a threshold
// equal to its word and dropped at the next one.
func TestDropoutKeepWords(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for j, word := range []uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8} {
			for above := range uint32(2) {
				var dst [1]uint32
				DropoutKeep(dst[:], 4, 0, 0, 0, [2]uint32{}, word+above)
				if got := dst[0] >> j & 1; got != 1-above {
					t.Errorf("word %d at threshold %x: bit %d", j, word+above, got)
				}
			}
		}
	})
}

// TestDropoutKeep compares the keep bits of every width with their definition; nothing else is written.
func TestDropoutKeep(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(10, 11))
		for cols := range 300 {
			id, layer, epoch := r.Uint32(), r.Uint32(), r.Uint32()
			key := [2]uint32{r.Uint32(), r.Uint32()}
			threshold := []uint32{0, 1, r.Uint32(), 1 << 31, 0xffffffff}[r.IntN(5)]
			want := make([]uint32, (cols+31)/32)
			for j := range cols {
				words := gpu.Philox([4]uint32{uint32(j / 4), id, layer, epoch}, key)
				if words[j%4] >= threshold {
					want[j/32] |= 1 << (j % 32)
				}
			}
			got := guarded[uint32](t, len(want))
			for i := range got {
				got[i] = r.Uint32()
			}
			faults(t, "dropoutKeep", func() { DropoutKeep(got, cols, id, layer, epoch, key, threshold) })
			if !slices.Equal(got, want) {
				t.Fatalf("%d columns, threshold %x: %x, want %x", cols, threshold, got, want)
			}
			long := append(slices.Clone(want), 7)
			DropoutKeep(long, cols, id, layer, epoch, key, threshold)
			if long[len(want)] != 7 {
				t.Fatalf("%d columns: the word behind the mask is overwritten", cols)
			}
		}
	})
}

func BenchmarkDropoutKeep(b *testing.B) {
	defer func(l Level) { Active = l }(Active)
	for l := generic; l <= detect(); l++ {
		Active = l
		b.Run(l.String(), func(b *testing.B) {
			var dst [8]uint32
			for b.Loop() {
				DropoutKeep(dst[:], 256, 1, 2, 3, [2]uint32{4, 5}, 1<<31)
			}
			b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melements/s")
		})
	}
}
