package hostmem

import (
	"errors"
	"os"
	"testing"
)

// BenchmarkLock measures what page-locking costs, in seconds per GiB: from asking for memory until every page may be used
// at once. The twin without a lock touches every page, which is when the system hands them out.
func BenchmarkLock(b *testing.B) {
	const size = 256 << 20
	type memory interface {
		Close() error
		Unlocked() error
	}
	pinned := func(o LockOptions) (memory, []byte, error) {
		p, err := NewPinned("bench", "x", size, o)
		if err != nil {
			return nil, nil, err
		}
		return p, p.Bytes(), nil
	}
	shared := func(o LockOptions) (memory, []byte, error) {
		r, err := NewRegion("bench", size, o)
		if err != nil {
			return nil, nil, err
		}
		return r, r.mem.Bytes(), nil
	}
	for _, c := range []struct {
		name   string
		open   func(LockOptions) (memory, []byte, error)
		locked bool
	}{
		{"pinned/locked", pinned, true}, {"pinned/touched", pinned, false},
		{"region/locked", shared, true}, {"region/touched", shared, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			o := LockOptions{}
			if !c.locked {
				o = LockOptions{Optional: true, Pinner: &FailPin{Nth: 1, Err: errors.New("not asked for")}}
			}
			for b.Loop() {
				if f, ok := o.Pinner.(*FailPin); ok {
					f.asked.Store(0)
				}
				m, mem, err := c.open(o)
				var limit *Limit
				if errors.As(err, &limit) {
					b.Skip(err)
				}
				if err != nil || (m.Unlocked() == nil) != c.locked {
					b.Fatal(err)
				}
				for i := 0; i < len(mem) && !c.locked; i += os.Getpagesize() {
					mem[i] = 1
				}
				if err := m.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*float64(1<<30)/size, "s/GiB")
		})
	}
}
