package reduce

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/cluster/tcp"
	"capgnn/gnn"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// The time in which ranks on machines of scripts/netlab sum gradients of 16 MiB and have new weights, one part each, against that of a
// chain whose busiest port is never idle (docs/bench/cluster.md). CAPGNN_RATE is what a link carries in bits per second:
//
//	go test -c -o /var/tmp/reduce.test ./reduce
//	CAPGNN_RATE=1e9 scripts/netlab -n 4 -rate 1gbit -- /var/tmp/reduce.test -test.v -test.run TestSyncOfMachines
func TestSyncOfMachines(t *testing.T) {
	const elements, epochs = 4 << 20, 9
	rate, _ := strconv.ParseFloat(os.Getenv("CAPGNN_RATE"), 64)
	place, err := cluster.Find(cluster.Flags{}, os.LookupEnv)
	if err != nil || place.Ranks < 2 || rate <= 0 {
		t.Skipf("one machine (%v), or CAPGNN_RATE is not set: scripts/netlab makes several", err)
	}
	for _, plain := range []bool{true, false} {
		g, err := tcp.Join(t.Context(), tcp.Options{Rank: place.Rank, Ranks: place.Ranks, Master: place.Master, Secret: bytes.Repeat([]byte("s"), 32), Plain: plain})
		if err != nil {
			t.Fatal(err)
		}
		var list []cluster.Area
		for k := range g.Ranks() - 1 {
			list = append(list, cluster.Area{From: k, To: k + 1, Number: gradientArea, Bytes: 4 * elements}, cluster.Area{From: k + 1, To: k, Number: weightArea, Bytes: 4 * elements})
		}
		if err := g.Announce(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var layers [][]gnn.Range
		for lo := 0; lo < elements; lo += elements / 4 {
			layers = append(layers, []gnn.Range{{Lo: lo, Hi: lo + elements/4}})
		}
		start, grads := draw(elements, g.Ranks())
		x := newRank(t, scene{[]int{0}, routes[0], layers, rules[0]}, Rank{Index: g.Rank(), Count: g.Ranks(), First: g.Rank()}, start, grads[g.Rank():][:1])
		r := New(x.hub, x.parts, x.division)
		r.Join(link.Over(g, x.hub), gradientArea, weightArea, func(mem []byte) []byte { return mem })
		var took []float64
		for epoch := range epochs + 1 { // the first warms up
			took = append(took, x.sync(t, g, r, epoch).Seconds())
		}
		meetAll(t, g) // weights are on their way to other ranks until then
		took = took[1:]
		slices.Sort(took)
		// A frame of Ethernet has 1448 bytes of ours, and tc counts 1514. A rank between two others sends sums to the one and weights to the
		// other through one port.
		most, through := float64(4*most), float64(4*elements)
		if g.Ranks() > 2 {
			through *= 2
		}
		chain := (through + float64(2*g.Ranks()-3)*most) / (rate / 8 * 1448 / 1514)
		for _, to := range []int{g.Rank() - 1, g.Rank() + 1} {
			if x := g.Traffic(); to >= 0 && to < g.Ranks() && (x[to].Sent != (epochs+1)*4*elements || float64(x[to].SentFrames) > 1.01*float64(x[to].Sent)) {
				t.Errorf("to rank %d went %d bytes in frames of %d, want %d", to, x[to].Sent, x[to].SentFrames, (epochs+1)*4*elements)
			}
		}
		if g.Rank() == 0 {
			t.Logf("plain=%v, %d ranks: %.1f ms, median of %d from %.1f to %.1f; a chain without pauses takes %.1f: %.2f times as long",
				plain, g.Ranks(), took[epochs/2]*1e3, epochs, took[0]*1e3, took[epochs-1]*1e3, chain*1e3, took[epochs/2]/chain)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// sync uploads a part's gradients, waits for all ranks, and returns how long it takes until the part has new weights.
func (x *team) sync(t *testing.T, g *tcp.Group, r *Reduction, epoch int) time.Duration {
	t.Helper()
	p := &x.parts[0]
	p.Compute.Upload(p.Gradients.Buf, 0, hostmem.Bytes(x.grads[0]))
	if err := p.Compute.Sync(); err != nil {
		t.Fatal(err)
	}
	x.hub.Epoch = epoch
	meetAll(t, g)
	start := time.Now()
	err := meet.Guard(func() {
		for l := len(x.layers) - 1; l >= 0; l-- {
			r.Done(0, l)
		}
		r.Finish(0)
	})
	if err == nil {
		err = p.Waits.Settle(append(p.All(), p.Compute)...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// meetAll waits for all ranks.
func meetAll(t *testing.T, g *tcp.Group) {
	t.Helper()
	if _, err := g.Gather(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Broadcast(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
}
