package ledger_test

import (
	"errors"
	"reflect"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/ledger"
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

func TestNoLimit(t *testing.T) {
	d := ledger.New(gpu.Info{Name: "x"})
	if _, err := d.Alloc(1<<50, "large"); err != nil {
		t.Error(err)
	}
	q := d.NewQueue("q")
	q.Wait(q.Record())
	<-q.Record().Done()
	if err := q.Sync(); err != nil {
		t.Error(err)
	}
	if d.Close() != nil || !q.(gpu.PeerCopier).CanCopyFrom(d) {
		t.Error("does not answer as a device")
	}
}
