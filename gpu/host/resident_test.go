package host

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
)

// What is fetched crosses the links of both devices, there and back, and those of all at once; what a device fetches from itself crosses none.
func TestExchange(t *testing.T) {
	const rate, one, ms = 10 << 20, copied * time.Second / (10 << 20), time.Millisecond
	t0 := time.Unix(1000, 0)
	for _, c := range []struct {
		name    string
		specs   [2]Spec
		parcels func(own, other *Device) []gpu.Parcel
		want    time.Duration
	}{
		{"nothing", [2]Spec{{Link: rate}, {}}, func(_, _ *Device) []gpu.Parcel { return nil }, 0},
		{"from itself", [2]Spec{{Link: rate}, {}}, func(own, _ *Device) []gpu.Parcel { return []gpu.Parcel{{From: own, Ask: copied, Answer: copied}} }, 0},
		{"no link", [2]Spec{}, func(_, other *Device) []gpu.Parcel { return []gpu.Parcel{{From: other, Ask: copied, Answer: copied}} }, 0},
		{"answer", [2]Spec{{Link: rate}, {}}, func(_, other *Device) []gpu.Parcel { return []gpu.Parcel{{From: other, Answer: copied}} }, one},
		{"there and back", [2]Spec{{}, {Link: rate}}, func(_, other *Device) []gpu.Parcel { return []gpu.Parcel{{From: other, Ask: copied, Answer: copied}} }, 2 * one},
		{"latencies", [2]Spec{{Latency: 5 * ms}, {Latency: 3 * ms}}, func(_, other *Device) []gpu.Parcel { return []gpu.Parcel{{From: other, Ask: 1, Answer: 1}} }, 10 * ms},
		{"in pieces", [2]Spec{{Link: rate, Latency: ms}, {Link: 2 * rate}}, func(_, other *Device) []gpu.Parcel { return []gpu.Parcel{{From: other, Answer: 20 * copied}} }, 20*one + 2*ms},
		{"two answers over one link", [2]Spec{{Link: rate}, {}}, func(_, other *Device) []gpu.Parcel {
			return []gpu.Parcel{{From: other, Answer: copied}, {From: other, Answer: copied}}
		}, 2 * one},
	} {
		p := newPair(t, c.specs)
		own, other := p.devices[0], p.devices[1]
		x := &exchange{to: own, parcels: slices.DeleteFunc(c.parcels(own, other), func(p gpu.Parcel) bool { return p.From == gpu.Device(own) })}
		arrived := x.ask(t0)
		for slices.ContainsFunc(x.parcels, func(p gpu.Parcel) bool { return p.Answer > 0 }) {
			arrived = x.next(arrived)
		}
		if got := arrived.Sub(t0); got.Round(time.Microsecond) != c.want.Round(time.Microsecond) {
			t.Errorf("%s: takes %v, want %v", c.name, got, c.want)
		}
		if linked := c.specs[0] != (Spec{}); own.Linked() != linked {
			t.Errorf("%s: linked %t", c.name, own.Linked())
		}
	}
}

// A resident queue takes the link's time for what it fetches alone.
func TestResidentQueue(t *testing.T) {
	const slow = 1 << 10 // bytes per second: a copy over it would take 100 s
	p := newPair(t, [2]Spec{{Link: slow}, {}})
	q := p.devices[0].NewResidentQueue("rows")
	mem, back, rows, wrote := make([]byte, copied), make([]byte, copied), make([]byte, 12), make([]byte, 3)
	mem[7] = 3
	q.Upload(p.blocks[0].Buf, 0, mem)
	q.Download(back, p.blocks[0].Buf, 0)
	q.UploadRows(gpu.Matrix{Buf: p.blocks[0].Buf, Rows: 2, Cols: 1, LD: 1}, rows, []int32{2, 0})
	q.Fetch([]gpu.Parcel{{From: p.devices[1], Ask: 4, Answer: 8}}, func() { rows[1] = 1 })
	q.(gpu.HostWriter).UploadBy(p.blocks[0].Buf, 8, 3, func(dst []byte) { dst[copy(dst, rows[:2])] = 5 })
	q.Download(wrote, p.blocks[0].Buf, 8)
	if err := q.Sync(); err != nil || back[7] != 3 || rows[1] != 1 || !bytes.Equal(wrote, []byte{0, 1, 5}) {
		t.Error(err, back[7], rows[1], wrote)
	}
	u := q.Usage()
	if u.H2D != copied+8+3 || u.D2H != copied+3 || u.Peer != 12 {
		t.Errorf("%+v", u)
	}
	if took, least := u.Time[gpu.PhaseTransfer], 12*time.Second/slow; took < least || took > 50*time.Second {
		t.Errorf("copies took %v, want %v and what copying takes", took, least)
	}
	q.Fetch(nil, func() { panic("no such row") })
	if err := q.Sync(); err == nil {
		t.Error("a panic is no fault")
	}
}

// What crosses a link beside a large answer waits for a piece of it, not for all.
func TestAnswersLeaveRoom(t *testing.T) {
	const rate = 1 << 20
	p := newPair(t, [2]Spec{{Link: rate}, {}})
	t0 := time.Unix(1000, 0)
	x := &exchange{to: p.devices[0], parcels: []gpu.Parcel{{From: p.devices[1], Answer: 100 * rate}}}
	free := x.ask(t0)
	if got, want := p.devices[0].link.book(toDevice, rate, t0).Sub(t0), time.Second+piece*time.Second/rate; got != want || free.Sub(t0) != piece*time.Second/rate {
		t.Errorf("a copy beside the answer arrives after %v, want %v", got, want)
	}
}
