package hostmem

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

// roomOf is a system with that many bytes free.
func roomOf(free int64) func() (room, error) {
	return func() (room, error) { return room{free: free, total: 4 * free}, nil }
}

// errRefuse is what a driver may answer.
var errRefuse = errors.New("driver: out of resources")

func TestLimits(t *testing.T) {
	page := int64(os.Getpagesize())
	locks := func(soft, hard, locked int64) Pinner {
		return MLock{limits: func() lockLimits { return lockLimits{soft, hard, locked} }}
	}
	full := &Limit{Owner: "cpu:0", Name: "x", Locking: true, Need: 2 * page, Left: page, Allowed: 3 * page, What: "ulimit -l"}
	soft, hard := *full, *full
	soft.Raise = "ulimit -l 16"
	hard.Raise = "sudo prlimit --pid $$ --memlock=16384:16384"
	group := func() (room, error) {
		return room{free: page, total: 9 * page, group: "/sys/fs/cgroup/a/memory.max", groupLimit: 10 * page}, nil
	}
	cases := []struct {
		name string
		size int64
		o    LockOptions
		want *Limit
	}{
		{"soft limit", page + 1, LockOptions{Pinner: locks(3*page, math.MaxInt64, 2*page)}, &soft},
		{"hard limit", page + 1, LockOptions{Pinner: locks(3*page, 3*page, 2*page)}, &hard},
		{"machine", 3 * page, LockOptions{room: roomOf(page)},
			&Limit{"cpu:0", "x", false, 3 * page, page, 4 * page, "this machine's memory", "", nil}},
		{"control group", 3 * page, LockOptions{room: group},
			&Limit{"cpu:0", "x", false, 3 * page, page, 10 * page, "/sys/fs/cgroup/a/memory.max", "echo 49152 > /sys/fs/cgroup/a/memory.max", nil}},
		{"memory that is not there cannot be optional", 3 * page, LockOptions{room: roomOf(page), Optional: true},
			&Limit{"cpu:0", "x", false, 3 * page, page, 4 * page, "this machine's memory", "", nil}},
		{"address space", math.MaxInt64, LockOptions{room: roomOf(math.MaxInt64 / 4)},
			&Limit{"cpu:0", "x", false, math.MaxInt64, maxBlock, maxBlock, "address space", "", nil}},
	}
	if page != 4096 {
		t.Skipf("the amounts are of pages of 4096 bytes, these have %d", page)
	}
	for _, c := range cases {
		c.o.maps = []mapper{{"watched", func(n int) ([]byte, func() error, error) {
			t.Errorf("%s: %d bytes were taken before the limit was looked at", c.name, n)
			return nil, nil, errRefuse
		}}}
		p, err := NewPinned("cpu:0", "x", c.size, c.o)
		var got *Limit
		if !errors.As(err, &got) {
			t.Errorf("%s: got %v, %v, want a *Limit", c.name, p, err)
			continue
		}
		if *got != *c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, *got, *c.want)
		}
		if s := err.Error(); strings.Contains(s, "\n") || !strings.Contains(s, c.want.Raise) || !strings.HasPrefix(s, "cpu:0: ") {
			t.Errorf("%s: message %q", c.name, s)
		}
	}
	const line = `cpu:0: "x" needs 8192 bytes of page-locked memory, 4096 of 12288 left (ulimit -l); to raise it: ulimit -l 16`
	if soft.Error() != line {
		t.Errorf("got  %s\nwant %s", soft.Error(), line)
	}
}

func TestPinned(t *testing.T) {
	hook := &FailPin{Nth: 2, Err: errRefuse}
	p, err := NewPinned("cpu:0", "x", 5000, LockOptions{Pinner: hook})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Bytes()) != 5000 || cap(p.Bytes()) != 5000 || p.Unlocked() != nil || hook.Live() != 1 {
		t.Errorf("%d bytes, unlocked %v, %d registered", len(p.Bytes()), p.Unlocked(), hook.Live())
	}
	for i := range p.Bytes() {
		if p.Bytes()[i] != 0 {
			t.Fatalf("byte %d of fresh memory is %d", i, p.Bytes()[i])
		}
		p.Bytes()[i] = 1
	}
	if _, err := NewPinned("cpu:0", "y", 5000, LockOptions{Pinner: hook}); !errors.Is(err, errRefuse) || !strings.Contains(err.Error(), `cpu:0: lock "y"`) {
		t.Errorf("second registration: %v", err)
	}
	empty, err := NewPinned("cpu:0", "z", 0, LockOptions{Pinner: hook})
	if err != nil || empty.Bytes() == nil || len(empty.Bytes()) != 0 || empty.Close() != nil {
		t.Errorf("empty: %v, %v", empty, err)
	}
	if err := p.Close(); err != nil || p.Bytes() != nil || hook.Live() != 0 {
		t.Errorf("close: %v, bytes %v, %d registered", err, p.Bytes(), hook.Live())
	}
	if err := p.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
}

func TestOptionalLock(t *testing.T) {
	none := MLock{limits: func() lockLimits { return lockLimits{} }}
	for _, pinner := range []Pinner{&FailPin{Nth: 1, Err: errRefuse}, none} {
		p, err := NewPinned("cuda:0", "x", 100, LockOptions{Optional: true, Pinner: pinner})
		if err != nil {
			t.Fatal(err)
		}
		p.Bytes()[99] = 1
		var limit *Limit
		if why := p.Unlocked(); !errors.Is(why, errRefuse) && !(errors.As(why, &limit) && limit.Owner == "cuda:0") {
			t.Errorf("unlocked: %v, want the driver's answer or the limit", why)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHeap(t *testing.T) {
	hook := &FailPin{Nth: 1, Err: errRefuse}
	p, err := NewPinned("cpu:0", "x", 100, LockOptions{Heap: true, Pinner: hook})
	if err != nil || p.Unlocked() == nil || hook.Live() != 0 {
		t.Fatalf("got %v, unlocked %v, %d registered", err, p.Unlocked(), hook.Live())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestUnlockedByChoice(t *testing.T) {
	hook := &FailPin{Nth: 1, Err: errRefuse}
	p, err := NewPinned("cpu:0", "x", 100, LockOptions{Unlocked: true, Pinner: hook})
	if err != nil || p.Unlocked() == nil || hook.Live() != 0 || len(p.Bytes()) != 100 || p.kind == heapMemory.kind {
		t.Fatalf("got %v, unlocked %v, %d registered, %d bytes of %s", err, p.Unlocked(), hook.Live(), len(p.Bytes()), p.kind)
	}
	p.Bytes()[99] = 1
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A driver that does not let go is told of, and the memory is given back all the same.
func TestUnregisterFails(t *testing.T) {
	p, err := NewPinned("cuda:0", "x", 100, LockOptions{Pinner: clinging{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); !errors.Is(err, errRefuse) || p.Bytes() != nil {
		t.Errorf("close: %v", err)
	}
}

// clinging is a driver that registers and cannot unregister.
type clinging struct{}

func (clinging) Register([]byte) error   { return nil }
func (clinging) Unregister([]byte) error { return errRefuse }
