//go:build !race

// What these tests break on purpose is synchronisation, which the race detector would find.

package halo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// tampered is a lane on which edit changes shipments.
type tampered struct {
	lane
	edit func(*shipment)
}

func (l tampered) post(s shipment) {
	l.edit(&s)
	l.lane.post(s)
}

// tamper lets edit change the shipments that an owner sends to a reader in one exchange, on their way.
func tamper(x *team, k, owner, reader int, edit func(*shipment)) {
	into := &x.plan.training[k].readers[reader]
	at := slices.Index(into.owners, int32(owner))
	into.lanes[at] = tampered{into.lanes[at], edit}
}

// without takes a block off a shipment.
func (x *shipment) without(block int) {
	k := slices.Index(x.blocks, block)
	if k < 0 {
		return
	}
	x.blocks = slices.Delete(slices.Clone(x.blocks), k, k+1)
	x.rows = slices.Delete(slices.Clone(x.rows), k, k+1)
	if x.staged != nil {
		x.staged = slices.Delete(slices.Clone(x.staged), k, k+1)
	}
	if x.shared != nil {
		x.shared = slices.Delete(slices.Clone(x.shared), k, k+1)
	}
}

// broken is a refresh that goes wrong: of one block, between one owner and one reader.
type broken struct {
	leg           int
	owner, reader int
	block         int
	passing       bool // rows of the block have no local slot
}

// places returns one place of each kind at which a refresh can go wrong: rows without a slot, rows that come straight to a
// local slot, through the global cache to one, and through it alone.
func places(x *team) map[string]broken {
	out := map[string]broken{}
	put := func(kind string, x broken) {
		if _, ok := out[kind]; !ok {
			out[kind] = x
		}
	}
	for k, l := range x.plan.training {
		for i := range l.readers {
			r := &l.readers[i]
			for b := range r.direct {
				for o := range r.direct[b] {
					at := broken{leg: k, owner: int(r.owners[o]), reader: i, block: b}
					switch {
					case b == 0 && r.direct[b][o].n > 0:
						put("no slot", at)
					case b > 1 && r.direct[b][o].n > 0 && len(r.passing[b-1][o].rows) == 0:
						put("straight", at)
					case b > 1 && len(r.shared[b-1][o].rows) > 0 && len(r.passing[b-1][o].rows) == 0:
						put("through the host", at)
					case b > 1 && len(r.passing[b-1][o].rows) > 0 && r.direct[b][o].n+len(r.shared[b-1][o].rows) == 0:
						at.passing = true
						put("global only", at)
					}
				}
			}
		}
	}
	return out
}

// A refresh that does not come, or that is of another epoch, ends the run before a row is used: with the part that reads, the
// owner, the exchange, the class and the epochs.
func TestBrokenRefreshIsNamed(t *testing.T) {
	caught := map[string]int{}
	for _, s := range teamCases() {
		var kinds map[string]broken
		if err := s.run(t, func(x *team) { kinds = places(x) }); err != nil {
			t.Fatal(err)
		}
		for kind, at := range kinds {
			class := at.block - 1
			for name, edit := range map[string]func(*shipment){
				"left out": func(x *shipment) {
					if x.epoch > 3 {
						x.without(at.block)
					}
				},
				"too old": func(x *shipment) {
					if x.epoch > 3 && slices.Contains(x.blocks, at.block) {
						x.epoch--
					}
				},
				"too new": func(x *shipment) {
					if x.epoch > 3 && slices.Contains(x.blocks, at.block) {
						x.epoch++
					}
				},
			} {
				t.Run(fmt.Sprintf("%v/%s/%s", s, kind, name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var exchange string
						got := s.run(t, func(x *team) {
							exchange = x.plan.training[at.leg].ID.String()
							tamper(x, at.leg, at.owner, at.reader, edit)
						})
						var stale *StaleError
						var version *hostmem.VersionFault
						if name != "left out" && errors.As(got, &version) { // the block was looked at first
							return
						}
						if !errors.As(got, &stale) {
							t.Fatalf("%v: want a *StaleError", got)
						}
						rows := fmt.Sprintf("of class %d", class)
						if at.block == 0 {
							rows = "without a slot"
						}
						if name != "left out" {
							rows = stale.Rows // all blocks of the shipment are of another epoch
						}
						if stale.Part != at.reader || stale.Owner != at.owner || stale.Exchange != exchange || stale.Rows != rows {
							t.Errorf("%v, want rows %s of part %d at part %d, %s", stale, rows, at.owner, at.reader, exchange)
						}
						if line := got.Error(); strings.Count(line, "epoch ") < 2 || strings.Contains(line, "\n") {
							t.Errorf("%q does not say which epochs", line)
						}
						caught[kind]++
						if caught[kind] == 1 {
							t.Log(got)
						}
					})
				})
			}
		}
	}
	for _, kind := range []string{"no slot", "straight", "through the host", "global only"} {
		if caught[kind] == 0 {
			t.Errorf("no refresh of kind %q was broken", kind)
		}
	}
	t.Log("broken and named:", caught)
}

