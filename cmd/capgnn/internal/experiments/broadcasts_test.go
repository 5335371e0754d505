package experiments

import "testing"

// 3 vertices in 2 parts, 7 features, hidden 5 twice, 2 classes: forward 7 + 5 + 5 columns, backward 5 + 5 + 2, weights 35 + 25 + 10.
func TestBroadcastBytes(t *testing.T) {
	widths := []int{7, 5, 5, 2}
	for _, c := range []struct {
		system        string
		parts, epochs int
		want          float64
	}{
		{distGCN, 2, 200, 4 * (3*29 + 2*70)},
		{distGCN, 4, 200, 3 * 4 * (3*29 + 2*70)}, // three parts receive each block, and 3/2 of the weights go round each of four
		{distGCN, 1, 200, 0},
		{cachedGCN, 2, 1, 4 * (3*29 + 2*70)},
		{cachedGCN, 2, 51, 4 * (3*(7.0/51+10+12) + 2*70)},
		{cachedGCN, 2, 52, 4 * (3*(7.0/52+10*51.0/52+12) + 2*70)}, // the 52nd epoch takes hidden rows from the cache
		{cachedGCN, 2, 53, 4 * (3*(7.0/53+10*52.0/53+12) + 2*70)},
		{cachedGCN, 2, 200, 4 * (3*(7.0/200+10*125.0/200+12) + 2*70)},
	} {
		if got := broadcastBytes(c.system, 3, c.parts, c.epochs, widths); got < c.want*(1-1e-12) || got > c.want*(1+1e-12) {
			t.Errorf("%s, %d parts, %d epochs: %v bytes an epoch, want %v", c.system, c.parts, c.epochs, got, c.want)
		}
	}
}
