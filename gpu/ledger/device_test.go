package ledger_test

import (
	"errors"
	"reflect"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/gpu/sim"
)

func TestAccounts(t *testing.T) {
	d := ledger.New(gpu.Info{Name: "cpu:0", Budget: 1000})
	a, err := d.Alloc(100, "a")
	if err != nil || a.Size() != 100 {
		t.Fatalf("%v, %v", a, err)
	}
	b, err := d.Alloc(640, "b")
	if err != nil {
		t.Fatal(err)
	}
	a.Free()
	var oom *gpu.OutOfMemory
	if _, err := d.Alloc(361, "c"); !errors.As(err, &oom) || *oom != (gpu.OutOfMemory{Device: "cpu:0", Name: "c", Need: 361, Have: 360}) {
		t.Errorf("beyond the budget: %v", err)
	}
	if _, err := d.Alloc(360, "d"); err != nil { // a last block need not be rounded up
		t.Error(err)
	}
	b.Free()
	if got, want := d.Memory(), (gpu.Memory{Used: 360, HighWater: 1000, Budget: 1000}); got != want {
		t.Errorf("memory %+v, want %+v", got, want)
	}
	if got, want := d.Entries(), []ledger.Entry{{"a", 128, true}, {"b", 640, true}, {"d", 360, false}}; !reflect.DeepEqual(got, want) {
		t.Errorf("entries %+v, want %+v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("freed twice, and nothing was said")
		}
	}()
	b.Free()
}

// never is an event that does not fire.
type never struct{}

func (never) Done() <-chan struct{} { return nil }

func TestNoLimit(t *testing.T) {
	d := ledger.New(gpu.Info{Name: "x"})
	if _, err := d.Alloc(1<<50, "large"); err != nil {
		t.Error(err)
	}
	q := d.NewQueue("q")
	q.Wait(q.Record())
	q.Wait(never{}) // nothing is done, and nothing waited for
	<-q.Record().Done()
	if err := q.Sync(); err != nil {
		t.Error(err)
	}
	if d.Close() != nil || !q.(gpu.PeerCopier).CanCopyFrom(d) {
		t.Error("does not answer as a device")
	}
}

// A ledger reaches what its device reaches, and makes calls.
func TestInPlaceOf(t *testing.T) {
	var real []gpu.Device
	for _, c := range []*sim.Clock{sim.NewClock(), sim.NewClock()} {
		for range 2 {
			d, err := sim.Open(sim.Config{Name: "sim", Clock: c, Peer: true, Memory: 1 << 20, Rates: sim.Rates{FlopsPerSec: 1, GatherPerSec: 1, BytesPerSec: 1, H2D: 1, D2H: 1}})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			real = append(real, d)
		}
	}
	var books []*ledger.Device
	for _, d := range real {
		books = append(books, ledger.InPlaceOf(d, 640))
	}
	if got := books[0].Info(); got.Budget != 640 || got.Kind != gpu.Sim {
		t.Errorf("answers as %+v", got)
	}
	q := books[0].NewQueue("q")
	for i, want := range []bool{true, true, false, false} {
		if got := q.(gpu.PeerCopier).CanCopyFrom(books[i]); got != want {
			t.Errorf("reaches device %d: %t, its device: %t", i, got, want)
		}
	}
	broken, calls := errors.New("broken"), 0
	for _, err := range []error{nil, broken, nil} {
		q.Call("count", func() error { calls++; return err })
	}
	var fault *gpu.Fault
	if err := q.Sync(); calls != 2 || !errors.As(err, &fault) || fault.Op != "count" || !errors.Is(err, broken) {
		t.Errorf("%d calls, then %v", calls, err)
	}
}