// meddler is a queue that does something of its own around cached rows.
type meddler struct {
	gpu.Queue
	loaded func(rows []byte) // runs when rows of the global cache have been read; nil: nothing does
	silent bool              // leaves out to publish
}

func (q *meddler) UploadRows(dst gpu.Matrix, src []byte, rows []int32) {
	q.Queue.UploadRows(dst, src, rows)
	if q.loaded != nil {
		q.Queue.Call("meddle", func() error { q.loaded(src); return nil })
	}
}

func (q *meddler) Call(op string, f func() error) {
	if !q.silent || op != "publish cached rows" {
		q.Queue.Call(op, f)
	}
}

func (q *meddler) CanCopyFrom(src gpu.Device) bool { return q.Queue.(gpu.PeerCopier).CanCopyFrom(src) }
func (q *meddler) CopyFrom(dst, src gpu.Matrix)    { q.Queue.(gpu.PeerCopier).CopyFrom(dst, src) }

// blockAt returns the block of the global cache that has these rows.
func (x *team) blockAt(rows []byte) (*hostmem.Versioned, int) {
	for _, l := range x.plan.training {
		for _, owners := range l.blocks {
			for _, b := range owners {
				if b == nil {
					continue
				}
				for _, e := range b.Epochs() {
					if r, err := b.Read(e); err == nil && &r.Rows()[0] == &rows[0] {
						return b, e
					}
				}
			}
		}
	}
	return nil, 0
}

// Rows of the global cache that are overwritten while they are read, or not published when they are, end the run with the
// block, the epoch and what is there.
func TestBrokenCacheIsNamed(t *testing.T) {
	torn := 0
	for _, s := range teamCases() {
		if s.global == "0" {
			continue
		}
		for name, meddle := range map[string]func(x *team){
			"overwritten": func(x *team) {
				e := x.ends[1]
				done := false
				loaded := func(rows []byte) {
					if x.hub.Epoch < 4 || done {
						return
					}
					done = true
					b, newest := x.blockAt(rows)
					b.Begin(newest + 100)
					b.Publish()
					b.Begin(newest + 101)
				}
				for _, r := range x.plan.side(e.Part).relays {
					for _, in := range []*fetchQueue{&r.now, &r.renewal, &r.ahead} {
						in.queue = &meddler{Queue: in.queue, loaded: loaded}
					}
				}
			},
			"not published": func(x *team) { x.ends[0].Out = &meddler{Queue: x.ends[0].Out, silent: true} },
		} {
			t.Run(fmt.Sprintf("%v/%s", s, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					got := s.run(t, meddle)
					var fault *hostmem.VersionFault
					if !errors.As(got, &fault) || fault.Torn && name != "overwritten" {
						t.Fatalf("%v: want a *hostmem.VersionFault", got)
					}
					if fault.Torn { // others may find before it that the rows are gone
						torn++
					}
					line := got.Error()
					for _, want := range []string{"global cache", "layer ", "class ", "of part ", "epoch "} {
						if !strings.Contains(line, want) || strings.Contains(line, "\n") {
							t.Errorf("%q does not say %q", line, want)
						}
					}
				})
			})
		}
	}
	if torn == 0 {
		t.Error("nobody found that rows were overwritten while they were read")
	}
}
