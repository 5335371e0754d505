package hostmem

import (
	"fmt"
	"math"

	"github.com/edsrzf/mmap-go"
)

// Pinner keeps ranges of memory in place, so that a device can copy from and to them by itself. A driver implements it by
// registering the range for all its contexts. Ranges are whole pages and do not overlap. It is safe for several goroutines.
type Pinner interface {
	// Register locks mem in memory until Unregister. After an error mem is as it was.
	Register(mem []byte) error
	// Unregister is called once, with the very slice that was registered, before its memory is unmapped.
	Unregister(mem []byte) error
}

// LockOptions say how memory is page-locked. The zero value: by mlock, and not being allowed to is an error.
type LockOptions struct {
	// Pinner locks. nil: MLock.
	Pinner Pinner
	// Optional lets memory that cannot be locked be used unlocked; Unlocked then says why.
	Optional bool
	// Unlocked leaves the memory unlocked, for devices that copy from any memory. It is outside of the Go heap, so it
	// does not delay garbage collection.
	Unlocked bool
	// Heap takes the memory from the Go heap and leaves it unlocked. It is for tests: the race detector follows no other
	// memory.
	Heap bool

	room func() (room, error) // nil: systemRoom
	maps []mapper             // nil: the noun's own; the first that works
}

// MLock is the Pinner of CPU machines: mlock(2), VirtualLock on Windows.
type MLock struct {
	limits func() lockLimits // nil: systemLocks
}

// lockLimits is how much memory this process may lock, in bytes.
type lockLimits struct {
	soft, hard int64 // math.MaxInt64: no limit; soft -1: unknown
	locked     int64 // what is locked already
}

// Locks returns how much memory this process may lock now, how much if it raises the limit, and how much it has
// locked, in bytes. math.MaxInt64: no limit; -1: unknown.
func Locks() (soft, hard, locked int64) {
	l := systemLocks()
	return l.soft, l.hard, l.locked
}

// check returns the *Limit that forbids to lock n bytes more, nil if none is known.
func (m MLock) check(n int64) (lockLimits, error) {
	ask := m.limits
	if ask == nil {
		ask = systemLocks
	}
	l := ask()
	if l.soft >= 0 && n > l.soft-l.locked {
		return l, l.explain(n, nil)
	}
	return l, nil
}

// Register implements Pinner. A limit that is too low is found before the system is asked; the error is a *Limit.
func (m MLock) Register(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	n := int64(len(mem))
	l, err := m.check(n)
	if err != nil {
		return err
	}
	if err := mmap.MMap(mem).Lock(); err != nil {
		return l.explain(n, err)
	}
	return nil
}

// Unregister implements Pinner.
func (m MLock) Unregister(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	return mmap.MMap(mem).Unlock()
}

// explain returns the *Limit of need bytes that could not be locked: found before asking, or answered with err.
func (l lockLimits) explain(need int64, err error) *Limit {
	e := &Limit{Locking: true, Need: need, Left: -1, Allowed: -1, What: "ulimit -l", Err: err}
	want := need
	if l.soft >= 0 {
		e.Left, e.Allowed = max(0, l.soft-l.locked), l.soft
		want += l.locked
	}
	switch {
	case l.soft == math.MaxInt64: // not the limit's fault
	case l.soft < 0 || want <= l.hard:
		e.Raise = fmt.Sprintf("ulimit -l %d", (want+1023)>>10)
	default:
		e.Raise = fmt.Sprintf("sudo prlimit --pid $$ --memlock=%d:%d", want, want)
	}
	return e
}
