package reduce

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"capgnn/gnn"
)

// The norm and the gradient that is left are those of torch.nn.utils.clip_grad_norm_, on one device and on several.
func TestClippingOfPyTorch(t *testing.T) {
	data, err := os.ReadFile("../testdata/training.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Clips []struct {
			Gradient, Clipped []float32
			Most, Norm        float64
		}
	}
	if err := json.Unmarshal(data, &all); err != nil || len(all.Clips) < 3 {
		t.Fatalf("%d cases, %v", len(all.Clips), err)
	}
	for i, c := range all.Clips {
		if c.Most == 0 { // says that nothing is clipped, which torch's 0 does not
			continue
		}
		n := len(c.Gradient)
		for _, devices := range [][]int{{0}, {0, 1}, {0, 0, 1}} {
			s := scene{devices, "peer", [][]gnn.Range{{{Lo: 0, Hi: 16}}, {{Lo: 16, Hi: n}}}, gnn.Optimizer{Kind: gnn.SGD, LR: 1, Clip: c.Most}}
			grads := [][]float32{c.Gradient}
			for range devices[1:] {
				grads = append(grads, make([]float32, n))
			}
			x := newRank(t, s, Rank{}, make([]float32, n), grads)
			r := New(x.hub, x.parts, x.division)
			if err := x.epoch(r, nobody, -1); err != nil {
				t.Fatal(err)
			}
			norm, steps := r.TakeNorms()
			if math.Abs(norm-c.Norm) > 1e-6*c.Norm || steps != 1 {
				t.Errorf("case %d: norm %v of %d steps, want %v", i, norm, steps, c.Norm)
			}
			if again, steps := r.TakeNorms(); again != 0 || steps != 0 {
				t.Errorf("case %d: taken twice: %v of %d", i, again, steps)
			}
			for k, w := range x.weights(t, 0) {
				if math.Abs(float64(w+c.Clipped[k])) > 1e-6 {
					t.Errorf("case %d: gradient %d is %v, want %v", i, k, -w, c.Clipped[k])
				}
			}
		}
	}
}

// Of a norm of 1e-6, torch's divisor is twice that.
func TestClippingOfSmallNorms(t *testing.T) {
	const small = 1e-6
	x := newRank(t, scene{[]int{0}, "peer", [][]gnn.Range{{{Lo: 0, Hi: 1}}}, gnn.Optimizer{Kind: gnn.SGD, LR: 1, Clip: small}}, Rank{}, []float32{0}, [][]float32{{small}})
	if err := x.epoch(New(x.hub, x.parts, x.division), nobody, -1); err != nil {
		t.Fatal(err)
	}
	if w := x.weights(t, 0); math.Abs(float64(w[0])+small/2) > 1e-6*small {
		t.Errorf("the weight becomes %g, want %g", w[0], -small/2)
	}
}

// Slices of any devices and ranks are whole blocks, which depend on the layers alone, and every block is somebody's.
func TestBlocksStayWhole(t *testing.T) {
	layers := [][]gnn.Range{{{Lo: 0, Hi: 5*normBlock + 48}, {Lo: 5*normBlock + 64, Hi: 6 * normBlock}}, {{Lo: 5*normBlock + 48, Hi: 5*normBlock + 64}}, {{Lo: 6 * normBlock, Hi: 17*normBlock + 16}}}
	want := blocksOf(layers)
	for devices := 1; devices <= 9; devices++ {
		for _, at := range []Rank{{}, {Index: 1, Count: 2}, {Index: 0, Count: 3}} {
			at.Clips = true
			d := DivideRank(layers, apart(devices), at)
			seen := make([]int, len(want))
			for _, own := range d.pieces {
				for i := range own {
					x := &own[i]
					lo, hi := d.blocksIn(x)
					if lo == hi || want[lo].Lo != x.Lo || want[hi-1].Hi != x.Hi {
						t.Errorf("%d devices: piece %v is not blocks %d to %d", devices, x.Range, lo, hi)
						continue
					}
					for b := lo; b < hi; b++ {
						seen[b]++
					}
				}
			}
			if slices.ContainsFunc(seen, func(n int) bool { return n != 1 }) || !slices.Equal(d.blocks, want) {
				t.Errorf("%d devices, %+v: blocks are there %v times", devices, at, seen)
			}
		}
	}
}
