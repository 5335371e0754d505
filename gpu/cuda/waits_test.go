//go:build cuda

package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// The waits that an exchange between GPUs needs. Without any one of them some schedule gives a wrong result.
var exchangeWaits = []string{
	"peer copy for packed rows", "peer copy for the last use of the halo", "compute for the peer copy", "packing for the last peer copy",
	"download for packed rows", "upload for the download", "upload for the last use of the halo", "compute for the upload",
	"download for the last upload", "packing for the last download",
}

const exchangeRounds, exchangeSize = 5, 600

// ring is devices that pass rows on: in every round each packs what it has, the next one adds a half of that to its own.
type ring struct {
	skip    string
	devices []*device
	compute []gpu.Queue
	in, out []gpu.Queue
	x       []gpu.Matrix // what each has
	send    []gpu.Matrix // packed
	halo    []gpu.Matrix // of the device before
	host    []byte       // page-locked, a part for each device
	used    []gpu.Event  // of the halo
	taken   []gpu.Event  // the reader has what was packed
	left    []gpu.Event  // what was packed is on the host
	arrived []gpu.Event  // the reader has what is on the host
}

func newRing(t *testing.T, n int, skip string) *ring {
	r := &ring{skip: skip, used: make([]gpu.Event, n), taken: make([]gpu.Event, n), left: make([]gpu.Event, n), arrived: make([]gpu.Event, n)}
	for i := range n {
		d := open(t, Spec{Ordinal: i})
		matrix := func(name string) gpu.Matrix {
			return gpu.Matrix{Buf: alloc(t, d, 4*exchangeSize, name), Rows: 1, Cols: exchangeSize, LD: exchangeSize}
		}
		r.devices = append(r.devices, d)
		r.compute, r.in, r.out = append(r.compute, d.NewQueue("compute")), append(r.in, d.NewQueue("in")), append(r.out, d.NewQueue("out"))
		r.x, r.send, r.halo = append(r.x, matrix("x")), append(r.send, matrix("send")), append(r.halo, matrix("halo"))
		r.compute[i].Fill(r.x[i], float32(i+1))
	}
	mem, err := hostmem.NewPinned("ring", "rows", int64(4*n*exchangeSize), hostmem.LockOptions{Pinner: driver.Pinner()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var fault error
		for i := range n {
			fault = cmp.Or(fault, r.compute[i].Sync(), r.in[i].Sync(), r.out[i].Sync())
		}
		for _, d := range r.devices {
			d.Close()
		}
		if fault == nil { // else copies may still be on their way
			mem.Close()
		}
	})
	r.host = mem.Bytes()
	return r
}

// wait is q.Wait unless this wait is left out; there is nothing to wait for in the first round.
func (r *ring) wait(q gpu.Queue, e gpu.Event, name string) {
	if !slices.Contains(exchangeWaits, name) {
		panic(name)
	}
	if e != nil && name != r.skip {
		q.Wait(e)
	}
}

// round is one exchange and the computing behind it.
func (r *ring) round() {
	n := len(r.devices)
	packed := make([]gpu.Event, n)
	for i := range n {
		r.wait(r.compute[i], r.taken[i], "packing for the last peer copy")
		r.wait(r.compute[i], r.left[i], "packing for the last download")
		r.compute[i].Axpby(r.send[i], 1, r.x[i], 0)
		packed[i] = r.compute[i].Record()
	}
	for from := range n {
		to := (from + 1) % n
		q := r.in[to]
		if peer := q.(gpu.PeerCopier); peer.CanCopyFrom(r.devices[from]) {
			r.wait(q, packed[from], "peer copy for packed rows")
			r.wait(q, r.used[to], "peer copy for the last use of the halo")
			peer.CopyFrom(r.halo[to], r.send[from])
			r.taken[from] = q.Record()
			r.wait(r.compute[to], r.taken[from], "compute for the peer copy")
		} else {
			r.staged(from, to, packed[from])
		}
		r.compute[to].Axpby(r.x[to], 0.5, r.halo[to], 1)
		r.used[to] = r.compute[to].Record()
	}
}

// staged copies through the host.
func (r *ring) staged(from, to int, packed gpu.Event) {
	part := r.host[4*exchangeSize*from:][:4*exchangeSize]
	out, in := r.out[from], r.in[to]
	r.wait(out, packed, "download for packed rows")
	r.wait(out, r.arrived[from], "download for the last upload")
	out.Download(part, r.send[from].Buf, 0)
	r.left[from] = out.Record()
	r.wait(in, r.left[from], "upload for the download")
	r.wait(in, r.used[to], "upload for the last use of the halo")
	in.Upload(r.halo[to].Buf, 0, part)
	r.arrived[from] = in.Record()
	r.wait(r.compute[to], r.arrived[from], "compute for the upload")
}

// values returns what the devices have, as bits; where a wait is left out and a kernel reads what nobody has written yet, what the driver says of it.
func (r *ring) values(t *testing.T) string {
	text := ""
	for i, q := range r.compute {
		raw := make([]byte, 4*exchangeSize)
		q.Download(raw, r.x[i].Buf, 0)
		if err := q.Sync(); err != nil {
			if r.skip == "" {
				t.Fatal(err)
			}
			return err.Error()
		}
		text += fmt.Sprintf("%x ", raw)
	}
	return text
}

func TestMissingWaits(t *testing.T) {
	const schedules = 40
	exchange := func(seed int, skip string) string {
		configure(t, fmt.Sprintf("n=3;mem=16;p2p=000/100/000;seed=%d;stretch=%d", seed, 1+seed*5%37))
		var values string
		t.Run(fmt.Sprintf("%s/%d", skip, seed), func(t *testing.T) {
			r := newRing(t, 3, skip)
			for range exchangeRounds {
				r.round()
			}
			values = r.values(t)
		})
		return values
	}
	want := exchange(1, "")
	for seed := 2; seed <= schedules; seed++ {
		if exchange(seed, "") != want {
			t.Fatalf("with every wait, schedule %d gives another result", seed)
		}
	}
	onlyFake(t, "a schedule for each missing wait; with every wait the results are equal")
	for _, skip := range exchangeWaits {
		found := 0
		for seed := 1; seed <= schedules && found == 0; seed++ {
			if exchange(seed, skip) != want {
				found = seed
			}
		}
		if found == 0 {
			t.Errorf("%d schedules do not show that nothing makes wait: %s", schedules, skip)
		}
	}
}
